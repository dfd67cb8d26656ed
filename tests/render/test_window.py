"""The real window on a virtual screen over software Vulkan: real keys, and what the X screen really shows.

Every window costs seconds on a software driver, so each test opens one and checks several things in it.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from render.stage import Stage
from scenes.load import load_scene
from tests.render.xvfb import ROOT, Picture, Program, VirtualScreen, require_screen, running, until

GLOBE = """
title: Test of the window
caption: Two heads turn.
seed: 3
system:
  kind: attention
  tokens: {count: 256}
  heads: 2
  weights: {kind: rotating, omega: 1.0, phases: [0, 0.6]}
  flow: gradient_flow
  dt: 0.05
view: {kind: globe}
film: {size: [640, 360], fps: 20, seconds: 5}
"""
PLANE = """
title: Plane under test
system: {kind: two_factor_plane, mu: 0.9, iterations: 60}
view: {kind: plane, color: escape, supersample: 1}
film: {size: [640, 360], fps: 20, seconds: 5}
timeline: [{at: 0, mu: 0.5}, {at: 4, mu: 1.0}]
"""
DIVERGES = """
title: Diverges
system: {kind: attention, tokens: {count: 8}, weights: {kind: static}, flow: unnormalised, dt: 0.05}
view: {kind: globe}
film: {size: [640, 360], fps: 20, seconds: 5}
timeline: [{at: 1, weights.beta: 500.0}]
"""  # exp(beta) leaves f32 at beta = 89, before t = 0.2


@pytest.fixture(scope="module")
def screen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VirtualScreen]:
    require_screen()
    virtual = VirtualScreen(tmp_path_factory.mktemp("screen"))
    yield virtual
    virtual.stop()


def main(*arguments: str) -> list[str]:
    return [sys.executable, str(ROOT / "main.py"), *arguments]


def still(directory: Path, scene: str, at: float) -> Picture:
    """What the command `still` makes of the scene at that film time, (H, W, 3) uint8."""
    command = main("still", scene, "-o", "still.png", "--at", str(at))
    subprocess.run(command, cwd=directory, check=True, capture_output=True)
    return opened(directory / "still.png")


def opened(path: Path) -> Picture:
    """A picture from its file, (H, W, 3) uint8."""
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def drawn(scene: Path, at: float, size: tuple[int, int] | None = None) -> Picture:
    """The same within this process, which is faster."""
    stage = Stage(load_scene(scene), size)
    picture = stage.show(at).rgb()
    stage.release()
    return picture


def differing(a: Picture, b: Picture) -> int:
    """How many pixels differ."""
    assert a.shape == b.shape
    return int((a != b).any(-1).sum())


def changed(program: Program, before: Picture, seconds: float = 15) -> Picture:
    """The next still picture that is not `before`."""
    until(lambda: differing_or_resized(program.picture(), before), seconds, lambda: f"nothing changed; stderr:\n{program.errors}")
    return program.still_picture()


def shows(program: Program, wanted: Picture, claim: str) -> None:
    """Wait until the window shows exactly that picture."""
    until(lambda: not differing_or_resized(program.picture(), wanted), 40, lambda: f"not so: {claim}; stderr:\n{program.errors}")


def colors(part: Picture) -> int:
    """How many colours there are."""
    return len(np.unique(part.reshape(-1, 3), axis=0))


def differing_or_resized(a: Picture, b: Picture) -> bool:
    return a.shape != b.shape or differing(a, b) > 0


def test_the_globe_window_from_opening_to_escape(screen: VirtualScreen, tmp_path: Path) -> None:
    (tmp_path / "globe.yaml").write_text(GLOBE)
    first, second = still(tmp_path, "globe.yaml", 0), drawn(tmp_path / "globe.yaml", 1 / 20)
    with running(screen, main("live", "globe.yaml", "--paused"), tmp_path) as program:
        program.wait_for_window()
        assert program.geometry()[2:] == (640, 360)
        program.key("h")
        shows(program, first, "the window, panels hidden, shows the still of t = 0 byte for byte")
        program.key("h")
        assert differing(changed(program, first), first) > 5000, "h brings the panels back"
        program.key("h")
        shows(program, first, "h hides the panels again")

        program.key("f")
        assert differing(changed(program, first), second) == 0, "one step is exactly one frame"

        program.key("space")
        until(lambda: differing(program.picture(), second) > 0, 10, lambda: "space does not let the film run")
        program.key("space")
        program.still_picture()  # fails while the film runs
        program.key("r")
        shows(program, first, "restart repeats the first frame")

        program.drag((320, 180), (400, 200))
        turned = program.still_picture()
        assert differing(turned, first) > 1000, "dragging turns the globe"
        program.key("v")
        assert differing(changed(program, turned), first) == 0, "v restores the scene's own view"

        program.key("s")
        pictures = tmp_path / "recordings"
        until(lambda: any(pictures.glob("globe*.png")), 10, lambda: "s writes no picture")
        time.sleep(0.3)
        (shot,) = pictures.glob("globe*.png")
        assert differing(opened(shot), first) == 0

        program.key("Escape")
        assert program.wait() == 0
        assert "Traceback" not in program.errors and program.output == ""
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert left == {"globe.yaml", "still.png", "recordings", f"recordings/{shot.name}", "stdout.txt", "stderr.txt"}


def test_the_plane_window_under_rectangles_sizes_and_other_scenes(screen: VirtualScreen, tmp_path: Path) -> None:
    (tmp_path / "plane.yaml").write_text(PLANE)
    wanted, wide = still(tmp_path, "plane.yaml", 2), drawn(tmp_path / "plane.yaml", 2, (800, 400))
    with running(screen, main("live", "plane.yaml", "--paused", "--at", "2"), tmp_path) as program:
        program.wait_for_window()
        program.key("h")
        shows(program, wanted, "the window begins at the film time asked for")

        program.drag((300, 150), (420, 220), button=3)
        closer = program.still_picture()
        assert differing(closer, wanted) > 1000, "a rectangle zooms"
        program.key("w")
        saved = tmp_path / "recordings" / "plane-001.yaml"
        until(saved.exists, 10, lambda: "w writes no scene")
        time.sleep(0.3)
        assert yaml.safe_load(saved.read_text())["system"]["window"]["width"] < 5.2
        program.key("v")

        for size in ((30, 20), (1, 1), (800, 400)):
            screen.xdotool("windowsize", program.window, *size)
            time.sleep(0.5)
        screen.xdotool("windowunmap", program.window)
        time.sleep(0.3)
        screen.xdotool("windowmap", program.window)
        shows(program, wide, "the window shows the still of its new size")
        screen.xdotool("windowfocus", program.window)

        program.key("n")
        other = changed(program, program.picture())
        assert differing(other, wide) > 1000 and program.process.poll() is None, "n shows another scene"
        program.key("Escape")
        assert program.wait() == 0
        assert "Traceback" not in program.errors and program.output == ""


def test_a_scene_that_diverges_leaves_the_window_open_with_a_message(screen: VirtualScreen, tmp_path: Path) -> None:
    (tmp_path / "diverges.yaml").write_text(DIVERGES)
    with running(screen, main("live", "diverges.yaml"), tmp_path) as program:
        program.wait_for_window()
        program.key("h")
        until(lambda: colors(program.picture()[150:200, 300:500]) > 100, 40, lambda: "no globe")
        told = program.still_picture()  # the film stands still, though nobody paused it
        assert colors(told[15:50, 250:350]) > 3, "a message stands at the top, panels hidden"
        program.key("Escape")
        assert program.wait() == 0 and "Traceback" not in program.errors
    assert not any(tmp_path.rglob("imgui.ini"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"DISPLAY": "", "WAYLAND_DISPLAY": ""}, "no display"),
        ({"DISPLAY": "", "WAYLAND_DISPLAY": "wayland-0"}, "xwayland"),
        ({"DISPLAY": ":4711"}, "cannot be reached"),
        ({"VK_DRIVER_FILES": "/nonexistent.json", "VK_ICD_FILENAMES": "/nonexistent.json"}, "mesa-vulkan-drivers"),
    ],
)
def test_without_a_display_or_vulkan_one_line_says_what_is_missing(
    screen: VirtualScreen, tmp_path: Path, changes: dict[str, str], said: str
) -> None:
    (tmp_path / "globe.yaml").write_text(GLOBE)
    done = subprocess.run(
        main("live", "globe.yaml"), cwd=tmp_path, env=screen.environment(**changes), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and said in done.stderr
    assert os.listdir(tmp_path) == ["globe.yaml"]

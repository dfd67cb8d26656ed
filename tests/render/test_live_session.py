"""The session behind the live window, without a window: clock, held parameters, camera, files, and staying usable.

Expected values: film times are index / fps; a plane's pan and zoom follow from its window's arithmetic; a saved scene read back
shows what was seen.
"""

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from render.live_input import Action, Band, Drag, Zoom
from render.live_session import Catalogue, Session
from scenes.load import UserError, load_scene
from scenes.spec import Scene

SIZE = (160, 90)
GLOBE = {
    "title": "globe",
    "system": {
        "kind": "attention",
        "tokens": {"count": 64},
        "weights": {"kind": "rotating", "omega": 1.0, "beta": 2.0},
        "flow": "gradient_flow",
        "dt": 0.05,
    },
    "view": {"kind": "globe"},
    "film": {"size": list(SIZE), "fps": 20},
    "timeline": [{"at": 0, "weights.beta": 1.0}, {"at": 2, "weights.beta": 3.0, "caption": "later"}],
}
PLANE = {
    "title": "plane",
    "system": {"kind": "two_factor_plane", "mu": 0.9, "iterations": 40},
    "view": {"kind": "plane", "color": "escape", "supersample": 1, "axes": False, "colorbar": False},
    "film": {"size": list(SIZE), "fps": 20},
    "timeline": [{"at": 0, "mu": 0.5}, {"at": 1, "mu": 1.0}],
}
UNBOUNDED = {"kind": "attention", "tokens": {"count": 8}, "weights": {"kind": "static"}, "flow": "unnormalised"}
DIVERGES = {**GLOBE, "system": UNBOUNDED, "timeline": [{"at": 1, "weights.beta": 500.0}]}  # exp(beta) passes f32 at beta = 89


def catalogue(folder: Path) -> Catalogue:
    known = {"globe": GLOBE, "plane": PLANE, "diverges": DIVERGES}

    def load(name: str) -> Scene:
        if name == "broken":
            raise UserError("broken.yaml:3: system.dt: should be greater than 0")
        return Scene.model_validate(known[name])

    return Catalogue(("globe", "plane", "broken", "diverges"), load, folder / "recordings")


@pytest.fixture
def globe(tmp_path: Path) -> Iterator[Session]:
    yield from session("globe", tmp_path)


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Session]:
    yield from session("plane", tmp_path)


def session(name: str, folder: Path) -> Iterator[Session]:
    names = catalogue(folder)
    assert names.load is not None
    made = Session(names.load(name), name, names, size=SIZE)
    made.advance()
    yield made
    made.release()


def picture(made: Session) -> np.ndarray:
    return made.frame.pixels.copy()


def test_the_clock_goes_one_frame_per_picture_and_stands_when_paused(globe: Session) -> None:
    first = picture(globe)
    assert globe.player.film_time == 0
    for k in range(1, 4):
        globe.advance()
        assert globe.player.film_time == k / 20
    assert (picture(globe) != first).any()
    globe.answer([Action.PAUSE])
    shown = picture(globe)
    globe.advance()
    assert globe.player.film_time == 3 / 20 and (picture(globe) == shown).all()
    globe.answer([Action.STEP])
    globe.advance()
    assert globe.player.film_time == 4 / 20
    globe.answer([Action.RESTART])
    globe.advance()
    assert globe.player.film_time == 0 and (picture(globe) == first).all()


def test_a_session_can_begin_anywhere_in_the_film(globe: Session, tmp_path: Path) -> None:
    for _ in range(5):
        globe.advance()
    later = Session(globe.scene, "globe", catalogue(tmp_path), size=SIZE, at=0.25, paused=True)
    later.advance()
    assert later.player.film_time == 0.25 and (later.frame.pixels == globe.frame.pixels).all()
    later.release()


def test_a_slider_stands_above_the_timeline_until_it_is_let_go(globe: Session) -> None:
    sliders = {slider.path: slider for slider in globe.panel_state(0).sliders}
    assert sliders["weights.beta"].value == 1.0 and not sliders["weights.beta"].held
    globe.hold({"weights.beta": 2.5})
    for _ in range(10):
        globe.advance()
    held = next(slider for slider in globe.panel_state(0).sliders if slider.path == "weights.beta")
    assert held.value == 2.5 and held.held
    globe.answer([Action.FOLLOW])
    freed = next(slider for slider in globe.panel_state(0).sliders if slider.path == "weights.beta")
    assert freed.value == pytest.approx(1.0 + 2.0 * 0.5 / 2) and not freed.held  # linear from 1 at 0 s to 3 at 2 s, now 0.5 s


def test_every_slider_range_holds_its_value(globe: Session) -> None:
    globe.hold({"weights.beta": 50.0})
    for slider in globe.panel_state(0).sliders:
        assert slider.low <= slider.value <= slider.high


def test_the_camera_moves_while_paused_and_comes_back(globe: Session) -> None:
    globe.answer([Action.PAUSE])
    first = picture(globe)
    globe.answer([Drag(30, 5, 80, 45), Zoom(1.5, 80, 45)])
    globe.advance()
    assert (picture(globe) != first).any()
    assert globe.stage.value_of("view.camera.zoom") == pytest.approx(1.5)
    globe.answer([Action.FOLLOW])  # sliders alone
    assert globe.stage.value_of("view.camera.zoom") == pytest.approx(1.5)
    globe.answer([Action.RESET_VIEW])
    globe.advance()
    assert (picture(globe) == first).all()


def test_a_plane_pans_with_the_pointer_and_zooms_about_it(plane: Session) -> None:
    plane.answer([Action.PAUSE])
    system, area = plane.stage.system, plane.stage.view.area
    pixel = 5.2 / area.size[0]
    plane.answer([Drag(16, -9, 100, 45)])
    assert system.center == pytest.approx((-16 * pixel, -9 * pixel))  # y of the picture is down, b is up
    plane.answer([Action.RESET_VIEW])
    assert (system.center, system.width) == ((0.0, 0.0), 5.2)
    x, y = 3 * area.size[0] / 4, area.size[1] / 4  # within the area: a quarter of the width right of the middle, a quarter up
    plane.answer([Zoom(2.0, area.corner[0] + x, area.corner[1] + y)])
    assert system.width == 2.6
    height = 5.2 * area.size[1] / area.size[0]
    assert system.center == pytest.approx((5.2 / 4 * (1 - 1 / 2), height / 4 * (1 - 1 / 2)))  # that point stays where it is


def test_a_rectangle_of_the_plane_fills_the_picture(plane: Session) -> None:
    (left, top), (width, height) = plane.stage.view.area.corner, plane.stage.view.area.size
    plane.answer([Band(left + width / 4, top + height / 4, left + 3 * width / 4, top + 3 * height / 4)])
    assert plane.stage.system.width == pytest.approx(2.6)
    assert plane.stage.system.center == pytest.approx((0.0, 0.0), abs=1e-12)


def test_where_one_looks_outlives_a_restart(plane: Session) -> None:
    plane.answer([Zoom(2.0, 80, 45), Action.RESTART])
    plane.advance()
    assert plane.stage.system.width == 2.6


def test_a_new_size_keeps_the_run(globe: Session) -> None:
    for _ in range(3):
        globe.advance()
    globe.hold({"weights.beta": 2.5})
    globe.answer([Action.PAUSE, Drag(20, 0, 80, 45)])
    globe.advance()
    before, steps = picture(globe), globe.stage.system.step_index
    globe.resize((200, 120))
    globe.advance()
    assert globe.frame.size == (200, 120) and globe.stage.system.step_index == steps
    globe.resize(SIZE)
    globe.advance()
    assert (picture(globe) == before).all()


@pytest.mark.parametrize("size", [(0, 0), (1, 1), (63, 400), (9000, 100)])
def test_sizes_that_no_picture_has_are_ignored(globe: Session, size: tuple[int, int]) -> None:
    globe.resize(size)
    globe.advance()
    assert globe.frame.size == SIZE and globe.message is None


def test_going_through_the_scenes_passes_one_that_cannot_be_read_with_a_message(globe: Session) -> None:
    globe.answer([Action.NEXT])
    assert globe.name == "plane" and globe.scene.title == "plane"
    globe.answer([Action.NEXT])
    assert globe.message is not None and "system.dt" in globe.message
    globe.advance()
    assert globe.scene.title == "plane"  # goes on as it was
    globe.answer([Action.PREVIOUS])
    assert globe.name == "plane" and globe.message is None
    globe.answer([Action.PREVIOUS])
    globe.advance()
    assert globe.name == "globe" and globe.player.film_time == 0


def test_stages_that_are_left_or_resized_away_are_let_go_of(globe: Session) -> None:
    gone = [weakref.ref(globe.stage)]
    globe.answer([Action.NEXT])
    gone.append(weakref.ref(globe.stage))
    globe.resize((200, 120))
    globe.advance()
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_a_run_that_diverges_says_so_and_the_window_stays_usable(tmp_path: Path) -> None:
    names = catalogue(tmp_path)
    assert names.load is not None
    made = Session(names.load("diverges"), "diverges", names, size=SIZE)
    for _ in range(30):
        made.advance()
    assert made.message is not None and made.player.paused
    assert 0 < made.player.film_time < 89 / 500 + 0.1
    made.answer([Action.RESTART])
    assert made.message is None and not made.player.paused
    made.advance()
    assert made.player.film_time == 0 and made.message is None
    made.answer([Action.NEXT])
    made.advance()
    assert made.name == "globe" and made.message is None
    made.release()


def test_screenshots_are_the_picture_and_never_overwrite(globe: Session, tmp_path: Path) -> None:
    globe.answer([Action.SCREENSHOT, Action.SCREENSHOT])
    files = sorted((tmp_path / "recordings").iterdir())
    assert [file.name for file in files] == ["globe-001.png", "globe-002.png"]
    with Image.open(files[1]) as picture:
        assert (np.asarray(picture.convert("RGBA")) == globe.frame.rgba).all()


def test_a_saved_scene_shows_what_was_seen(globe: Session, tmp_path: Path) -> None:
    globe.answer([Action.PAUSE, Drag(20, 5, 80, 45)])
    globe.hold({"weights.beta": 2.5})
    globe.answer([Action.RESTART])
    globe.advance()
    globe.answer([Action.SAVE])
    saved = load_scene(tmp_path / "recordings" / "globe-001.yaml")
    assert saved.system.weights.beta == 2.5
    assert all("weights.beta" not in keyframe.targets for keyframe in saved.timeline)
    assert [keyframe.caption for keyframe in saved.timeline] == ["later"]  # what a keyframe does beside stays
    again = Session(saved, "saved", Catalogue(), size=SIZE)
    again.advance()
    assert (again.frame.pixels == globe.frame.pixels).all()
    again.release()


def test_a_saved_plane_remembers_its_window_to_the_last_bit(plane: Session, tmp_path: Path) -> None:
    plane.answer([Zoom(3.7, 31.3, 12.9), Action.SAVE])
    saved = load_scene(tmp_path / "recordings" / "plane-001.yaml")
    assert (saved.system.window.center, saved.system.window.width) == (plane.stage.system.center, plane.stage.system.width)
    assert saved.timeline == plane.scene.timeline


def test_with_no_other_scene_next_is_a_message(globe: Session) -> None:
    alone = Session(globe.scene, "globe", Catalogue(), size=SIZE)
    alone.answer([Action.NEXT])
    assert alone.message is not None and not alone.closing
    alone.answer([Action.QUIT])
    assert alone.closing
    alone.release()

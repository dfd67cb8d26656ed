"""A virtual X screen over software Vulkan, for tests that open the real window, press real keys and photograph the screen.

Needs Xvfb, xdotool and Mesa's software Vulkan driver (Debian: xvfb xdotool libvulkan1 mesa-vulkan-drivers). Where one is
missing the tests are skipped with that reason; PHISPHERE_REQUIRE_WINDOW=1 turns the absence into a failure.
"""

import contextlib
import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
SCREEN = (1280, 800)  # holds the windows of the tests at the library's place for them, (100, 100), and the pointer beside them
DRIVERS = sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))
Picture = NDArray[np.uint8]
"""(H, W, 3) uint8, row 0 the top."""


def missing() -> str | None:
    """Why no window can be tested here, or None."""
    if sys.platform != "linux":
        return "a virtual X screen is only set up on Linux"
    lacking = [program for program in ("Xvfb", "xdotool") if shutil.which(program) is None]
    if not DRIVERS:
        lacking.append("software Vulkan (mesa-vulkan-drivers)")
    return f"not installed: {', '.join(lacking)}" if lacking else None


def require_screen() -> None:
    """Skip the calling test, or fail it under PHISPHERE_REQUIRE_WINDOW=1, when `missing()`."""
    reason = missing()
    if reason and os.environ.get("PHISPHERE_REQUIRE_WINDOW") == "1":
        pytest.fail(f"window tests are required here, but {reason}")
    if reason:
        pytest.skip(f"no window can be tested: {reason}")


class VirtualScreen:
    """One running Xvfb, 24 bits deep (on 8 bits the window library crashes), whose framebuffer lies in a file."""

    def __init__(self, directory: Path) -> None:
        read, write = os.pipe()
        width, height = SCREEN
        where = ["-displayfd", str(write), "-screen", "0", f"{width}x{height}x24", "-fbdir", str(directory)]
        self._server = subprocess.Popen(
            ["Xvfb", *where, "-nocursor", "-nolisten", "tcp", "-noreset"],
            pass_fds=(write,),
            stderr=subprocess.DEVNULL,
        )
        os.close(write)
        with os.fdopen(read) as pipe:
            number = pipe.readline().strip()  # written once the server accepts connections
        if not number:
            raise RuntimeError("Xvfb did not start")
        self.display = f":{number}"
        self._framebuffer = directory / "Xvfb_screen0"

    def environment(self, **changes: str) -> dict[str, str]:
        """The environment of a program that is to use this screen and the software driver."""
        drivers = {"VK_DRIVER_FILES": str(DRIVERS[0]), "VK_ICD_FILENAMES": str(DRIVERS[0])}
        return {**os.environ, "DISPLAY": self.display, **drivers, **changes}

    def xdotool(self, *arguments: object) -> str:
        """Run xdotool on this screen; its output."""
        command = ["xdotool", *map(str, arguments)]
        return subprocess.run(command, env=self.environment(), capture_output=True, text=True, check=False, timeout=10).stdout

    def photograph(self) -> Picture:
        """The whole screen, from the XWD file that Xvfb keeps its framebuffer in (X11/XWDFile.h: 25 big-endian words first)."""
        raw = self._framebuffer.read_bytes()
        header = struct.unpack(">25I", raw[:100])
        size, width, height, little, stride, colors = header[0], header[4], header[5], header[7] == 0, header[12], header[19]
        words = np.frombuffer(raw, "<u4" if little else ">u4", count=height * stride // 4, offset=size + 12 * colors)
        return np.stack([words >> shift & 255 for shift in (16, 8, 0)], -1).astype(np.uint8).reshape(height, -1, 3)[:, :width]

    def stop(self) -> None:
        """End the server."""
        self._server.terminate()
        self._server.wait(10)


class Program:
    """A child process with one window on a virtual screen."""

    def __init__(self, screen: VirtualScreen, command: list[str], directory: Path, **environment: str) -> None:
        self.screen = screen
        self._output, self._errors = directory / "stdout.txt", directory / "stderr.txt"
        variables = {**screen.environment(**environment), "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        with self._output.open("w") as out, self._errors.open("w") as err:
            self.process = subprocess.Popen(command, cwd=directory, env=variables, stdout=out, stderr=err)
        self.window = ""

    @property
    def output(self) -> str:
        """All of stdout so far."""
        return self._output.read_text()

    @property
    def errors(self) -> str:
        """All of stderr so far."""
        return self._errors.read_text()

    def wait_for_window(self, seconds: float = 40) -> None:
        """Until the window is there; give it the keyboard, and put the pointer off it."""
        until(lambda: bool(self._find()), seconds, lambda: f"no window; stderr:\n{self.errors}")
        self.screen.xdotool("windowfocus", self.window)
        self.screen.xdotool("mousemove", SCREEN[0] - 1, SCREEN[1] - 1)

    def _find(self) -> str:
        if self.process.poll() is not None:
            raise AssertionError(f"the program ended with {self.process.returncode}; stderr:\n{self.errors}")
        found = self.screen.xdotool("search", "--onlyvisible", "--pid", self.process.pid).split()
        found = found or self.screen.xdotool("search", "--onlyvisible", "--name", "phisphere").split()
        self.window = found[0] if found else ""
        return self.window

    def geometry(self) -> tuple[int, int, int, int]:
        """x, y, width, height of the window on the screen."""
        pairs = dict(line.split("=") for line in self.screen.xdotool("getwindowgeometry", "--shell", self.window).split())
        return int(pairs["X"]), int(pairs["Y"]), int(pairs["WIDTH"]), int(pairs["HEIGHT"])

    def picture(self) -> Picture:
        """What the screen shows where the window is."""
        x, y, width, height = self.geometry()
        return self.screen.photograph()[y : y + height, x : x + width]

    def still_picture(self, seconds: float = 20) -> Picture:
        """The picture once it has not changed for half a second."""
        deadline, last, since = time.monotonic() + seconds, self.picture(), time.monotonic()
        while time.monotonic() < deadline:
            time.sleep(0.05)
            now = self.picture()
            if now.shape != last.shape or (now != last).any():
                last, since = now, time.monotonic()
            elif time.monotonic() - since > 0.5:
                return now
        raise AssertionError("the picture kept changing")

    def key(self, *keys: str) -> None:
        """Press keys (X names), slowly enough for a window that draws a few frames a second."""
        for key in keys:
            self.screen.xdotool("key", key)

    def drag(self, start: tuple[int, int], end: tuple[int, int], button: int = 1) -> None:
        """Drag within the window, with pauses that a slow window cannot miss."""
        x, y, _, _ = self.geometry()
        self.screen.xdotool("mousemove", x + start[0], y + start[1], "sleep", 0.2, "mousedown", button, "sleep", 0.3)
        self.screen.xdotool("mousemove", x + end[0], y + end[1], "sleep", 0.3, "mouseup", button)
        self.screen.xdotool("mousemove", SCREEN[0] - 1, SCREEN[1] - 1)

    def wait(self, seconds: float = 15) -> int:
        """The exit code."""
        return self.process.wait(seconds)


def until(condition: Callable[[], bool], seconds: float, complaint: Callable[[], str]) -> None:
    """Wait for the condition, or fail with the complaint."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(complaint())
        time.sleep(0.05)


@contextlib.contextmanager
def running(screen: VirtualScreen, command: list[str], directory: Path, **environment: str) -> Iterator[Program]:
    """A program that does not outlive the block."""
    program = Program(screen, command, directory, **environment)
    try:
        yield program
    finally:
        if program.process.poll() is None:
            program.process.kill()
            program.process.wait(10)

"""The GGUI window itself: whether one can open here, showing a frame byte for byte, and what the user did.

Seen with Taichi 1.7.4: without a display GLFW ends the process, on a screen of 8-bit colour it crashes, without Vulkan the window
raises; ImGui keeps its `imgui.ini` in the current directory. All of that is looked after here, before and around those calls.
"""

import contextlib
import ctypes
import os
import sys
import tempfile
import time
from collections.abc import Iterator

import numpy as np
import taichi as ti
from numpy.typing import NDArray
from taichi.ui.utils import get_field_info

from render.frame import Frame
from render.live_input import Band, Polled
from render.palette import BACKGROUND, INK, pack
from scenes.load import UserError
from sim import runtime

WITHOUT = "`record` and `still` need neither a display nor Vulkan"
AROUND = np.uint32(pack(BACKGROUND))  # where a frame is smaller than the window
BAND_COLOR = np.uint32(pack(INK))


def require_window() -> None:
    """Raise UserError, one line, when no window can open on this machine: what is missing and how to get it."""
    if sys.platform not in ("win32", "darwin"):
        _require_x11()
    if runtime.machine().arch != "metal":
        with _silence():
            found = bool(ti._lib.core.with_vulkan())
        if not found:
            raise UserError(
                "no Vulkan driver, which the window needs: install the graphics card's driver, or the software one "
                f"(Debian, Ubuntu: sudo apt install libvulkan1 mesa-vulkan-drivers); {WITHOUT}"
            )


def _require_x11() -> None:
    """Ask what GLFW will ask: Taichi's wheels for Linux speak X11 alone."""
    name = os.environ.get("DISPLAY")
    if not name and os.environ.get("WAYLAND_DISPLAY"):
        raise UserError(f"no X11 display (DISPLAY is not set): on Wayland the window needs Xwayland; install xwayland; {WITHOUT}")
    if not name:
        raise UserError(f"no display (neither DISPLAY nor WAYLAND_DISPLAY is set): start it from a desktop session; {WITHOUT}")
    try:
        x11 = ctypes.CDLL("libX11.so.6")
    except OSError:
        raise UserError(
            f"libX11 is missing, which the window needs (Debian, Ubuntu: sudo apt install libx11-6); {WITHOUT}"
        ) from None
    x11.XOpenDisplay.restype = ctypes.c_void_p
    display = x11.XOpenDisplay(None)
    if not display:
        raise UserError(f"the display {name!r} (from DISPLAY) cannot be reached; {WITHOUT}")
    handle = ctypes.c_void_p(display)
    depth = x11.XDefaultDepth(handle, x11.XDefaultScreen(handle))
    x11.XCloseDisplay(handle)
    if depth < 24:
        raise UserError(f"the display {name!r} has {depth}-bit colour; the window needs 24 bits; {WITHOUT}")


class LiveWindow:
    """One GGUI window. Pixels have y down, (0, 0) top left, and are those of the framebuffer, whatever the desktop's scaling."""

    def __init__(self, title: str, size: tuple[int, int]) -> None:
        """Opens at once. Raises UserError when that fails in spite of `require_window`."""
        self._private = tempfile.TemporaryDirectory(prefix="phisphere-")
        try:
            with self._own_directory():
                self._window = ti.ui.Window(title, size, vsync=True)
        except RuntimeError as error:
            self._private.cleanup()
            raise UserError(f"the window does not open: {error}; {WITHOUT}") from None
        self._canvas = self._window.get_canvas()
        self.gui = self._window.get_gui()
        self.scale = _desktop_scale(size, self.size)
        self.opened_size = self.size[0] / self.scale, self.size[1] / self.scale  # ImGui's fractions are of this for good
        self._image: NDArray[np.uint32] = np.empty((0, 0), np.uint32)

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) of the framebuffer now."""
        width, height = self._window.get_window_shape()
        return int(width), int(height)

    @property
    def is_open(self) -> bool:
        """False once the close button has been pressed."""
        return bool(self._window.running)

    def poll(self) -> Polled:
        """Presses, releases and the pointer since the last call."""
        presses = tuple(event.key for event in self._window.get_events(ti.ui.PRESS))
        releases = tuple(event.key for event in self._window.get_events(ti.ui.RELEASE))
        (width, height), (x, y) = self.size, self._window.get_cursor_pos()
        cursor = (x * width * self.scale, (1 - y) * height * self.scale)
        return Polled(presses, releases, cursor, (width, height), time.perf_counter())

    def show(self, frame: Frame, band: Band | None = None) -> None:
        """Put the frame into the middle of the window, pixel for pixel, then whatever the GUI drew, on the screen."""
        image = self._staging(frame)
        if band is not None:
            _outline(image, band)
        # `Canvas.set_image` would first convert the frame, for 28 ms; this is its last line, on words that are right already.
        self._canvas.canvas.set_image(get_field_info(image))
        with self._own_directory():
            self._window.show()

    def close(self) -> None:
        """Destroy the window and everything it left on disk. A second call does nothing."""
        if self._private.name and os.path.isdir(self._private.name):
            with self._own_directory():
                self._window.destroy()
            self._private.cleanup()

    def _staging(self, frame: Frame) -> NDArray[np.uint32]:
        """The frame in GGUI's layout, [x, y up], and of the window's size: centred, cut or framed, never stretched."""
        width, height = self.size
        if self._image.shape != (width, height):
            self._image = np.full((width, height), AROUND, np.uint32)
        if frame.size == (width, height):
            np.copyto(self._image, frame.pixels[::-1].T)
            return self._image
        self._image.fill(AROUND)
        x, y = (width - frame.width) // 2, (height - frame.height) // 2
        columns, rows = min(width, frame.width), min(height, frame.height)
        part = frame.pixels[max(-y, 0) :, max(-x, 0) :][:rows, :columns]
        self._image[max(x, 0) :, height - max(y, 0) - rows :][:columns, :rows] = part[::-1].T
        return self._image

    @contextlib.contextmanager
    def _own_directory(self) -> Iterator[None]:
        """ImGui reads and writes `imgui.ini` in the current directory, and only inside the calls wrapped in this."""
        home = os.getcwd()
        os.chdir(self._private.name)
        try:
            yield
        finally:
            os.chdir(home)


def _desktop_scale(asked: tuple[int, int], got: tuple[int, int]) -> float:
    """Framebuffer pixels per unit of the pointer: 2 on a Retina screen, 1 where the desktop merely chose another window size."""
    ratio = got[0] / asked[0]
    even = got[1] == asked[1] * ratio and (4 * ratio).is_integer()
    return ratio if even and ratio > 1 else 1.0


def _outline(image: NDArray[np.uint32], band: Band) -> None:
    """Draw the rubber band, two pixels wide, into an image of layout [x, y up]."""
    width, height = image.shape
    x0, x1 = sorted(int(min(max(x, 0), width - 2)) for x in (band.x0, band.x1))
    y0, y1 = sorted(int(min(max(height - 2 - y, 0), height - 2)) for y in (band.y0, band.y1))
    for x in (x0, x1):
        image[x : x + 2, y0 : y1 + 2] = BAND_COLOR
    for y in (y0, y1):
        image[x0 : x1 + 2, y : y + 2] = BAND_COLOR


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """The Vulkan probe reports its failure on both streams; our one line says it better."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 1)
        os.dup2(null, 2)
        yield
    finally:
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
        for handle in (*kept, null):
            os.close(handle)

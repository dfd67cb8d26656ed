"""The live window: opens it, and runs it until it is closed.

    run_live(scene, name="never_settles", catalogue=Catalogue(names, load, Path("recordings")))

The picture is the one that `still` and `record` make of the same scene, time and size, byte for byte; panels lie over it. A
window of another size gets a picture of its own size, so circles stay round and type stays sharp; while its edge is dragged
the last picture stands in the middle, cut or framed, never stretched.
"""

import time
from dataclasses import dataclass

from render.frame import Frame
from render.live_input import Input
from render.live_panels import Panels, PanelState
from render.live_session import Catalogue, Session
from render.live_window import LiveWindow, require_window
from render.palette import BACKGROUND
from scenes.load import UserError
from scenes.spec import Scene
from sim.system import Diverged

SETTLED = 0.15  # seconds a new window size must last before a picture is made for it
MEMORY = 0.9  # of the frame rate's moving average


def run_live(
    scene: Scene,
    *,
    name: str = "scene",
    catalogue: Catalogue | None = None,
    size: tuple[int, int] | None = None,
    at: float = 0.0,
    paused: bool = False,
) -> None:
    """Show `scene` in a window until Escape, the close button or Ctrl-C.

    `name` is what the scene is called in `catalogue.names` and in file names; `size` is the window's (default: the film's);
    `at` is the film time to begin at, seconds; `paused` begins paused. Taichi must run already (sim.runtime.start). Raises
    UserError, before anything is simulated, when no window can open here.
    """
    require_window()
    size = size or scene.film.size
    window = LiveWindow("phisphere", size)
    try:
        _announce(window, f"preparing {name} ...")
        session = Session(scene, name, catalogue or Catalogue(), size=size, at=at, paused=paused)
        try:
            _loop(window, session)
        finally:
            session.release()
    except Diverged as error:  # at t = 0 already: there is no picture to show
        raise UserError(f"{name}: {error}") from None
    except KeyboardInterrupt:
        pass  # Ctrl-C in the terminal is one way to close the window
    finally:
        window.close()


def _announce(window: LiveWindow, text: str) -> None:
    """Something to look at while kernels compile. ImGui draws nothing in a window's first frame."""
    panels = Panels(window)
    for _ in range(2):
        panels.draw(PanelState(panels=False, note=text))
        window.show(Frame(*window.size, color=BACKGROUND))


def _loop(window: LiveWindow, session: Session) -> None:
    panels = Panels(window)
    reader = Input(panels.covers)
    pace, resized = Pace(), Resized(window.size)
    while window.is_open and not session.closing:
        session.answer(reader.read(window.poll()))
        if reader.panel_let_go:
            panels.let_go()
        if resized.settled(window.size):
            session.resize(window.size)
        session.advance()
        session.hold(panels.draw(session.panel_state(pace.rate)).values)
        window.show(session.frame, reader.band)
        pace.wait(session.player.fps)


@dataclass
class Pace:
    """Keeps the film from running faster than real time; where the machine is slower the film is too, frame by frame."""

    rate: float = 0.0  # frames per second, averaged
    _last: float = 0.0

    def wait(self, fps: float) -> None:
        """Sleep until 1 / fps seconds after the last call."""
        time.sleep(max(0.0, self._last + 1 / fps - time.perf_counter()))
        now = time.perf_counter()
        if self._last:
            newest = 1 / max(now - self._last, 1e-6)
            self.rate = MEMORY * self.rate + (1 - MEMORY) * newest if self.rate else newest
        self._last = now


@dataclass
class Resized:
    """Waits until a window's size has stopped changing."""

    _size: tuple[int, int]
    _since: float = 0.0

    def settled(self, size: tuple[int, int]) -> bool:
        """Has the size been this one for a while?"""
        now = time.perf_counter()
        if size != self._size:
            self._size, self._since = size, now
        return now - self._since >= SETTLED

"""Keys and mouse of the live window, turned into actions and gestures. Pure: needs no window, so it is tested without one.

GGUI (Taichi 1.7.4) reports letters, arrows, space, Return, Tab, BackSpace, Escape, the modifiers and three mouse buttons, and
nothing else: no digits, no punctuation, no function keys and no wheel. Hence the letters below for stepping, zooming and help.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Literal

ZOOM_STEP = 1.25  # magnification of one key press
PAN_STEP = 0.05  # of the picture's height, one key press
REPEAT_AFTER = 0.35  # seconds a key is held before it repeats
REPEATS = 12.0  # steps per second from then on
ZOOM_DRAG = 1.005  # magnification per pixel of upward drag
MIN_BAND = 8.0  # pixels: a rectangle with a shorter side is taken for a slip of the hand


class Action(Enum):
    """What a key does once, when it goes down. The value is what the help says."""

    PAUSE = "pause, go on"
    STEP = "one frame, then pause"
    RESTART = "start again at t = 0"
    NEXT = "next scene"
    PREVIOUS = "previous scene"
    RESET_VIEW = "the scene's own view again"
    FOLLOW = "let go of all sliders"
    SCREENSHOT = "picture to recordings/"
    SAVE = "write this state as a scene"
    PANELS = "hide, show the panels"
    HELP = "this list"
    QUIT = "close"


KEYS: dict[str, Action] = {
    " ": Action.PAUSE,
    "Return": Action.STEP,
    "f": Action.STEP,
    "r": Action.RESTART,
    "n": Action.NEXT,
    "p": Action.PREVIOUS,
    "v": Action.RESET_VIEW,
    "BackSpace": Action.RESET_VIEW,
    "t": Action.FOLLOW,
    "s": Action.SCREENSHOT,
    "w": Action.SAVE,
    "h": Action.PANELS,
    "k": Action.HELP,
    "Tab": Action.HELP,
    "Escape": Action.QUIT,
}


@dataclass(frozen=True)
class Drag:
    """The content under the pointer (x, y) is to move by (dx, dy) pixels, y down: a plane pans, a globe turns."""

    dx: float
    dy: float
    x: float
    y: float


@dataclass(frozen=True)
class Zoom:
    """Magnify by `factor` about the pixel (x, y)."""

    factor: float
    x: float
    y: float


@dataclass(frozen=True)
class Band:
    """A rectangle drawn with the mouse, from corner to corner in pixels: zoom to it."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def is_slip(self) -> bool:
        """Too thin to be meant."""
        return min(abs(self.x1 - self.x0), abs(self.y1 - self.y0)) < MIN_BAND


Gesture = Action | Drag | Zoom | Band

ARROWS: dict[str, tuple[int, int]] = {"Left": (1, 0), "Right": (-1, 0), "Up": (0, 1), "Down": (0, -1)}
"""The eye goes where the arrow points, so the content moves the other way (y down)."""
ZOOMS: dict[str, float] = {"i": ZOOM_STEP, "o": 1 / ZOOM_STEP}

LEGEND: tuple[tuple[str, str], ...] = (
    ("space", Action.PAUSE.value),
    ("f, Return", Action.STEP.value),
    ("r", Action.RESTART.value),
    ("n, p", "next, previous scene"),
    ("drag, arrows", "turn the globe, move the plane"),
    ("i, o", "zoom in, out"),
    ("ctrl + drag", "zoom, up is in"),
    ("shift + drag", "zoom to a rectangle"),
    ("v, BackSpace", Action.RESET_VIEW.value),
    ("t", Action.FOLLOW.value),
    ("s", Action.SCREENSHOT.value),
    ("w", Action.SAVE.value),
    ("h", Action.PANELS.value),
    ("k, Tab", Action.HELP.value),
    ("Escape", Action.QUIT.value),
)
"""What the help panel lists: keys, and what they do. The right button draws a rectangle too, the middle one zooms."""


@dataclass(frozen=True)
class Polled:
    """What the window saw since the last look."""

    presses: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    cursor: tuple[float, float] = (0.0, 0.0)  # pixels of the picture, y down
    size: tuple[int, int] = (1280, 720)  # of the picture, pixels
    time: float = 0.0  # seconds on any steady clock


@dataclass(frozen=True)
class _Grab:
    """What the mouse holds while a button is down."""

    button: str
    kind: Literal["move", "zoom", "band", "panel"]
    start: tuple[float, float]
    last: tuple[float, float]


class Input:
    """Remembers what is held down, and reads one `Polled` after the other into gestures."""

    def __init__(self, on_panel: Callable[[float, float], bool] = lambda _x, _y: False) -> None:
        """`on_panel(x, y)` tells whether a panel covers that pixel: a drag that begins there belongs to the panel."""
        self._on_panel = on_panel
        self._down: Counter[str] = Counter()
        self._since: dict[str, float] = {}  # when a repeating key is next due
        self._grab: _Grab | None = None
        self.typing = False  # ctrl + click turns an ImGui slider into a text field, which then owns the keyboard
        self.panel_let_go = False  # the last read ended a drag that began on a panel

    @property
    def band(self) -> Band | None:
        """The rectangle being drawn, to be shown while the button is down."""
        grab = self._grab
        return Band(*grab.start, *grab.last) if grab and grab.kind == "band" else None

    def read(self, polled: Polled) -> list[Gesture]:
        """Gestures in the order: keys that went down, keys held, mouse."""
        self.panel_let_go = False
        pressed = [key for key in polled.presses if key not in ("LMB", "MMB", "RMB")]
        buttons = [key for key in polled.presses if key in ("LMB", "MMB", "RMB")]
        self._down.update(polled.presses)
        gestures = [] if self.typing else self._keys(pressed, polled)
        if self.typing and {"Return", "Escape", "Tab"} & set(pressed):
            self.typing = False
        for button in buttons:
            self._grasp(button, polled)
        gestures += self._mouse(polled)
        self._down.subtract(polled.releases)
        self._down = +self._down  # drops what is up, also keys that went down before the window had the focus
        if self._grab and not self._down[self._grab.button]:
            gestures += self._let_go()
        return gestures

    def _keys(self, pressed: list[str], polled: Polled) -> list[Gesture]:
        gestures: list[Gesture] = [KEYS[key] for key in pressed if key in KEYS]
        for key in (*ARROWS, *ZOOMS):
            steps = pressed.count(key)
            if steps:
                self._since[key] = polled.time + REPEAT_AFTER
            elif self._down[key] and polled.time >= self._since.get(key, float("inf")):
                steps = 1 + int((polled.time - self._since[key]) * REPEATS)
                self._since[key] += steps / REPEATS
            if steps:
                gestures.append(_motion(key, steps, polled))
        return gestures

    def _grasp(self, button: str, polled: Polled) -> None:
        kind: Literal["move", "zoom", "band", "panel"] = "move"
        self.typing = False
        if self._on_panel(*polled.cursor):
            kind = "panel"
            self.typing = button == "LMB" and self._down["Control"] > 0
        elif button == "RMB" or self._down["Shift"]:
            kind = "band"
        elif button == "MMB" or self._down["Control"]:
            kind = "zoom"
        if self._grab is None:  # a second button changes nothing until the first is up
            self._grab = _Grab(button, kind, polled.cursor, polled.cursor)

    def _mouse(self, polled: Polled) -> list[Gesture]:
        grab = self._grab
        if grab is None or polled.cursor == grab.last:
            return []
        dx, dy = polled.cursor[0] - grab.last[0], polled.cursor[1] - grab.last[1]
        self._grab = replace(grab, last=polled.cursor)
        if grab.kind == "move":
            return [Drag(dx, dy, *grab.start)]
        if grab.kind == "zoom":
            return [Zoom(ZOOM_DRAG**-dy, *grab.start)]
        return []

    def _let_go(self) -> list[Gesture]:
        band, grab = self.band, self._grab
        self._grab = None
        self.panel_let_go = grab is not None and grab.kind == "panel" and not self.typing
        return [band] if band and not band.is_slip else []


def _motion(key: str, steps: int, polled: Polled) -> Gesture:
    """`steps` presses of an arrow or zoom key, about the middle of the picture."""
    width, height = polled.size
    if key in ZOOMS:
        return Zoom(ZOOMS[key] ** steps, width / 2, height / 2)
    right, down = ARROWS[key]
    step = PAN_STEP * height * steps
    return Drag(right * step, down * step, width / 2, height / 2)

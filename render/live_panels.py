"""The ImGui panels of the live window: what runs, its sliders, the keys, and messages.

ImGui's own font is Latin only and 13 pixels high, so panel texts are ASCII; real mathematical type stands in the picture
itself. GGUI does not say where a panel was dragged to nor whether the pointer is over one, so panels that were moved go back to
their place when they are let go: a panel whose name changes is a new one to ImGui. That keeps `covers` true.
"""

import textwrap
import unicodedata
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from render.live_input import LEGEND
from render.live_window import LiveWindow

LINE, ROW, TITLE, PAD, CHAR = (
    17,
    23,
    19,
    8,
    7,
)  # ImGui's metrics in its own pixels: text line, widget row, title bar, padding, glyph
GAP = 10  # between panels, and to the window's border
CONTROLS_WIDTH = 190  # with three sliders it fits the corner beside a globe of 1280x720
LABEL_WIDTH = 72  # what ImGui leaves beside a slider, padding included
HELP_WIDTH = 330
MESSAGE_WIDTH = 560
TYPE_COLUMN = 0.325  # of the width: where the picture's own column of type ends
WARNING = (1.0, 0.72, 0.3)
FAINT = (0.62, 0.66, 0.72)


@dataclass(frozen=True)
class Slider:
    """One live parameter. `held` once the user moved it: it then stands above the timeline."""

    path: str
    label: str  # ASCII
    low: float
    high: float
    value: float
    held: bool


@dataclass(frozen=True)
class PanelState:
    """All that the panels show, made anew for every frame."""

    status: tuple[str, ...] = ()  # short lines: scene, clock, rate
    sliders: tuple[Slider, ...] = ()
    corner: Literal["left", "right"] = "right"  # at the window's foot, where the picture has least to hide
    panels: bool = True
    help: bool = False
    message: str | None = None  # an error: shown even when the panels are hidden
    note: str | None = None  # what just happened, for a few seconds


@dataclass
class PanelResult:
    """What the user did on the panels in this frame."""

    values: dict[str, float] = field(default_factory=dict)  # parameter path -> where its slider stands now


@dataclass(frozen=True)
class Rect:
    """A panel's place in ImGui's pixels, y down."""

    x: float
    y: float
    width: float
    height: float

    def holds(self, x: float, y: float) -> bool:
        """Is the point inside?"""
        return self.x <= x < self.x + self.width and self.y <= y < self.y + self.height


class Panels:
    """Lays the panels out along the window's foot, draws them, and knows what they cover."""

    def __init__(self, window: LiveWindow) -> None:
        self._window = window
        self._generation = 0
        self._rects: list[Rect] = []
        self._touched = False

    def covers(self, x: float, y: float) -> bool:
        """Does a panel lie over the picture's pixel (x, y)?"""
        scale = self._window.scale
        return any(rect.holds(x / scale, y / scale) for rect in self._rects)

    def let_go(self) -> None:
        """A mouse button that went down on a panel is up again: if it moved no slider it may have moved the panel."""
        if not self._touched:
            self._generation += 1
        self._touched = False

    def draw(self, state: PanelState) -> PanelResult:
        """Declare this frame's panels to ImGui."""
        self._rects = []
        result = PanelResult()
        if state.panels:
            self._controls(state, result)
            if state.help:
                self._keys(state)
        if state.message or state.note:
            self._message(state)
        self._touched = self._touched or bool(result.values)
        return result

    def _controls(self, state: PanelState, result: PanelResult) -> None:
        status = [shortened(text, CONTROLS_WIDTH) for text in state.status]
        height = TITLE + 2 * PAD + LINE * (len(status) + 1) + ROW * len(state.sliders)
        width, below = self._room
        left = GAP if state.corner == "left" else width - CONTROLS_WIDTH - GAP
        self._begin("phisphere", Rect(left, below - height - GAP, CONTROLS_WIDTH, height))
        gui = self._window.gui
        for line in status:
            gui.text(line)
        for slider in state.sliders:
            shown = float(np.float32(slider.value))  # what ImGui can hold: anything else it returns is the user's doing
            value = gui.slider_float(shortened(slider.label, LABEL_WIDTH), shown, slider.low, slider.high)
            if value != shown:
                result.values[slider.path] = float(value)
        held = ", ".join(slider.label for slider in state.sliders if slider.held)
        gui.text(shortened(f"t frees {held}" if held else "k: keys  h: hide", CONTROLS_WIDTH), FAINT)
        gui.end()

    def _keys(self, state: PanelState) -> None:
        height = TITLE + 2 * PAD + LINE * len(LEGEND)
        _, below = self._room
        if state.corner == "left":  # above the controls
            below = self._rects[-1].y
        self._begin("keys", Rect(GAP, below - height - GAP, HELP_WIDTH, height))
        for keys, what in LEGEND:
            self._window.gui.text(f"{keys:<13} {what}")
        self._window.gui.end()

    def _message(self, state: PanelState) -> None:
        lines = [(line, WARNING) for line in wrapped(state.message or "", MESSAGE_WIDTH)]
        lines += [(line, FAINT) for line in wrapped(state.note or "", MESSAGE_WIDTH)]
        height = TITLE + 2 * PAD + LINE * len(lines)
        width, _ = self._room
        left = max((width - MESSAGE_WIDTH) / 2, min(TYPE_COLUMN * width, width - MESSAGE_WIDTH - GAP), GAP)
        self._begin("message", Rect(left, GAP, MESSAGE_WIDTH, height))
        for line, color in lines:
            self._window.gui.text(line, color)
        self._window.gui.end()

    @property
    def _room(self) -> tuple[float, float]:
        """The window's width and height in ImGui's pixels."""
        width, height = self._window.size
        return width / self._window.scale, height / self._window.scale

    def _begin(self, name: str, rect: Rect) -> None:
        self._rects.append(rect)
        width, height = self._window.opened_size
        place = rect.x / width, rect.y / height, rect.width / width, rect.height / height
        self._window.gui.begin(f"{name}##{self._generation} {rect}", *place)  # ImGui heeds a place once per name


def ascii_text(text: str) -> str:
    """The text in ASCII: Greek letters by name, accents dropped, anything else as `?`."""
    return "".join(_ascii(letter) for letter in text)


def _ascii(letter: str) -> str:
    if letter.isascii():
        return letter
    words = unicodedata.name(letter, "").split()
    if words[:1] == ["GREEK"] and "LETTER" in words:
        name = words[words.index("LETTER") + 1].lower()
        return name.capitalize() if "CAPITAL" in words else name
    return unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode() or "?"


def wrapped(text: str, width: float) -> list[str]:
    """The text as lines that fit a panel of that width."""
    return textwrap.wrap(ascii_text(text), int((width - 2 * PAD) / CHAR))


def shortened(text: str, width: float) -> str:
    """One line that fits a panel of that width."""
    room = int((width - 2 * PAD) / CHAR)
    text = ascii_text(text)
    return text if len(text) <= room else text[: room - 3] + "..."

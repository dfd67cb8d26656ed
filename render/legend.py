"""The colour bar of a globe: what the colours mean, in the corner that the globe leaves free."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Protocol

from render.camera import GlobeFit, Inset
from render.colour_key import bar
from render.figure import as_floats, layer_from_figure, new_figure
from render.frame import Frame, Layer
from render.layout import Rect
from render.palette import INK, MUTED, PANEL, Color, colormap
from render.text import solid, width_of

LABEL, NOTE = 2.6, 2.1  # type sizes in units
WIDTH, HEIGHT, LEAST = 12.0, 34.0, 12.5  # of a legend with its label, in units; it is left away where there is not even the least
SHRINK = 0.6  # a small pane's type is at least this share of the picture's


@dataclass(frozen=True)
class Legend:
    """What a colour bar needs: mathtext label, a map of `render.palette`, and the values at its ends (log10 of them with `log`).

    `note` stands small below the label. With `entries`, (name, colour or None), it is a list of colours instead of a bar.
    """

    label: str
    colormap: str
    low: float
    high: float
    log: bool = False
    note: str = ""
    entries: tuple[tuple[str, Color | None], ...] = ()


class View(Protocol):
    """What placing a legend asks of a view."""

    size: tuple[int, int]
    inset: Inset

    def fit(self) -> GlobeFit:
        """Where the globe lies on the picture."""


class Legends:
    """Draws legends over finished views; each is rendered once and kept. `unit`: the picture's unit of type, pixels."""

    def __init__(self, unit: float) -> None:
        self.unit = unit

    def draw(self, frame: Frame, legends: Sequence[Legend], view: View, corner: tuple[int, int]) -> None:
        """Put the legends of a view whose top left pixel is at `corner` of the frame, upwards; none where there is no room."""
        place = legend_place(view, self.unit)
        for legend in legends:
            if place is None:
                return
            (left, top, width, height), unit = place
            x, y = corner[0] + left, corner[1] + top
            if _covered(view.fit(), (left, top, width, height)):  # a globe zoomed in, or a picture without free corners
                frame.blend(solid(width, height, PANEL, 190), x, y)
            frame.blend(_rendered(legend, width, height, unit), x, y)
            above = top - height - round(2 * unit)
            clear = above >= view.inset[1] * view.size[1] and not _covered(
                GlobeFit.of(view.size, 1.0, view.inset), (left, above, width, height)
            )
            place = ((left, above, width, height), unit) if clear else None


def legend_place(view: View, picture_unit: float) -> tuple[Rect, float] | None:
    """(Rectangle within the view, unit of type), in its lower right corner and clear of the globe at zoom 1 where that can be.

    None where a legend would be too small to read.
    """
    (width, height), (left, top, right, bottom) = view.size, view.inset
    x0, y0, x1, y1 = left * width, top * height, (1 - right) * width, (1 - bottom) * height
    unit = max(min(y1 - y0, (x1 - x0) / 1.2) / 100, SHRINK * picture_unit)
    margin = 1.5 * unit
    globe = GlobeFit.of(view.size, 1.0, view.inset)
    reach = globe.radius + unit  # a little air
    across = x1 - margin - WIDTH * unit - globe.x  # from the globe's centre to the legend's left side
    tallest = y1 - y0 - 2 * margin
    if across < reach:  # below the globe's side
        tallest = min(tallest, y1 - margin - globe.y - sqrt(reach * reach - max(across, 0.0) ** 2))
    tall = min(HEIGHT * unit, max(tallest, LEAST * unit))
    if tall + 2 * margin > y1 - y0 or WIDTH * unit + 2 * margin > x1 - x0:
        return None
    w, h = round(WIDTH * unit), round(tall)
    return (round(x1 - margin) - w, round(y1 - margin) - h, w, h), unit


def _covered(fit: GlobeFit, rect: Rect) -> bool:
    """Does the globe reach behind the rectangle?"""
    x, y, width, height = rect
    dx = max(x - fit.x, 0.0, fit.x - x - width)
    dy = max(y - fit.y, 0.0, fit.y - y - height)
    return dx * dx + dy * dy < fit.radius**2


@functools.lru_cache(maxsize=64)  # scales are rounded, so that few different ones are seen
def _rendered(legend: Legend, width: int, height: int, unit: float) -> Layer:
    """The label above, the bar or the list of colours below it."""
    figure = new_figure(width, height)
    edge, used = 0.9 * unit, 0.4 * unit
    lines = [(line, LABEL, INK) for line in legend.label.split("\n")] + [
        (line, NOTE, MUTED) for line in legend.note.split("\n") if line
    ]
    for line, size, color in lines:
        pixels = size * unit * min(1.0, (width - 1.4 * unit) / width_of(line, size * unit))
        figure.text(edge / width, 1 - used / height, line, size=pixels, color=as_floats(color), va="top")
        used += 1.4 * size * unit
    room = height - used - 1.5 * unit  # the ends' tick labels reach beyond the bar by half their height
    if legend.entries:
        _swatches(figure, legend.entries, room, unit)
    else:
        long = room - 0.6 * unit
        ends = legend.high - legend.low
        ticks = [((value - legend.low) / ends, text) for value, text in legend_ticks(legend, long / unit > 16)]
        bar(
            figure, (edge / width, 1.5 * unit / height, 2.4 * unit / width, long / height), colormap(legend.colormap), ticks, unit
        )
    return layer_from_figure(figure)


def _swatches(figure: Any, entries: Sequence[tuple[str, Color | None]], room: float, unit: float) -> None:
    """Named squares of colour from the foot up, as many as there is room for; the first entry stands on top."""
    from matplotlib.patches import Rectangle

    width, height = figure.get_size_inches() * figure.dpi
    row = 3.3 * unit
    shown = list(entries[: max(1, int(room / row))])
    for i, (name, color) in enumerate(shown):
        y = room + 0.4 * unit - (i + 1) * row
        if color is not None:
            square = Rectangle(
                (0.9 * unit / width, y / height), 2.2 * unit / width, 2.2 * unit / height,
                facecolor=as_floats(color), transform=figure.transFigure,
            )  # fmt: skip
            figure.patches.append(square)
        figure.text(4.0 * unit / width, (y + 1.1 * unit) / height, name, size=2.4 * unit, color=as_floats(INK), va="center")


def legend_ticks(legend: Legend, many: bool) -> list[tuple[float, str]]:
    """(value, text) of a few round values between the ends, or of two where there is little room."""
    from matplotlib.ticker import MaxNLocator

    if legend.log:
        step = max(1, -(-round(legend.high - legend.low) // (5 if many else 1)))
        return [(float(power), rf"$10^{{{power}}}$") for power in range(round(legend.low), round(legend.high) + 1, step)]
    if not many:
        return [(end, tick_text(end)) for end in (legend.low, legend.high)]
    values = MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]).tick_values(legend.low, legend.high)
    slack = 1e-9 * (legend.high - legend.low)
    inside = [float(v) for v in values if legend.low - slack <= v <= legend.high + slack]
    return [(value, tick_text(0.0 if abs(value) < slack else value)) for value in inside]


def tick_text(value: float) -> str:
    """A tick's number as short as it can be; powers of ten as mathematics."""
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return f"{value:.4g}".replace("-", "\N{MINUS SIGN}")
    mantissa, exponent = f"{value:.2e}".split("e")
    return rf"${float(mantissa):g}\times 10^{{{int(exponent)}}}$"

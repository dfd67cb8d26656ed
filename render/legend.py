"""The colour bar of a globe: what the colours mean, in the corner that the globe leaves free."""

import functools
from dataclasses import dataclass
from math import sqrt
from typing import Protocol

from render.camera import GlobeFit, Inset
from render.colour_key import bar
from render.figure import as_floats, layer_from_figure, new_figure
from render.frame import Frame, Layer
from render.layout import Rect
from render.palette import INK, PANEL, colormap
from render.text import solid, width_of

LABEL = 2.6  # type size in units
WIDTH, HEIGHT, LEAST = 12.0, 34.0, 12.5  # of a legend with its label, in units; it is left away where there is not even the least
SHRINK = 0.6  # a small pane's type is at least this share of the picture's


@dataclass(frozen=True)
class Legend:
    """What a colour bar needs: mathtext label, a map of `render.palette`, and the values at its ends."""

    label: str
    colormap: str
    low: float
    high: float


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

    def draw(self, frame: Frame, legend: Legend | None, view: View, corner: tuple[int, int]) -> None:
        """Put the legend of a view whose top left pixel is at `corner` of the frame; nothing where there is no room."""
        place = legend_place(view, self.unit)
        if legend is None or place is None:
            return
        (left, top, width, height), unit = place
        x, y = corner[0] + left, corner[1] + top
        if _covered(view.fit(), (left, top, width, height)):  # a globe that was zoomed in, or a picture without free corners
            frame.blend(solid(width, height, PANEL, 190), x, y)
        frame.blend(_rendered(legend, width, height, unit), x, y)


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
    """The label above, the bar below it, ticks to its right."""
    figure = new_figure(width, height)
    edge = 0.9 * unit
    size = LABEL * unit * min(1.0, (width - 1.4 * unit) / width_of(legend.label, LABEL * unit))
    figure.text(edge / width, 1 - 0.4 * unit / height, legend.label, size=size, color=as_floats(INK), va="top")
    long = height - (LABEL * 1.45 + 2.0) * unit  # the ends' tick labels reach beyond the bar by half their height
    ticks = [((value - legend.low) / (legend.high - legend.low), text) for value, text in legend_ticks(legend, long / unit > 16)]
    bar(figure, (edge / width, 1.5 * unit / height, 2.4 * unit / width, long / height), colormap(legend.colormap), ticks, unit)
    return layer_from_figure(figure)


def legend_ticks(legend: Legend, many: bool) -> list[tuple[float, str]]:
    """(value, text) of a few round values between the ends, or of two where there is little room."""
    from matplotlib.ticker import MaxNLocator

    if not many:
        return [(end, tick_text(end)) for end in (legend.low, legend.high)]
    values = MaxNLocator(4, steps=[1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]).tick_values(legend.low, legend.high)
    slack = 1e-9 * (legend.high - legend.low)
    inside = [float(v) for v in values if legend.low - slack <= v <= legend.high + slack]
    return [(value, tick_text(0.0 if abs(value) < slack else value)) for value in inside]


def tick_text(value: float) -> str:
    """A tick's number as short as it can be; powers of ten as mathematics."""
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return f"{value:.4g}".replace("-", "\N{MINUS SIGN}")
    mantissa, exponent = f"{value:.2e}".split("e")
    return rf"${float(mantissa):g}\times 10^{{{int(exponent)}}}$"

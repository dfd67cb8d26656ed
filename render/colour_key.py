"""The colour bar beside a plane: what a colour means, in words and numbers."""

from typing import Any

import numpy as np

from render import colouring
from render.figure import as_floats, layer_from_figure, new_figure
from render.frame import Layer
from render.palette import INK, MUTED, Color, colormap

TITLES = {
    "escape": "bounded",
    "outcome": "outcome",
    "landing": "steps to land",
    "sharpness": "$a^2 + b^2$",
    "branch": "lands on",
    "phase": "period 2,\nphase",
    "lyapunov": "local\nexponent",
}


def draw_key(mode: str, size: tuple[int, int], unit: float) -> Layer:
    """The key of a colouring in a strip of `size` = (width, height): the inside's colours above, the escape time's below."""
    width, height = size
    figure = new_figure(width, height)
    if mode == "outcome":
        _swatches(figure, "outcome", [("escaped", -1), ("landed", 1), ("bounded", 2), ("undecided", 0)], unit)
        return layer_from_figure(figure)
    if mode in ("branch", "phase"):
        _two(figure, mode, unit)
    elif mode != "escape":
        _inside(figure, mode, unit)
    steps = [0, 2, 5, 10, 30]
    at = [0.03 + 0.97 * step / (step + colouring.ESCAPE_HALF) for step in steps]
    _bar(figure, (0.04, 0.34), "steps to\nescape", colormap("magma"), list(zip(at, map(str, steps), strict=True)), unit)
    return layer_from_figure(figure)


def _inside(figure: Any, mode: str, unit: float) -> None:
    table = colormap(colouring.MAPS[mode])
    if mode == "landing":
        steps = [0, 20, 50, 150]
        ticks = [(1 - step / (step + colouring.LANDING_HALF), str(step)) for step in steps]
    elif mode == "sharpness":
        ticks = [(0.0, "0"), (0.5, "1"), (1.0, "2")]
    else:
        low, high = colouring.LYAPUNOV_RANGE
        ticks = [((v - low) / (high - low), f"{v:g}".replace("-", "\N{MINUS SIGN}")) for v in (-1.0, -0.5, 0.0, 0.5, 1.0)]
    _bar(figure, (0.54, 0.34), TITLES[mode], table, ticks, unit)


def _two(figure: Any, mode: str, unit: float) -> None:
    names = ("$a > 0$", "$a < 0$") if mode == "branch" else ("$e > 0$", "$e < 0$")
    colors = (colouring.POSITIVE, colouring.NEGATIVE)
    _title(figure, 0.95, TITLES[mode], unit)
    y = 0.95 - 0.035 * (TITLES[mode].count("\n") + 1)
    for name, color in zip(names, colors, strict=True):
        _swatch(figure, y, name, color, unit)
        y -= 0.062
    if mode == "branch":
        figure.text(0.08, y, "darker:\nlater", size=2.1 * unit, color=as_floats(MUTED), va="top", linespacing=1.25)


def _swatches(figure: Any, mode: str, entries: list[tuple[str, int]], unit: float) -> None:
    _title(figure, 0.93, TITLES[mode], unit)
    for i, (name, label) in enumerate(entries):
        _swatch(figure, 0.86 - 0.062 * i, name, colouring.OUTCOME_COLORS[label], unit)


def _swatch(figure: Any, y: float, name: str, color: Color, unit: float) -> None:
    width, height = figure.get_size_inches() * figure.dpi
    axes = figure.add_axes((0.08, y - 2.4 * unit / height, 2.4 * unit / width, 2.4 * unit / height))
    axes.set_facecolor(as_floats(color))
    axes.set(xticks=[], yticks=[])
    figure.text(0.08 + 3.2 * unit / width, y - 1.2 * unit / height, name, size=2.2 * unit, color=as_floats(INK), va="center")


def _title(figure: Any, y: float, text: str, unit: float) -> None:
    figure.text(0.08, y, text, size=2.25 * unit, color=as_floats(INK), va="center", linespacing=1.2)


def _bar(figure: Any, span: tuple[float, float], title: str, table: Any, ticks: list[tuple[float, str]], unit: float) -> None:
    """A vertical bar from span[0], span[1] high, its title above and its ticks to the right."""
    width, _ = figure.get_size_inches() * figure.dpi
    bottom, height = span
    bar(figure, (0.08, bottom, 2.4 * unit / width, height), table, ticks, unit)
    _title(figure, bottom + height + 0.045, title, unit)


def bar(figure: Any, rect: tuple[float, float, float, float], table: Any, ticks: list[tuple[float, str]], unit: float) -> None:
    """A vertical bar of a colour map (256, 3) at `rect`, fractions left, bottom, width, height; `ticks`: (0..1, text)."""
    axes = figure.add_axes(rect)
    axes.imshow(np.asarray(table)[:, None, :], aspect="auto", origin="lower", extent=(0, 1, 0, 1), interpolation="bilinear")
    axes.set_xticks([])
    axes.yaxis.tick_right()
    axes.set_yticks([at for at, _ in ticks], [text for _, text in ticks])
    axes.tick_params(colors=as_floats(INK), labelsize=2.1 * unit, length=0.6 * unit, width=max(1, 0.15 * unit), pad=0.5 * unit)
    for spine in axes.spines.values():
        spine.set_visible(False)

"""matplotlib figures as layers: the house style for axes, and the way from a figure to pixels."""

from typing import Any

import numpy as np

from render.frame import Layer
from render.palette import FAINT, INK, MUTED, Color
from render.text import DPI, FAMILY, premultiplied


def new_figure(width: int, height: int) -> Any:
    """An empty, transparent figure of exactly width x height pixels; sizes of type and lines are pixels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI)
    figure.patch.set_alpha(0)
    return figure


def layer_from_figure(figure: Any) -> Layer:
    """What the figure shows, as a premultiplied layer (h, w)."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    with rc_context({"font.family": FAMILY, "mathtext.fontset": "dejavusans", "path.simplify": True}):
        canvas.draw()
    return premultiplied(np.asarray(canvas.buffer_rgba()))


def style_axes(axes: Any, size: float) -> None:
    """Ticks, spines and labels in the house colours; `size` is that of the tick labels in pixels."""
    axes.patch.set_alpha(0)
    axes.tick_params(colors=as_floats(MUTED), labelsize=size, length=0.35 * size, width=max(1.0, size / 14), pad=0.3 * size)
    for spine in axes.spines.values():
        spine.set_color(as_floats(FAINT))
        spine.set_linewidth(max(1.0, size / 14))
    axes.xaxis.label.set_color(as_floats(INK))
    axes.yaxis.label.set_color(as_floats(INK))


def as_floats(color: Color) -> tuple[float, float, float]:
    """matplotlib's form of a colour."""
    return color[0] / 255, color[1] / 255, color[2] / 255

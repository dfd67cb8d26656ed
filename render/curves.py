"""Panels: diagnostics against time, growing while the film runs. Axes are drawn once and kept; the curves are drawn over them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from render.figure import as_floats, layer_from_figure, new_figure, style_axes
from render.frame import Frame, Layer
from render.layout import Layout, Rect
from render.palette import FAINT, INK, PANEL, SERIES
from render.text import solid

History = Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Panel:
    """What one panel shows: its heading, its curves (column of the run table, legend), and its scale."""

    heading: str
    curves: tuple[tuple[str, str], ...]
    log: bool = False
    zero: bool = False  # the axis always holds 0


PANELS = {
    "slope2": Panel(r"slope of the energy  $|\partial E|^2$", (("slope2", ""),), log=True),
    "energy": Panel(r"energy  $E$", (("energy", ""),)),
    "balance": Panel("balances", (("edi_residual", "energy dissipation"), ("power_residual", "power")), zero=True),
    "speed": Panel(r"mean speed  $\overline{|v|}$", (("mean_speed", ""),), zero=True),
    "clusters": Panel("clusters", (("clusters", ""),), zero=True),
}


class Panels:
    """The panels of one picture, named as in a scene's `panels`, at the places of `layout`."""

    def __init__(self, names: list[str], layout: Layout) -> None:
        self._plots = [_Plot(PANELS[name], layout.plot(i), layout.unit) for i, name in enumerate(names)]

    def draw(self, frame: Frame, history: History) -> None:
        """`history`: columns of rows so far, oldest first, `t` among them; NaN where a quantity has no meaning."""
        for plot in self._plots:
            plot.draw(frame, history)


class _Plot:
    """One panel. Limits grow in rounded steps, so the axes are drawn again only now and then."""

    def __init__(self, panel: Panel, rect: Rect, unit: float) -> None:
        self.panel, self.rect, self.size = panel, rect, 2.15 * unit
        self._limits: tuple[float, float, float] | None = None
        self._axes: Layer | None = None
        _, _, width, height = rect
        pad = self.size
        # of the axes within the panel: room for tick labels left and below, for the heading above
        self._inner = (round(4.1 * pad), round(2.0 * pad), width - round(5.2 * pad), height - round(4.0 * pad))
        self._background = solid(width, height - round(0.5 * pad), PANEL, 205)

    def draw(self, frame: Frame, history: History) -> None:
        left, top, _, _ = self.rect
        limits = self._rounded(history)
        if limits != self._limits or self._axes is None:
            self._limits, self._axes = limits, self._draw_axes(limits)
        frame.blend(self._background, left, top)
        frame.blend(self._axes, left, top)
        x, y, width, height = self._inner
        if width > 1 and height > 1:
            frame.blend(self._draw_curves(history, limits, width, height), left + x, top + y)

    def _rounded(self, history: History) -> tuple[float, float, float]:
        """(largest time, low, high): a little more than the data need, so that they change rarely."""
        times = _column(history, "t")
        values = np.concatenate([_column(history, column) for column, _ in self.panel.curves])
        values = values[np.isfinite(values)]
        if self.panel.log:
            values = values[values > 0]
            low, high = (np.log10(values.min()), np.log10(values.max())) if len(values) else (-1.0, 0.0)
            low, high = np.floor(low + 1e-9), np.ceil(high - 1e-9)
            return _step_up(times[-1] if len(times) else 1.0), float(low), float(max(high, low + 1))
        low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
        if self.panel.zero:
            low, high = min(low, 0.0), max(high, 0.0)
        step = _step_up(max((high - low) / 4, 1e-12, 1e-9 * max(abs(low), abs(high))))
        return (
            _step_up(times[-1] if len(times) else 1.0),
            float(np.floor(low / step) * step),
            float(np.floor(high / step + 1) * step),
        )

    def _transform(self, axes: Any, limits: tuple[float, float, float]) -> None:
        end, low, high = limits
        axes.set_xlim(0, end)
        if self.panel.log:
            axes.set_yscale("log")
            axes.set_ylim(10**low, 10**high)
        else:
            axes.set_ylim(low, high)

    def _draw_axes(self, limits: tuple[float, float, float]) -> Layer:
        from matplotlib.ticker import LogLocator, MaxNLocator

        _, _, width, height = self.rect
        x, y, w, h = self._inner
        figure = new_figure(width, height)
        axes = figure.add_axes((x / width, 1 - (y + h) / height, w / width, h / height))
        self._transform(axes, limits)
        style_axes(axes, self.size * 0.88)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(visible=True, color=as_floats(FAINT), alpha=0.45, linewidth=1)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.yaxis.set_major_locator(LogLocator(numticks=5) if self.panel.log else MaxNLocator(3))
        axes.yaxis.minorticks_off()
        if not self.panel.log:
            axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 4), useMathText=True)
            axes.yaxis.get_offset_text().set(size=self.size * 0.8, color=as_floats(INK))
        axes.text(1.015, 0.0, "$t$", size=self.size, color=as_floats(INK), ha="left", va="center", transform=axes.transAxes)
        figure.text(
            0.5 * self.size / width,
            1 - 0.3 * self.size / height,
            self.panel.heading,
            size=self.size,
            color=as_floats(INK),
            va="top",
        )
        if len(self.panel.curves) > 1:
            handles = [
                axes.plot([], [], color=as_floats(SERIES[i]), lw=0.18 * self.size)[0] for i in range(len(self.panel.curves))
            ]
            names = [name for _, name in self.panel.curves]
            right = 1 - 0.3 * self.size / width
            figure.legend(
                handles, names, loc="upper right", bbox_to_anchor=(right, 1.02), ncols=2, frameon=False,
                fontsize=self.size * 0.85, labelcolor=as_floats(INK), handlelength=1.2, columnspacing=1.0,
            )  # fmt: skip
        return layer_from_figure(figure)

    def _draw_curves(self, history: History, limits: tuple[float, float, float], width: int, height: int) -> Layer:
        figure = new_figure(width, height)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.axis("off")
        self._transform(axes, limits)
        times = _column(history, "t")
        for i, (column, _) in enumerate(self.panel.curves):
            values = _column(history, column)
            color = as_floats(SERIES[i])
            axes.plot(times, values, color=color, lw=0.16 * self.size, solid_capstyle="round")
            if len(values) and np.isfinite(values[-1]):
                axes.plot(times[-1:], values[-1:], "o", color=color, ms=0.4 * self.size)
        return layer_from_figure(figure)


def _column(history: History, name: str) -> NDArray[np.float64]:
    """A column of the history, NaN where it is not kept."""
    return history[name] if name in history else np.full(len(history.get("t", ())), np.nan)


def _step_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, ... that is not below `value`."""
    if not value > 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(power * step for step in (1, 2, 5, 10, 20) if power * step >= value * (1 - 1e-9)))

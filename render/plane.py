"""The view of a plane of orbits: coloured grid, exact curves over it, axes around it, a bar that says what colour means."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from render import colouring
from render.camera import PlaneCamera
from render.colour_key import draw_key
from render.figure import as_floats, layer_from_figure, new_figure, style_axes
from render.frame import Frame, Layer
from render.palette import BACKGROUND, INK, Color, rgb
from scenes.views import PlaneView as PlaneSpec
from sim.two_factor import theory

CURVES: dict[str, tuple[str, Color]] = {
    "ellipse": ("invariant ellipse", rgb("#ffffff")),
    "zero_error": (r"$ab = \mu$, attracting where bold", rgb("#7dffb2")),
    "balanced": (r"balanced line $a = b$", rgb("#ff8ad8")),
    "antibalanced": (r"antibalanced line $a = -b$", rgb("#ffd166")),
}
"""Legend and colour of every curve that a scene can ask for."""


@dataclass(frozen=True)
class Area:
    """The part of the picture that shows the plane, in pixels."""

    corner: tuple[int, int]
    size: tuple[int, int]


class PlaneView:
    """Draws a `Plane` into frames of `size`. `inset`: fractions left, top, right, bottom that stay free for type."""

    def __init__(self, spec: PlaneSpec, size: tuple[int, int]) -> None:
        self.spec = spec
        self.size = size
        self.inset = (0.0, 0.0, 0.0, 0.0)
        self._axes: tuple[Any, Layer] | None = None
        self._curves: tuple[Any, Layer] | None = None
        self._key: tuple[Any, Layer] | None = None

    @property
    def unit(self) -> float:
        """Type sizes are multiples of this: a hundredth of the height, or of what the width allows."""
        return min(self.size[1], self.size[0] / 1.2) / 100

    @property
    def area(self) -> Area:
        """Where the plane is, within the axes."""
        width, height = self.size
        left, top, right, bottom = self.inset
        u = self.unit
        labels = (9.0 * u, 8.2 * u) if self.spec.axes else (0.0, 0.0)
        key = 11.5 * u if self.spec.colorbar else 0.0
        around = 2.6 * u if self.spec.axes or self.spec.colorbar else 0.0
        x, y = round(left * width + labels[0]), round(top * height + around)
        return Area(
            (x, y),
            (max(8, round((1 - right) * width - key - around) - x), max(8, round((1 - bottom) * height - labels[1]) - y)),
        )

    def camera(self, system: Any) -> PlaneCamera:
        """The window that is shown, on the pixels of `area`."""
        return PlaneCamera(system.center, system.width, self.area.size)

    def set_parameters(self, values: Mapping[str, float]) -> None:
        """A plane's window belongs to its system: the view has nothing that moves."""

    def draw(self, frame: Frame, system: Any, time: float, film_time: float = 0.0) -> None:  # noqa: ARG002
        """Paint the whole frame. The system's grid is made to fit the picture, `supersample` points a pixel each way."""
        area, s = self.area, self.spec.supersample
        system.set_size((area.size[0] * s, area.size[1] * s))
        frame.fill(BACKGROUND)
        colouring.paint(system, self.spec.color, s, frame.pixels, area.corner)
        frame.blend(self._curve_layer(system), *area.corner)
        if self.spec.axes:
            frame.blend(self._axes_layer(system))
        if self.spec.colorbar:
            frame.blend(self._key_layer(system), area.corner[0] + area.size[0] + round(1.2 * self.unit), area.corner[1])

    def release(self) -> None:
        """Forget the layers that were kept."""
        self._axes = self._curves = self._key = None

    def _axes_layer(self, system: Any) -> Layer:
        camera = self.camera(system)
        key = (camera, system.axes)
        if self._axes is None or self._axes[0] != key:
            self._axes = (key, self._draw_axes(camera, system.axes))
        return self._axes[1]

    def _draw_axes(self, camera: PlaneCamera, names: tuple[str, str]) -> Layer:
        from matplotlib.ticker import MaxNLocator

        (x, y), (w, h), (width, height) = self.area.corner, self.area.size, self.size
        figure = new_figure(width, height)
        axes = figure.add_axes((x / width, 1 - (y + h) / height, w / width, h / height))
        low_a, high_a, low_b, high_b = camera.extent
        # matplotlib refuses limits that are equal in float64, which is also where the picture has ended
        axes.set_xlim(low_a, high_a)
        axes.set_ylim(low_b, high_b)
        style_axes(axes, 2.5 * self.unit)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
            axis.get_offset_text().set(size=2.2 * self.unit, color=as_floats(INK))
        axes.set_xlabel(f"${names[0]}$", size=3.2 * self.unit, labelpad=0.3 * self.unit)
        axes.set_ylabel(f"${names[1]}$", size=3.2 * self.unit, labelpad=0.3 * self.unit, rotation=0, va="center")
        return layer_from_figure(figure)

    def _curve_layer(self, system: Any) -> Layer:
        camera = self.camera(system)
        key = (camera, system.mu)
        if self._curves is None or self._curves[0] != key:
            self._curves = (key, self._draw_curves(camera, system.mu))
        return self._curves[1]

    def _draw_curves(self, camera: PlaneCamera, mu: float) -> Layer:
        """The exact curves and their legend. A dark casing keeps them visible on any colour."""
        figure = new_figure(*camera.size)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.axis("off")
        low_a, high_a, low_b, high_b = camera.extent
        axes.set_xlim(low_a, high_a)
        axes.set_ylim(low_b, high_b)
        shown: list[tuple[str, Color]] = []
        for name in self.spec.curves:
            legend, color = CURVES[name]
            drawn = False
            for points, share in curve(name, mu, camera):
                width = share * 0.42 * self.unit
                axes.plot(points[:, 0], points[:, 1], color=(0.02, 0.03, 0.05), alpha=0.65, lw=width + 0.3 * self.unit)
                axes.plot(points[:, 0], points[:, 1], color=as_floats(color), alpha=0.95, lw=width)
                drawn = True
            if drawn:
                shown.append((legend, color))
        if shown:
            self._legend(figure, axes, shown)
        return layer_from_figure(figure)

    def _legend(self, figure: Any, axes: Any, shown: list[tuple[str, Color]]) -> None:
        handles = [axes.plot([], [], color=as_floats(color), lw=0.5 * self.unit)[0] for _, color in shown]
        legend = figure.legend(
            handles, [name for name, _ in shown], loc="lower right", bbox_to_anchor=(0.995, 0.01), fontsize=2.35 * self.unit,
            labelcolor=as_floats(INK), facecolor=as_floats(BACKGROUND), edgecolor="none", framealpha=0.72, handlelength=1.6,
        )  # fmt: skip
        legend.get_frame().set_boxstyle("round", pad=0.2)

    def _key_layer(self, system: Any) -> Layer:
        mode = colouring.question(system.mu) if self.spec.color == "auto" else self.spec.color
        key = (mode, self.area)
        if self._key is None or self._key[0] != key:
            self._key = (key, draw_key(mode, (round(11.5 * self.unit), self.area.size[1]), self.unit))
        return self._key[1]


def curve(name: str, mu: float, camera: PlaneCamera) -> list[tuple[NDArray[np.float64], float]]:
    """Polylines (n, 2) of a curve within sight, each with its share of the full line width; none where it does not exist."""
    low_a, high_a, low_b, high_b = camera.extent
    reach = 1.05 * max(abs(low_a), abs(high_a), abs(low_b), abs(high_b))
    if name == "ellipse":
        return [(theory.ellipse_curve(mu, 1441), 1.0)] if abs(mu) < 2 else []
    if name == "zero_error":
        return _hyperbola(mu, reach)
    slope = 1.0 if name == "balanced" else -1.0
    if slope * mu < 0 and name == "balanced":
        return [(np.array([[-reach, -reach], [reach, reach]]), 0.6)]
    return [(np.array([[-reach, -slope * reach], [reach, slope * reach]]), 0.6)]


def _hyperbola(mu: float, reach: float) -> list[tuple[NDArray[np.float64], float]]:
    """Both branches of ab = mu, thin, and over them, bold, where a^2 + b^2 < 2: the part that attracts."""
    if mu == 0:
        return [(np.array([[-reach, 0.0], [reach, 0.0]]), 0.7), (np.array([[0.0, -reach], [0.0, reach]]), 0.7)]
    size, sign = abs(mu), np.sign(mu)
    most = max(np.log(reach / np.sqrt(size)), 0.1)
    bold = 0.5 * np.arccosh(1 / size) if size < 1 else 0.0
    parts = []
    for end, share in ((most, 0.6), (bold, 1.5)):
        if end > 0:
            u = np.linspace(-end, end, 801)
            for branch in (1.0, -1.0):
                parts.append((np.stack([branch * np.exp(u), sign * branch * np.exp(-u)], axis=1) * np.sqrt(size), share))
    return parts

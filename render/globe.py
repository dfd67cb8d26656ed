"""Tokens as shaded balls on a translucent globe."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import taichi as ti
import taichi.math as tm
from numpy.typing import NDArray

from render import palette
from render.camera import GlobeFit, Inset, OrbitCamera
from render.frame import Frame
from render.legend import Legend
from render.raster import Raster
from render.scenery import Scenery, Transfer
from scenes import views

SPEED_MAP = "speed"
SMALLEST = 0.45  # pixels of radius: a smaller ball would slip between the samples


class GlobeView:
    """The picture of an attention system: a pure function of its state, this view's parameters, and the time of the film.

    `camera` may be exchanged for another view's (linked panes). `inset` keeps parts of the picture free of the globe: fractions
    at the left, top, right, bottom.
    """

    def __init__(self, spec: views.GlobeView, size: tuple[int, int]) -> None:
        self.spec = spec
        self.size = size
        self.camera = OrbitCamera(spec.camera.azimuth, spec.camera.elevation, spec.camera.zoom, spec.camera.spin)
        self.inset: Inset = (0.0, 0.0, 0.0, 0.0)
        transfer = Transfer()
        self._scenery = Scenery(size, transfer)
        self._raster = Raster(size, transfer)
        self._paint = Paint(spec)

    def fit(self) -> GlobeFit:
        """Where the globe lies on the picture."""
        return GlobeFit.of(self.size, self.camera.zoom, self.inset)

    def draw(self, frame: Frame, system: Any, time: float, film_time: float = 0.0) -> None:
        """Paint the whole frame with the cloud at system time `time`; `film_time` (seconds) is what the camera's spin follows."""
        if frame.size != self.size:
            raise ValueError(f"this view draws {self.size} pixels, the frame has {frame.size}")
        fit, basis = self.fit(), self.camera.basis(film_time)
        self._scenery.update(fit, basis, globe=self.spec.globe, graticule=self.spec.graticule)
        np.copyto(frame.pixels, self._scenery.picture)
        tokens = system.shown(time)
        radius = max(token_radius(self.spec.token_radius, system.count), SMALLEST / fit.radius)
        self._raster.draw(frame.pixels, tokens, self._paint.of(system), fit, basis, radius, self._scenery)

    def legend(self, system: Any) -> Legend | None:
        """What the colours mean where a colour bar can say it (`color: speed`), else None."""
        if self.spec.color != "speed":
            return None
        return Legend("speed $|v|$", SPEED_MAP, 0.0, self._paint.fastest(system))

    def set_parameters(self, values: Mapping[str, float]) -> None:
        """Live parameters: `camera.azimuth`, `camera.elevation`, `camera.zoom`, `camera.spin`. KeyError for any other."""
        for path, value in values.items():
            if not path.startswith("camera."):
                raise KeyError(f"a globe view has no live parameter {path!r}")
            self.camera.set_parameters({path.removeprefix("camera."): value})

    def release(self) -> None:
        """Free device memory."""
        self._scenery.release()
        self._raster.release()
        self._paint.release()


def token_radius(radius: float | str, count: int) -> float:
    """A ball's radius in sphere radii; "auto" keeps the discs at about a fifth of the sphere's area, and few balls small."""
    return min(2 * np.sqrt(0.2 / max(count, 1)), 0.045) if radius == "auto" else float(radius)


class Paint:
    """Which colour each token has. Host work happens only when a new state asks for it."""

    def __init__(self, spec: views.GlobeView) -> None:
        self.mode = spec.color
        self.speed_max = spec.speed_max
        self.ramp = ti.ndarray(tm.vec3, 256)
        self.ramp.from_numpy(palette.linear_colormap(SPEED_MAP))
        self._words = ti.ndarray(ti.u32, 1)
        self._no_values = ti.ndarray(ti.f32, 1)
        self._seen: Any = None
        self._fastest = 1.0

    def of(self, system: Any) -> tuple[Any, Any, Any, float]:
        """(colors, values, ramp, scale) as `Raster.draw` takes them."""
        if self.mode == "speed":
            return self._words, system.speeds(), self.ramp, 1 / self.fastest(system)
        key = (id(system), system.count, system.step_index if self.mode == "cluster" else 0)
        if key != self._seen:
            colors = palette.cluster_colors(system.cluster_labels()) if self.mode == "cluster" else self._start(system)
            if self._words.shape[0] != system.count:
                self._words = ti.ndarray(ti.u32, system.count)
            self._words.from_numpy(palette.pack_many(colors))
            self._seen = key
        return self._words, self._no_values, self.ramp, 0.0

    def fastest(self, system: Any) -> float:
        """The speed at the upper end of the scale: the scene's, or a round one at or above nearly all speeds of this state."""
        if self.speed_max != "auto":
            return float(self.speed_max)
        key = (id(system), system.step_index)
        if key != self._seen:
            self._fastest = rounded_up(robust_max(system.speeds().to_numpy()))
            self._seen = key
        return self._fastest

    @staticmethod
    def _start(system: Any) -> NDArray[np.uint8]:
        return palette.direction_colors(system.start)

    def release(self) -> None:
        self.ramp = self._words = self._no_values = None


def robust_max(speeds: NDArray[np.float32]) -> float:
    """The 99th percentile of at most about 10 000 of the speeds, evenly picked; 0 where none is finite."""
    picked = speeds[:: max(1, speeds.size // 10_000)]
    picked = picked[np.isfinite(picked)]
    return float(np.percentile(picked, 99)) if picked.size else 0.0


def rounded_up(value: float) -> float:
    """The smallest number of the series 1, 1.5, 2, 3, 4, 6, 8, 10, 15, ... times any power of ten that is >= value.

    The scale stands still while speeds wander, with no memory of earlier frames. 1 where value is not a positive number.
    """
    if not (np.isfinite(value) and value > 0):
        return 1.0
    power = int(np.floor(np.log10(value)))
    tops = (float(f"{digits}e{power}") for digits in (1, 1.5, 2, 3, 4, 6, 8, 10, 15))  # decimals, so that 0.3 is 0.3
    return next(top for top in tops if top >= value * (1 - 1e-12))

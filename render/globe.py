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
from render.marks import THICKNESS, Marks, heads_legend
from render.painted import Painted
from render.raster import Raster
from render.scale import robust_max, rounded_up
from render.scenery import Scenery, Transfer
from render.trails import Trails
from scenes import views
from sim.attention.surface import Surface

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
        self._field = Painted(spec) if spec.field != "none" else None
        self._marks = Marks(spec) if spec.glyphs or spec.arrows != "none" else None
        self._trails = Trails(size, transfer) if spec.trails > 0 else None

    def fit(self) -> GlobeFit:
        """Where the globe lies on the picture."""
        return GlobeFit.of(self.size, self.camera.zoom, self.inset)

    def draw(self, frame: Frame, system: Any, time: float, film_time: float = 0.0) -> None:
        """Paint the whole frame with the cloud at system time `time`; `film_time` (seconds) is what the camera's spin follows."""
        if frame.size != self.size:
            raise ValueError(f"this view draws {self.size} pixels, the frame has {frame.size}")
        fit, basis = self.fit(), self.camera.basis(film_time)
        coat = self._field.coat(system) if self._field else None
        self._scenery.update(fit, basis, globe=self.spec.globe, graticule=self.spec.graticule, coat=coat)
        np.copyto(frame.pixels, self._scenery.picture)
        tokens = system.shown(time)
        radius = max(token_radius(self.spec.token_radius, system.count), SMALLEST / fit.radius)
        paint, veil = self._paint.of(system), self._scenery.veil
        if self._trails and system.wake is not None:
            self._trails.draw(frame.pixels, system.wake, tokens, time, paint, fit, basis, self._scenery)
            veil = self._trails.veil
        self._mark(frame, system, fit, basis, veil, front=False)
        self._raster.draw(frame.pixels, tokens, paint, fit, basis, radius, veil)
        self._mark(frame, system, fit, basis, veil, front=True)

    def _mark(self, frame: Frame, system: Any, fit: GlobeFit, basis: NDArray[np.float64], veil: Any, *, front: bool) -> None:
        """Draw the marks of one half of the globe: the tokens come between."""
        if self._marks:
            self._marks.update(system)
            points, colors = self._marks.side(basis[2], front)
            paint = (colors, *self._paint.of(system)[1:3], 0.0)
            self._raster.draw(frame.pixels, points, paint, fit, basis, max(THICKNESS, 1.2 / fit.radius), veil)

    def legend(self, system: Any) -> Legend | None:
        """What the tokens' colours mean where a legend can say it (`color: speed` and `affinity`), else None."""
        if self.spec.color == "affinity":
            return heads_legend("pulled by", range(system.heads))
        if self.spec.color != "speed":
            return None
        return Legend("speed $|v|$", SPEED_MAP, 0.0, self._paint.fastest(system))

    def legends(self, system: Any) -> list[Legend]:
        """The legends of the picture: of the painted field, of the tokens, of the marks."""
        bars = [part.legend(system) for part in (self._field, self) if part]
        if self._marks and self.spec.color != "affinity":
            bars.append(self._marks.legend(system))
        return list(dict.fromkeys(bar for bar in bars if bar is not None))

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
        for part in (self._field, self._marks, self._trails):
            if part:
                part.release()


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
        self._surface: Surface | None = None

    def of(self, system: Any) -> tuple[Any, Any, Any, float]:
        """(colors, values, ramp, scale) as `Raster.draw` takes them."""
        if self.mode == "speed":
            return self._words, system.speeds(), self.ramp, 1 / self.fastest(system)
        key = (id(system), system.count, system.step_index if self.mode in ("cluster", "affinity") else 0)
        if key != self._seen:
            colors = self._colors(system)
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

    def _colors(self, system: Any) -> NDArray[np.uint8]:
        """(N, 3) sRGB bytes of the modes that do not come from a colour map."""
        if self.mode == "cluster":
            return palette.cluster_colors(system.cluster_labels())
        if self.mode == "affinity":
            if self._surface is None or self._surface.flow is not system:
                self._surface = Surface(system)
            return palette.head_colors(system.heads)[self._surface.strongest_head()]
        if self.mode == "plain":
            return np.tile(np.array(palette.PLAIN, np.uint8), (system.count, 1))
        return palette.direction_colors(system.start)

    def release(self) -> None:
        self.ramp = self._words = self._no_values = self._surface = None

"""A field of an attention flow painted on the globe: computed once a state, coloured on a scale that stands still."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import taichi as ti
import taichi.math as tm
from numpy.typing import NDArray

from render import cube, palette
from render.legend import Legend
from render.scale import rounded_outwards, rounded_up
from scenes import views
from sim.attention.surface import BUDGET, LEAST, Surface

COARSEST, FINEST = 8, 32  # cells along a face's side
LOG_FROM = 100.0  # a field whose largest value is this many times its smallest has a logarithmic scale
MAPS = {"density": "inferno", "b": "viridis", "potential": "cividis", "speed": "speed"}
LABELS = {"density": "density", "b": "weight $b$", "potential": "potential $U$", "speed": "speed $|v|$"}


@dataclass(frozen=True)
class Coat:
    """What the scenery paints: texture (6, n, n) of f32, colours (256,) of vec3 in linear light, the value's ends; `version`
    changes with the texture."""

    texture: Any
    ramp: Any
    low: float
    high: float
    version: int


class Painted:
    """The field that `spec.field` names, of whichever system is drawn."""

    def __init__(self, spec: views.GlobeView) -> None:
        self.name = spec.field
        self._kappa, self._speed_max = spec.concentration, spec.speed_max
        self._texture = ti.ndarray(ti.f32, (6, cube.TEXELS + 1, cube.TEXELS + 1))
        self._ramp = ti.ndarray(tm.vec3, 256)
        self._ramp.from_numpy(palette.linear_colormap(MAPS[self.name]))
        self._surface: Surface | None = None
        self._seen: Any = None
        self._scale = (0.0, 1.0, False)  # low, high, logarithmic
        self._version = 0

    def coat(self, system: Any) -> Coat:
        """The field of the system's newest state."""
        self._update(system)
        low, high, _ = self._scale
        return Coat(self._texture, self._ramp, low, high, self._version)

    def legend(self, system: Any) -> Legend:
        """Its colour bar."""
        self._update(system)
        low, high, log = self._scale
        note = rf"$\kappa = {self.kappa(system.count):g}$" if self.name == "density" else ""
        return Legend(LABELS[self.name], MAPS[self.name], low, high, log=log, note=note)

    def kappa(self, count: int) -> float:
        """Concentration of the density's kernel: the scene's, or one that takes about 40 tokens of a uniform cloud together."""
        return concentration(count) if self._kappa == "auto" else float(self._kappa)

    def release(self) -> None:
        """Free device memory."""
        self._texture = self._ramp = self._surface = None

    def _update(self, system: Any) -> None:
        key = (id(system), system.step_index, system.theta().tobytes())
        if key == self._seen:
            return
        if self._surface is None or self._surface.flow is not system:
            self._cells = cells(system.count, 1 if self.name == "density" else system.heads)
            self._surface = Surface(system, cube.nodes(self._cells))
        values, self._scale = self._values(self._surface, system)
        self._texture.from_numpy(np.ascontiguousarray(cube.refined(values, self._cells), np.float32))
        self._version += 1
        self._seen = key

    def _values(self, surface: Surface, system: Any) -> tuple[NDArray[np.float64], tuple[float, float, bool]]:
        if self.name == "speed":
            speed = np.nan_to_num(surface.speed(), posinf=0.0)
            return speed, (0.0, rounded_up(speed.max()) if self._speed_max == "auto" else float(self._speed_max), False)
        if self.name == "density":
            density = np.exp(surface.log_density(self.kappa(system.count)))
            return density, (0.0, rounded_up(density.max()), False)
        log: Callable[[], NDArray[np.float64]] = surface.log_b if self.name == "b" else surface.log_potential
        return scaled(log())


def scaled(logarithm: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[float, float, bool]]:
    """A positive field by its natural logarithm -> (values to paint, scale); log10 where it spans orders of magnitude."""
    if np.ptp(logarithm) < np.log(LOG_FROM) and np.abs(logarithm).max() < np.log(1e4):
        values = np.exp(logarithm)
        return values, (*rounded_outwards(float(values.min()), float(values.max())), False)
    values = logarithm / np.log(10)
    low, high = float(np.floor(values.min() + 1e-6)), float(np.ceil(values.max() - 1e-6))
    return values, (low, max(high, low + 1), True)


def concentration(count: int) -> float:
    """A round kappa so that kernels of 1/sqrt(kappa) radians hold some 40 of `count` evenly spread tokens, within 12..200."""
    wanted = min(max(count / 80, 12.0), 200.0)
    return float(max(k for k in (12, 16, 20, 30, 40, 60, 80, 100, 150, 200) if k <= wanted))


def cells(count: int, heads: int) -> int:
    """Cells along a face's side: as many as the budget allows with all tokens or a sample of LEAST."""
    side = int(np.sqrt(BUDGET / (6 * max(min(count, 4096), LEAST) * heads))) - 3
    return min(max(side, COARSEST), FINEST)

"""Dense grids of orbits of Phi_mu over a window of the (a, b) plane: one outcome and a few numbers per grid point.

Geometry: arrays are [row, column], row 0 is the top (largest y). Grid point (row, column) of a W x H grid stands at

    x = cx + ((column + 1/2)/W - 1/2) width,     y = cy + (1/2 - (row + 1/2)/H) width H/W

so pixels are squares of side width/W and circles stay round. Nothing is computed before it is asked for: orbits are swept
when a channel or an outcome is wanted and a parameter has changed since, and each channel is one pass over what was kept.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import taichi as ti

from sim import runtime
from sim.system import Row
from sim.two_factor import channels, orbits, theory
from sim.two_factor.channels import BOUNDED, ESCAPED, LANDED, PERIOD2, UNDECIDED

__all__ = ["BOUNDED", "CHANNELS", "ESCAPED", "LABELS", "LANDED", "PERIOD2", "UNDECIDED", "Plane"]

LABELS = {
    ESCAPED: "escaped: a^2 + b^2 passed R^2",
    UNDECIDED: "undecided: neither escaped nor come to rest on what attracts at this mu",
    LANDED: "landed: on the attracting part of the zero-error curve",
    BOUNDED: "bounded: still in the disc of bounded orbits, where mu allows no simpler attractor (sqrt5 - 1 <= |mu| < 2)",
    PERIOD2: "period 2: on the attracting orbit of period 2",
}
"""The closed set of outcomes."""

CHANNELS = ("escape", "landing", "sharpness", "branch", "phase", "lyapunov")
ESCAPE_RADIUS = 1e4
LANDING_TOLERANCE = 1e-4  # |e| below which an orbit on the attracting part counts as landed: 1000 times the noise of f32
RETURN_TOLERANCE = 1e-3  # distance after two steps below which an orbit counts as periodic
LYAPUNOV_STEPS = 20  # the default horizon of the local exponent: longer ones have structure finer than a pixel
MAX_MU = 1e6  # beyond it the Cantor set on the balanced line nears the escape radius
F32_PIXEL = 32  # f32 is used while a pixel is at least so many roundings of the largest coordinate wide
SLICE_STEPS = 1.5e8  # point-steps per launch: well below 0.3 s, so that Ctrl-C is heard
PAD = 16  # grids are held with sides rounded up to multiples of it: whole tiles, whole groups
MAX_COORDINATE = 1e15  # its square is finite in f32
MAX_POINTS = 2**28


class Plane:
    """Orbits of Phi_mu from every point of a window of the plane. A `System` whose step moves the film's clock alone.

    mu: any real number with |mu| <= 1e6. axes: ("a", "b"), or ("b", "a"), which by symmetry is the same picture. center,
    width: the window, in units of a and b. size: (W, H) grid points. iterations: steps per orbit at most. precision: "f32",
    "f64", or "auto": f32 while a pixel is wide enough for it. dt: one film frame. lyapunov_steps: horizon of the local
    exponent. Raises ValueError, naming the value, for what is out of range.
    """

    kind = "two_factor_plane"

    def __init__(
        self,
        *,
        mu: float,
        axes: tuple[str, str] = ("a", "b"),
        center: tuple[float, float] = (0.0, 0.0),
        width: float = 5.2,
        size: tuple[int, int],
        iterations: int,
        precision: str = "auto",
        dt: float = 1 / 30,
        lyapunov_steps: int = LYAPUNOV_STEPS,
    ) -> None:
        if tuple(axes) not in (("a", "b"), ("b", "a")):
            raise ValueError(f"axes must be (a, b) or (b, a), not {axes!r}")
        if precision not in ("auto", "f32", "f64"):
            raise ValueError(f"precision must be auto, f32 or f64, not {precision!r}")
        if not dt > 0:
            raise ValueError(f"dt must be positive, not {dt!r}")
        self.axes, self.precision, self.dt = (str(axes[0]), str(axes[1])), precision, float(dt)
        self.step_index = 0
        self._state: dict[str, Any] = {}  # padded arrays of what was kept of the orbits
        self._out: dict[str, Any] = {}  # arrays handed out, by channel
        self._fresh: set[str] = set()  # names of both that belong to the present parameters
        self._first = _checked(
            {
                "mu": mu,
                "iterations": iterations,
                "lyapunov_steps": lyapunov_steps,
                "window.width": width,
                "window.center.0": center[0],
                "window.center.1": center[1],
            }
        )
        self._values = self._first
        self.size = _checked_size(size)

    # --- the system's protocol ---

    @property
    def time(self) -> float:
        """Film time in seconds."""
        return self.step_index * self.dt

    def step(self) -> None:
        """One film frame later. Orbits depend on the parameters alone."""
        self.step_index += 1

    def reset(self) -> None:
        """Back to t = 0 and to the parameters of the beginning (the grid's size stays)."""
        self.step_index = 0
        self.set_parameters(self._first)

    def set_parameters(self, values: Mapping[str, float]) -> None:
        """`mu`, `iterations`, `lyapunov_steps`, `window.width`, `window.center.0`, `window.center.1`; nothing recompiles."""
        unknown = [name for name in values if name not in self._first]
        if unknown:
            raise ValueError(f"a plane has no parameter {unknown[0]!r}; it has {', '.join(self._first)}")
        new = _checked(self._values | dict(values))
        if new != self._values:
            self._values = new
            self._fresh.clear()

    def diagnostics(self) -> Row:
        """The row of the `run` table: what the grid says beside what the ellipse says."""
        bounded = self.outcome().to_numpy() != ESCAPED
        count = int(np.count_nonzero(bounded))
        exact = abs(self.mu) < 2
        return {
            "t": self.time,
            "mu": self.mu,
            "bounded_fraction": count / bounded.size,
            "bounded_area": count * self.pixel**2,
            "ellipse_area": theory.ellipse_area(self.mu) if exact else None,
            "misclassified": self.misclassified(bounded) if exact else None,
        }

    def release(self) -> None:
        """Free the grids. They come back when next asked for."""
        self._state.clear()
        self._out.clear()
        self._fresh.clear()

    # --- parameters and window ---

    @property
    def mu(self) -> float:
        """The map's parameter."""
        return self._values["mu"]

    @property
    def iterations(self) -> int:
        """Steps per orbit at most."""
        return int(self._values["iterations"])

    @property
    def lyapunov_steps(self) -> int:
        """Horizon of the local Lyapunov exponent, in steps."""
        return int(self._values["lyapunov_steps"])

    @property
    def width(self) -> float:
        """Width of the window, in units of the plane; its height is width H/W."""
        return self._values["window.width"]

    @property
    def center(self) -> tuple[float, float]:
        """(x, y) of the window's centre."""
        return self._values["window.center.0"], self._values["window.center.1"]

    @property
    def pixel(self) -> float:
        """Side of a grid square, in units of the plane."""
        return self.width / self.size[0]

    @property
    def reach(self) -> float:
        """The largest |coordinate| in the window, which rounding is relative to."""
        tall = self.pixel * self.size[1]
        return max(abs(self.center[0]) + self.width / 2, abs(self.center[1]) + tall / 2)

    @property
    def working_precision(self) -> str:
        """f32 or f64: what the next sweep computes in. Backends without f64 stay at f32 whatever was asked."""
        if not runtime.machine().f64 or self.precision == "f32":
            return "f32"
        wide = self.pixel >= F32_PIXEL * _rounding("f32") * self.reach
        return "f32" if self.precision == "auto" and wide else "f64"

    @property
    def resolved(self) -> bool:
        """Can the working precision tell neighbouring grid points apart, with a few roundings to spare?"""
        return self.pixel >= 4 * _rounding(self.working_precision) * self.reach

    def set_window(self, center: tuple[float, float], width: float) -> None:
        """Look elsewhere: centre and width, in units of the plane."""
        self.set_parameters({"window.center.0": center[0], "window.center.1": center[1], "window.width": width})

    def set_size(self, size: tuple[int, int]) -> None:
        """(W, H) grid points from now on."""
        if _checked_size(size) != self.size:
            self.size = _checked_size(size)
            self.release()

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """x of every column (W,) and y of every row (H,), float64."""
        width, height = self.size
        x = self.center[0] + self.pixel / 2 * (2 * np.arange(width) + 1 - width)
        y = self.center[1] + self.pixel / 2 * (height - 1 - 2 * np.arange(height))
        return x, y

    # --- what is computed ---

    def outcome(self) -> ti.Ndarray:
        """(H, W) i32 of `LABELS`. Valid until the next change of a parameter."""
        out = self._grid("outcome", ti.i32)
        if "outcome" not in self._fresh:
            size = abs(self.mu)
            cycles = 1 < size < theory.MU_PERIOD2
            disc2 = 8.0 if theory.MU_PERIOD2 <= size < 2 else 0.0
            state = self._orbits()
            code = self._settled() if cycles else state["steps"]
            limits = (self.mu, ESCAPE_RADIUS**2, LANDING_TOLERANCE, disc2, int(cycles))
            self._passes.outcome(state["a"], state["b"], code, *limits, out)
            self._fresh.add("outcome")
        return out

    def channel(self, name: str) -> ti.Ndarray:
        """(H, W) f32, valid until the next change of a parameter. Names and meanings:

        escape      smooth cubic escape count (`theory.escape_count` in the limit of late n); NaN where not escaped
        landing     steps until |e| < LANDING_TOLERANCE on the attracting curve, smooth; NaN where not landed
        sharpness   a^2 + b^2 of the last state; NaN where escaped
        branch      +1 or -1: sign of a + sgn(mu) b where it has stopped changing, else 0 (escaped ones too)
        phase       +1 or -1: sign of e (-e for mu < 0) at even times where it has stopped changing, else 0; 0 if |mu| <= 1
        lyapunov    mean of log|J v| over `lyapunov_steps` steps from the grid point, v along the balanced line at first;
                    NaN where escaped
        """
        if name not in CHANNELS:
            raise ValueError(f"no channel {name!r}; there are {', '.join(CHANNELS)}")
        out = self._grid(name, ti.f32)
        if name not in self._fresh:
            label, state = self.outcome(), self._orbits()
            out.fill(float("nan"))
            passes, limits = self._passes, (self.mu, ESCAPE_RADIUS**2)
            if name == "escape":
                passes.escape(state["a"], state["b"], state["steps"], label, *limits, out)
            elif name == "landing":
                passes.landing(state["a"], state["b"], state["before"], state["steps"], label, self.mu, LANDING_TOLERANCE, out)
            elif name == "sharpness":
                passes.sharpness(state["a"], state["b"], label, out)
            elif name == "branch":
                passes.decode(self._settled(), label, 3, 1, 1, out)
            elif name == "phase":
                passes.decode(self._settled(), label, 1, 0, int(abs(self.mu) > 1), out)
            else:
                passes.keep(self._growth(), label, out)
            self._fresh.add(name)
        return out

    def misclassified(self, bounded: np.ndarray) -> int:
        """Points of the (H, W) mask further than one pixel from the exact ellipse, on its wrong side. |mu| < 2."""
        x, y = self.points()
        a, b = np.broadcast_arrays(x[None, :], y[:, None])
        wrong = bounded != theory.inside_ellipse(a, b, self.mu)
        return int(np.count_nonzero(theory.ellipse_distance(a[wrong], b[wrong], self.mu) > self.pixel))

    # --- kernels and their arrays ---

    @property
    def _sweeps(self) -> orbits.Kernels:
        return orbits.kernels(self.working_precision, runtime.machine().lanes)

    @property
    def _passes(self) -> channels.Kernels:
        return channels.kernels(self.working_precision)

    def _grid(self, name: str, kind: Any) -> Any:
        if name not in self._out:
            self._out[name] = ti.ndarray(kind, (self.size[1], self.size[0]))
        return self._out[name]

    def _padded(self, name: str, kind: Any) -> Any:
        """A state array, both sides rounded up to whole tiles and groups."""
        held = self._state.get(name)
        if held is None or held.dtype != kind:
            shape = tuple(-(-side // PAD) * PAD for side in (self.size[1], self.size[0]))
            self._state[name] = held = ti.ndarray(kind, shape)
        return held

    def _orbits(self) -> dict[str, Any]:
        """The swept orbits: arrays a, b, before (real) and steps (i32), padded."""
        real = runtime.real_type(self.working_precision)
        state = {name: self._padded(name, real) for name in ("a", "b", "before")} | {"steps": self._padded("steps", ti.i32)}
        if "orbits" not in self._fresh:
            near2 = float(orbits.NEAR2) if abs(self.mu) <= orbits.BLOCK_MU else -1.0
            grid = (ti.Vector([self.size[1], self.size[0]]), ti.Vector(self.center), self.pixel / 2)
            ends = (state["a"], state["b"], state["steps"])
            limits = (self.mu, self.iterations, near2, LANDING_TOLERANCE)
            steps = self.iterations
            self._sliced(self._sweeps.tile, lambda part, across: self._sweeps.blocks(part, across, *grid, *limits, *ends), steps)
            limits = (self.mu, self.iterations, ESCAPE_RADIUS**2, LANDING_TOLERANCE)
            self._in_rows(
                lambda part, across: self._sweeps.finish(part, across, *limits, *ends, state["before"]), self.iterations
            )
            self._fresh.add("orbits")
        return state

    def _settled(self) -> Any:
        """What stays the same along SETTLE_STEPS further steps, coded as in `orbits.settle`."""
        code = self._padded("code", ti.i32)
        if "settled" not in self._fresh:
            state = self._orbits()
            args = (self.mu, RETURN_TOLERANCE**2, LANDING_TOLERANCE, state["a"], state["b"], state["steps"], code)
            self._in_rows(lambda part, across: self._sweeps.settle(part, across, *args), orbits.SETTLE_STEPS)
            self._fresh.add("settled")
        return code

    def _growth(self) -> Any:
        """Mean log growth of a tangent vector, padded."""
        mean = self._padded("growth", ti.f32)
        grid = (ti.Vector([self.size[1], self.size[0]]), ti.Vector(self.center), self.pixel / 2)
        args = (*grid, self.mu, self.lyapunov_steps, mean)
        self._in_rows(lambda part, across: self._sweeps.growth(part, across, *args), 3 * self.lyapunov_steps)
        return mean

    def _in_rows(self, launch: Callable[[Any, int], None], steps: int) -> None:
        """Launch over all groups of `lanes` points in a row, in slices."""
        self._sliced((1, runtime.machine().lanes), launch, steps)

    def _sliced(self, tile: tuple[int, int], launch: Callable[[Any, int], None], steps: int) -> None:
        """launch((first, last), tiles in a row) over the padded grid; Ctrl-C is heard between two launches."""
        rows, across = (-(-side // PAD) * PAD // unit for side, unit in zip(self.size[::-1], tile, strict=True))
        each = max(1, int(SLICE_STEPS / (tile[0] * tile[1] * steps)))
        for first in range(0, rows * across, each):
            launch(ti.Vector([first, min(first + each, rows * across)]), across)
            ti.sync()


def _checked(values: dict[str, float]) -> dict[str, float]:
    """The parameters as floats. Raises ValueError for the first one out of range."""
    for name, value in values.items():
        if isinstance(value, bool) or not math.isfinite(value):
            raise ValueError(f"{name} must be a finite number, not {value!r}")
    if abs(values["mu"]) > MAX_MU:
        raise ValueError(f"mu must be within +-{MAX_MU:g}, not {values['mu']!r}")
    if not values["window.width"] > 0:
        raise ValueError(f"window.width must be positive, not {values['window.width']!r}")
    for name in ("iterations", "lyapunov_steps"):
        if not 1 <= round(values[name]) < 2**30:
            raise ValueError(f"{name} must be 1 to 2^30, not {values[name]!r}")
    for name in ("window.center.0", "window.center.1", "window.width"):
        if abs(values[name]) > MAX_COORDINATE:
            raise ValueError(f"{name} must be within +-{MAX_COORDINATE:g}, not {values[name]!r}")
    return {name: float(round(v)) if name in ("iterations", "lyapunov_steps") else float(v) for name, v in values.items()}


def _checked_size(size: tuple[int, int]) -> tuple[int, int]:
    width, height = int(size[0]), int(size[1])
    if width < 1 or height < 1 or width * height > MAX_POINTS:
        raise ValueError(f"size must be positive and at most {MAX_POINTS} points in all, not {size!r}")
    return width, height


def _rounding(precision: str) -> float:
    """Half the distance from 1 to the next number."""
    return float(np.finfo(np.float32 if precision == "f32" else np.float64).eps) / 2

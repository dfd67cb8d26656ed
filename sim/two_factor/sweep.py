"""Runs the kernels of `starts`, `orbits`, `cycles` and `histories` over a window's grid, in slices, and owns what they keep.

Grids are held with both sides rounded up to PAD: whole tiles and whole groups. Each result is computed when first asked for
and kept until `invalidate`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import taichi as ti

from sim import runtime
from sim.two_factor import cycles, histories, orbits, starts
from sim.two_factor.axes import Axes, Fixed
from sim.two_factor.window import Window

ESCAPE_RADIUS = 1e4
LANDING_TOLERANCE = 1e-4  # |e| below which an orbit on the attracting curve has landed: 1000 times the noise of f32
SLICE_STEPS = 1.5e8  # point-steps per launch: well below 0.3 s, so that Ctrl-C is heard
PAD = 16


@dataclass(frozen=True)
class Job:
    """What a sweep computes: everything that its results depend on."""

    window: Window
    axes: Axes
    fixed: Fixed
    iterations: int
    precision: str
    """ "f32" or "f64". """


@dataclass(frozen=True)
class Starts:
    """Where orbits begin: padded arrays of a, b and mu (real); `starts.NOWHERE` is the mu of a point that has no start."""

    a: Any
    b: Any
    mu: Any


@dataclass(frozen=True)
class Ends:
    """Where orbits stopped: padded arrays of a, b, e one step earlier (real) and the steps taken (i32)."""

    a: Any
    b: Any
    before: Any
    steps: Any


class Sweep:
    """The orbits of one window at a time."""

    def __init__(self) -> None:
        self._arrays: dict[str, Any] = {}
        self._fresh: set[Any] = set()

    def invalidate(self) -> None:
        """The job has changed: compute everything again when asked."""
        self._fresh.clear()

    def release(self) -> None:
        """Free the arrays."""
        self._arrays.clear()
        self._fresh.clear()

    def starts(self, job: Job) -> Starts:
        """The start of every grid point."""
        real = runtime.real_type(job.precision)
        grids = tuple(self._array(name, real, job.window) for name in ("start_a", "start_b", "mu"))
        if "starts" not in self._fresh:
            (columns, rows), center = job.window.size, ti.Vector(job.window.center)
            place = ti.Vector([rows, columns]), center, job.window.pixel / 2, job.axes.code, ti.Vector(job.fixed)
            starts.kernel(job.precision)(*place, *grids)
            self._fresh.add("starts")
        return Starts(*grids)

    def ends(self, job: Job) -> Ends:
        """Sweep all orbits until they escape (r > ESCAPE_RADIUS), land (|e| < LANDING_TOLERANCE on the attracting curve,
        2 - a^2 - b^2 > 8 LANDING_TOLERANCE) or have made `iterations` steps."""
        real = runtime.real_type(job.precision)
        a, b, before = (self._array(name, real, job.window) for name in ("a", "b", "before"))
        steps = self._array("steps", ti.i32, job.window)
        if "ends" not in self._fresh:
            kernels, start = self._kernels(job), self.starts(job)
            first = (start.a, start.b, start.mu, job.iterations, LANDING_TOLERANCE, a, b, steps)
            _sliced(job, kernels.tile, job.iterations, lambda part, across: kernels.blocks(part, across, *first))
            then = (start.mu, job.iterations, ESCAPE_RADIUS**2, LANDING_TOLERANCE, a, b, steps, before)
            _sliced(job, kernels.group, job.iterations, lambda part, across: kernels.finish(part, across, *then))
            self._fresh.add("ends")
        return Ends(a, b, before, steps)

    def settled(self, job: Job) -> Any:
        """What stays the same along some further steps: i32 codes as in `orbits.settle`, padded."""
        code = self._array("code", ti.i32, job.window)
        if "code" not in self._fresh:
            ends, kernels = self.ends(job), self._kernels(job)
            args = (self.starts(job).mu, ends.a, ends.b, ends.steps, code)
            _sliced(job, kernels.group, orbits.SETTLE_STEPS, lambda part, across: kernels.settle(part, across, *args))
            self._fresh.add("code")
        return code

    def cycle(self, job: Job) -> tuple[Any, Any]:
        """Period and phase of the attracting cycle, i32, padded: see `cycles`."""
        period, phase = (self._array(name, ti.i32, job.window) for name in ("period", "cycle_phase"))
        if "cycle" not in self._fresh:
            ends, kernels = self.ends(job), cycles.kernels(job.precision, runtime.machine().lanes)
            args = (self.starts(job).mu, ends.a, ends.b, ends.steps, period, phase)
            cost = 3 * cycles.MAX_PERIOD + cycles.CHECK_STEPS
            _sliced(job, kernels.group, cost, lambda part, across: kernels.cycle(part, across, *args))
            self._fresh.add("cycle")
        return period, phase

    def growth(self, job: Job, horizon: int) -> Any:
        """Mean log growth of a tangent vector over `horizon` steps: f32, padded."""
        mean, kernels, start = self._array("growth", ti.f32, job.window), self._kernels(job), self.starts(job)
        args = (start.a, start.b, start.mu, horizon, mean)
        _sliced(job, kernels.group, 3 * horizon, lambda part, across: kernels.growth(part, across, *args))
        return mean

    def across(self, job: Job, horizon: int) -> Any:
        """Mean log growth of the imbalance over `horizon` steps: f32, padded."""
        mean, kernels, start = self._array("across", ti.f32, job.window), _histories(job), self.starts(job)
        args = (start.a, start.b, start.mu, horizon, mean)
        _sliced(job, kernels.group, 2 * horizon, lambda part, across: kernels.across(part, across, *args))
        return mean

    def rise(self, job: Job) -> Any:
        """The first step that raises the loss, -1 for none: i32, padded."""
        first, kernels, start = self._array("rise", ti.i32, job.window), _histories(job), self.starts(job)
        args = (start.a, start.b, start.mu, job.iterations, LANDING_TOLERANCE, first)
        _sliced(job, kernels.group, job.iterations, lambda part, across: kernels.rise(part, across, *args))
        return first

    def web(self, job: Job, most: int) -> tuple[Any, Any]:
        """Distance in grid squares to the nearest line of the landing web, and its k: f32, padded."""
        distance, step = (self._array(name, ti.f32, job.window) for name in ("web", "web_step"))
        if ("web", most) not in self._fresh:
            kernels, start = _histories(job), self.starts(job)
            args = (start.a, start.b, start.mu, most, distance, step)
            _sliced(job, kernels.group, 8 * most, lambda part, across: kernels.web(part, across, *args))
            self._fresh.add(("web", most))
        return distance, step

    def _kernels(self, job: Job) -> orbits.Kernels:
        return orbits.kernels(job.precision, runtime.machine().lanes)

    def _array(self, name: str, kind: Any, window: Window) -> Any:
        held, shape = self._arrays.get(name), _padded(window)
        if held is None or held.dtype != kind or tuple(held.shape) != shape:
            self._arrays[name] = held = ti.ndarray(kind, shape)
        return held


def _histories(job: Job) -> histories.Kernels:
    return histories.kernels(job.precision, runtime.machine().lanes)


def _padded(window: Window) -> tuple[int, int]:
    return -(-window.size[1] // PAD) * PAD, -(-window.size[0] // PAD) * PAD


def _sliced(job: Job, unit: tuple[int, int], steps: int, launch: Callable[[Any, int], None]) -> None:
    """launch((first, last), units in a row) over all units of (rows, columns) points; Ctrl-C is heard in between."""
    rows, columns = _padded(job.window)
    across = columns // unit[1]
    total = rows // unit[0] * across
    each = max(1, int(SLICE_STEPS / (unit[0] * unit[1] * steps)))
    for first in range(0, total, each):
        launch(ti.Vector([first, min(first + each, total)]), across)
        ti.sync()

"""Steppers: how a cloud gets over one step, for each family of methods in `integrators`.

A stepper is given v at the cloud, already evaluated (`first`), and writes the new cloud into `out`. Times are half steps: t =
half dt / 2, and a step spans 2 of them; a span of 1 is the probe's half step.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import taichi as ti
from numpy.typing import NDArray

from sim import runtime
from sim.attention import cloud_kernels
from sim.attention.integrators import Movement, Tableau, TwoStep
from sim.attention.pairs import B, Fields, Pairs
from sim.attention.schedule import Heads, Schedule
from sim.attention.summary import energy
from sim.system import Diverged

Cloud = NDArray[np.float64]  # (N, 3)
ARMIJO = 1e-4  # share of the linear prediction that a descent step must achieve
SMALLEST = 2.0**-30  # step length below which rounding hides any descent


class Motion:
    """The velocity field of one system on the device, and sums of velocities."""

    def __init__(self, engine: Pairs, schedule: Schedule, flow: str, sign: int, count: int, precision: str) -> None:
        self.engine, self.schedule, self.flow, self.sign = engine, schedule, flow, sign
        self.count, self.precision, self.dt = count, precision, schedule.dt
        self._kernels = cloud_kernels.kernels(precision)

    def evaluate(self, x: Any, half: float, out: Fields) -> bool:
        """v and the scalars at the cloud x and t = half dt / 2; returns whether the sums were shifted."""
        theta = self.schedule.theta(half)
        return self.engine.evaluate(x, theta, self.flow, self.sign, out, self.schedule.value)

    def combine(self, x: Any, step: float, coefficients: Sequence[float], velocities: Sequence[Any], out: Any) -> None:
        """out = normalised(x + step sum_i coefficients_i velocities_i), of at most four."""
        spare = 4 - len(coefficients)
        weights = [*(step * c for c in coefficients), *([0.0] * spare)]
        self._kernels.combine(x, *velocities, *([velocities[0]] * spare), *weights, out)

    def cloud(self) -> Any:
        """Room for one cloud."""
        return ti.ndarray(ti.types.vector(3, runtime.real_type(self.precision)), (self.count,))


class Stepper(Protocol):
    """One method at work on one system."""

    order: int

    @property
    def single(self) -> "Stepper":
        """The method that needs no past, for the half steps of the probe."""
        ...

    def restart(self) -> None:
        """Forget: the system is at t = 0 again."""
        ...

    def advance(self, x: Any, half: float, span: int, first: Fields, out: Any) -> None:
        """Write the cloud `span` half steps after x into `out`; nothing of the method's memory changes."""
        ...

    def remember(self, half: float, first: Fields) -> None:
        """The step from `half` was taken: keep what later ones need of it."""
        ...


class RungeKutta:
    """Explicit Runge-Kutta by a tableau."""

    def __init__(self, method: Tableau, motion: Motion) -> None:
        self.order, self.single = method.order, self
        self._method, self._motion = method, motion
        self._later = [Fields(motion.count, motion.precision) for _ in method.b[1:]]
        self._point = motion.cloud()

    def restart(self) -> None:
        """A method of one step has nothing to forget."""

    def advance(self, x: Any, half: float, span: int, first: Fields, out: Any) -> None:
        step, method = span * self._motion.dt / 2, self._method
        velocities = [first.v, *(stage.v for stage in self._later)]
        for i, stage in enumerate(self._later, start=1):
            self._motion.combine(x, step, method.a[i], velocities[:i], self._point)
            self._motion.evaluate(self._point, half + span * method.c[i], stage)
        self._motion.combine(x, step, method.b, velocities, out)

    def remember(self, half: float, first: Fields) -> None:
        """A method of one step keeps nothing."""


class AdamsBashforth:
    """Two steps, one evaluation a step; a step whose predecessor is not the one remembered starts afresh."""

    def __init__(self, method: TwoStep, motion: Motion) -> None:
        self.order, self.single = method.order, RungeKutta(method.start, motion)
        self._method, self._motion = method, motion
        self._past = motion.cloud()
        self.restart()

    def restart(self) -> None:
        self._past_half: float | None = None

    def advance(self, x: Any, half: float, span: int, first: Fields, out: Any) -> None:
        if self._past_half != half - span:
            self.single.advance(x, half, span, first, out)
            return
        step, method = span * self._motion.dt / 2, self._method
        self._motion.combine(x, step, (method.now, method.past), (first.v, self._past), out)

    def remember(self, half: float, first: Fields) -> None:
        self._past.copy_from(first.v)
        self._past_half = half


class MinimizingMovement:
    """The scheme of Jordan, Kinderlehrer and Otto, by monotone Riemannian gradient descent with backtracking, on the host.

    The descent direction at y is (dt/b) sign g(y) + Log_y x, token by token: the gradient scaled by the distance term's own
    curvature b/dt, so that step length 1 is the fixed-point iteration of the implicit Euler method. The step sees the weights
    of its end alone, b(x_i) included (b = 1 for `unnormalised`, whose metric is the plain Wasserstein one).
    """

    def __init__(self, method: Movement, motion: Motion) -> None:
        self.order, self.single = method.order, self
        self._method, self._motion = method, motion
        self.tolerance = method.tolerance[motion.precision]
        self._fields, self._point = Fields(motion.count, motion.precision), motion.cloud()
        self.sums: list[float] = []  # of the last step, at its start and after every descent step: never rising
        self.restart()

    def restart(self) -> None:
        self.reach = 0.0  # how far a token would still have moved at the last step's end, radians
        self.missed = 0  # steps that ended short of the tolerance

    def advance(self, x: Any, half: float, span: int, first: Fields, out: Any) -> None:
        del first  # belongs to the weights of the step's start
        tau, sign = span * self._motion.dt / 2, self._motion.sign
        theta = self._motion.schedule.theta(half + span)
        start: Cloud = x.to_numpy().astype(np.float64)
        E, g, b = self._landscape(start, theta)
        y, total, length = start, -sign * E, 1.0
        self.sums = [total]
        for _ in range(self._method.most):
            way = tau / b[:, None] * sign * g + logarithm(y, start)
            self.reach = float(np.linalg.norm(way, axis=1).max())
            if self.reach <= self.tolerance:
                break
            predicted = float((b / tau * (way**2).sum(axis=1)).mean())
            length = min(1.0, 2 * length)
            while length >= SMALLEST:
                z = self._rounded(exponential(y, length * way))
                E, g_there, _ = self._landscape(z, theta)
                there = -sign * E + float((b * (logarithm(z, start) ** 2).sum(axis=1)).mean()) / (2 * tau)
                if there <= total - ARMIJO * length * predicted:
                    break
                length /= 2
            else:
                break
            y, g, total = z, g_there, there
            self.sums.append(total)
        out.from_numpy(y.astype(self._dtype))

    def remember(self, half: float, first: Fields) -> None:
        del half, first
        self.missed += self.reach > self.tolerance

    @property
    def _dtype(self) -> Any:
        return np.float32 if self._motion.precision == "f32" else np.float64

    def _rounded(self, y: Cloud) -> Cloud:
        rounded: Cloud = y.astype(self._dtype).astype(np.float64)
        return rounded

    def _landscape(self, y: Cloud, theta: Heads) -> tuple[float, Cloud, NDArray[np.float64]]:
        """E, its gradient g (N, 3) and the metric weight b (N,) at the cloud y."""
        self._point.from_numpy(y.astype(self._dtype))
        shifted = self._motion.engine.evaluate(self._point, theta, "unnormalised", 1, self._fields)
        E = energy(self._fields, shifted)
        b = self._fields.scalars.to_numpy()[B].astype(np.float64)
        if shifted:
            b = b * np.exp(self._fields.reference.to_numpy()[1].astype(np.float64))
        if not np.isfinite(E):
            raise Diverged("the energy is beyond double precision, so no step can lower it; a smaller beta would stay finite")
        return E, self._fields.v.to_numpy().astype(np.float64), b if self._motion.flow == "gradient_flow" else np.ones(len(b))


def stepper(method: Tableau | TwoStep | Movement, motion: Motion) -> Stepper:
    """The stepper of a method."""
    if isinstance(method, Tableau):
        return RungeKutta(method, motion)
    return AdamsBashforth(method, motion) if isinstance(method, TwoStep) else MinimizingMovement(method, motion)


def logarithm(y: Cloud, x: Cloud) -> Cloud:
    """Log_y x, row by row: tangent at y, as long as the angle to x, along the great circle to x; 0 for antipodal points."""
    tangent = x - (x * y).sum(axis=1, keepdims=True) * y
    size = np.linalg.norm(tangent, axis=1, keepdims=True)
    angle = 2 * np.arcsin(np.minimum(np.linalg.norm(x - y, axis=1, keepdims=True) / 2, 1))
    log: Cloud = np.divide(angle, size, out=np.zeros_like(size), where=size > 0) * tangent
    return log


def exponential(y: Cloud, w: Cloud) -> Cloud:
    """Exp_y w, row by row: along the great circle from y in the direction of the tangent vector w, over the angle |w|."""
    angle = np.linalg.norm(w, axis=1, keepdims=True)
    z = np.cos(angle) * y + np.sinc(angle / np.pi) * w
    unit: Cloud = z / np.linalg.norm(z, axis=1, keepdims=True)
    return unit

"""Tokens on S^2 under multi-head attention: state, time steps, and the balances that come with them (MATHS.md, section A).

    softmax         v = sign P_x (1/H) sum_h theta_h grad G(q_h) / G(q_h)
    gradient_flow   v = sign g(x) / b(x)
    unnormalised    v = sign g(x)

    slope2          (1/N) sum_i b(x_i) |v(x_i)|^2
    EDI             E(T) - E(0) - sign * int slope2 dt - int (partial_t E) dt               0 for gradient_flow
    power balance   E(T) - E(0) - int (1/N) sum_i <g, v> dt - int (partial_t E) dt          0 for every flow

The explicit part of a step is the mean of E(x, theta') - E(x, theta) at both end clouds, the rest is the trapezoid rule.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import taichi as ti
from numpy.typing import NDArray

from sim import runtime
from sim.attention import cloud_kernels
from sim.attention.clusters import cluster_labels
from sim.attention.integrators import INTEGRATORS
from sim.attention.pairs import Fields, Pairs
from sim.attention.summary import Summary, energy, summarise
from sim.attention.wake import Wake
from sim.attention.weights import Heads, Schedule
from sim.system import Diverged, Row


class AttentionFlow:
    """N tokens, H heads, one time grid t_k = k dt.

    tokens: (N, 3) float64, normalised here. schedule: theta_h(t) on the half-step grid of the same dt. `sign` +1 ascends E,
    -1 descends it. `track_balance` pays for the residuals: up to two more energy evaluations a step.
    """

    kind = "attention"

    def __init__(
        self,
        tokens: NDArray[np.float64],
        schedule: Schedule,
        *,
        flow: str = "softmax",
        sign: int = -1,
        integrator: str = "rk4",
        dt: float = 0.02,
        precision: str = "f32",
        cluster_cosine: float = 0.99,
        track_balance: bool = True,
    ) -> None:
        self.start = np.asarray(tokens, dtype=np.float64) / np.linalg.norm(tokens, axis=1, keepdims=True)
        self.count, self.heads = len(tokens), schedule.heads
        self.schedule, self.flow, self.sign, self.dt = schedule, flow, sign, dt
        self.tableau = INTEGRATORS[integrator]
        self.precision, self.cluster_cosine, self.track_balance = precision, cluster_cosine, track_balance
        self.step_index = 0
        vec3 = ti.types.vector(3, runtime.real_type(precision))
        self._dtype = np.float32 if precision == "f32" else np.float64
        self._kernels = cloud_kernels.kernels(precision)
        self._engine = Pairs(self.count, self.heads, precision)
        self._x, self._previous, self._point = (ti.ndarray(vec3, (self.count,)) for _ in range(3))
        self._stages = [Fields(self.count, precision) for _ in self.tableau.b]
        self._scratch = Fields(self.count, precision)
        self._shown = ti.ndarray(ti.math.vec3, (self.count,))
        self._speeds = ti.ndarray(ti.f32, (self.count,))
        self.wake: Wake | None = None
        self.reset()

    @property
    def time(self) -> float:
        """t_k = k dt of the newest state."""
        return self.step_index * self.dt

    def reset(self) -> None:
        """Back to the initial cloud and the start of the same weights path."""
        self.step_index = 0
        self.schedule.reset()
        self._x.from_numpy(self.start.astype(self._dtype))
        self._previous.copy_from(self._x)
        self._now: Summary | None = None  # of the newest state under the newest weights
        self._before: Summary | None = None  # of the state before, until the step between them is booked
        self._initial_energy: float | None = None
        self._dissipated = self._worked = self._explicit = 0.0
        if self.wake is not None:
            self.wake.restart(0, self._x)

    def set_parameters(self, values: Mapping[str, float]) -> None:
        """Change live parameters: `weights.<name>`, and those of the weights alone. Raises KeyError for an unknown one."""
        own = {path.removeprefix("weights."): value for path, value in values.items() if path.startswith("weights.")}
        unknown = [path for path in values if not path.startswith("weights.")]
        if unknown:
            raise KeyError(f"an attention system has no live parameter {unknown[0]!r}")
        if any(getattr(self.schedule, name, None) != value for name, value in own.items()):
            self.schedule.set_parameters(own)
            self._reweigh()

    @property
    def cloud(self) -> ti.Ndarray:
        """The newest cloud on the device, (N,) of vec3 in the flow's precision; to be read only."""
        return self._x

    def theta(self) -> Heads:
        """theta_h at the newest state's time, (H, 3, 3) float64."""
        return self.schedule.theta(2 * self.step_index)

    def step(self) -> None:
        """One step of the tableau. Raises Diverged when the cloud is no longer finite."""
        self._summary()  # stage 1, and the step before it booked
        k, tableau = self.step_index, self.tableau
        for i in range(1, len(tableau.b)):
            self._combine(tableau.a[i], self._point)
            theta = self.schedule.theta(2 * k + round(2 * tableau.c[i]))
            self._engine.evaluate(self._point, theta, self.flow, self.sign, self._stages[i])
        self._combine(tableau.b, self._point)
        self._previous.copy_from(self._x)
        self._x.copy_from(self._point)
        self.step_index += 1
        if self.wake is not None:
            self.wake.record(self.step_index, self._x)
        self._before, self._now = self._now, None

    def diagnostics(self) -> Row:
        """The row of the `run` table at the newest state; a residual is None where it has no meaning or is not tracked."""
        now = self._summary()
        residuals = self._residuals(now)
        return {
            "t": self.time,
            "energy": now.energy if self.schedule.symmetric else None,
            "slope2": now.slope2 if self.schedule.symmetric else None,
            "edi_residual": residuals[0],
            "power_residual": residuals[1],
            "mean_speed": now.mean_speed,
            "clusters": int(self.cluster_labels().max()) + 1,
        }

    def keep_wake(self, duration: float) -> None:
        """From now on keep the cloud's past of that many units of time in `wake`, for trails."""
        self.wake = Wake(self.count, self.dt, duration, self.precision)
        self.wake.restart(self.step_index, self._x)

    def positions(self) -> NDArray[np.float64]:
        """The newest cloud, (N, 3) float64."""
        return np.asarray(self._x.to_numpy(), dtype=np.float64)

    def cluster_labels(self) -> NDArray[np.int32]:
        """Single-linkage component of each token at `cluster_cosine`, (N,)."""
        return cluster_labels(self.positions(), self.cluster_cosine)

    def radius_error(self) -> float:
        """Largest | |x_i| - 1 |."""
        return float(np.abs(np.linalg.norm(self.positions(), axis=1) - 1).max())

    def shown(self, time: float) -> ti.Ndarray:
        """The cloud at `time`, (N,) of f32 vec3: along great circles between the two newest states of the grid."""
        fraction = min(max((time - self.time) / self.dt + 1.0, 0.0), 1.0) if self.step_index else 1.0
        self._kernels.between(self._previous, self._x, fraction, self._shown)
        return self._shown

    def speeds(self) -> ti.Ndarray:
        """|v| of each token at the newest state, (N,) f32."""
        self._summary()
        self._kernels.lengths(self._stages[0].v, self._speeds)
        return self._speeds

    def release(self) -> None:
        """Drop the device arrays; the system must not be used afterwards."""
        self.__dict__.clear()

    def _combine(self, coefficients: tuple[float, ...], out: Any) -> None:
        """out = normalised(x + dt sum_i coefficients_i k_i)."""
        weights = [self.dt * c for c in coefficients] + [0.0] * (4 - len(coefficients))
        v = [stage.v for stage in self._stages] + [self._stages[0].v] * (4 - len(self._stages))
        self._kernels.combine(self._x, v[0], v[1], v[2], v[3], *weights, out)

    def _summary(self) -> Summary:
        """Evaluate the newest state under the newest weights, once, and book the step that led to it."""
        if self._now is None:
            theta = self.theta()
            shifted = self._engine.evaluate(self._x, theta, self.flow, self.sign, self._stages[0])
            self._now = summarise(self._stages[0], shifted, theta, self.precision, self.flow)
            if not np.isfinite(self._now.mean_speed):
                raise Diverged(self._obituary(theta))
            if self._initial_energy is None:
                self._initial_energy = self._now.energy
            if self._before is not None:
                self._book(self._before, self._now)
                self._before = None
        return self._now

    def _book(self, before: Summary, now: Summary) -> None:
        """Add one step to the integrals of the balances."""
        self._dissipated += self.dt / 2 * (before.slope2 + now.slope2)
        self._worked += self.dt / 2 * (before.power + now.power)
        if self.track_balance and not np.array_equal(before.theta, now.theta):
            at_start = self._energy(self._previous, now.theta) - before.energy
            at_end = now.energy - self._energy(self._x, before.theta)
            self._explicit += (at_start + at_end) / 2

    def _reweigh(self) -> None:
        """The weights were changed by hand: what that does to the energy is an explicit change, booked at once."""
        if self._now is None:
            return
        held = self._now
        self._now = None
        if self.track_balance:
            self._explicit += self._summary().energy - held.energy

    def _energy(self, x: Any, theta: Heads) -> float:
        shifted = self._engine.potential(x, theta, self._scratch)
        return energy(self._scratch, shifted)

    def _residuals(self, now: Summary) -> tuple[float | None, float | None]:
        """EDI and power residual since t = 0."""
        if not (self.track_balance and self.schedule.symmetric and np.isfinite(now.energy)):
            return None, None
        assert self._initial_energy is not None
        gained = now.energy - self._initial_energy - self._explicit
        residuals = (gained - self.sign * self._dissipated, gained - self._worked)
        return residuals if np.isfinite(residuals).all() else (None, None)

    def _obituary(self, theta: Heads) -> str:
        size = float(np.linalg.norm(theta, ord=2, axis=(1, 2)).max())
        return (
            f"the tokens' velocity is not finite at t = {self.time:g} (flow {self.flow}, largest |theta| {size:.3g}, "
            f"dt {self.dt:g}); the flow `softmax`, a smaller beta or `--precision f64` would stay finite"
        )

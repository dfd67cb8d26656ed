"""Tokens on S^2 under multi-head attention: state, time steps, and the balances that come with them (MATHS.md, section A).

softmax         v = sign P_x (1/H) sum_h theta_h grad G(q_h) / G(q_h)
gradient_flow   v = sign g(x) / b(x)
unnormalised    v = sign g(x)

slope2          (1/N) sum_i b(x_i) |v(x_i)|^2
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import taichi as ti
from numpy.typing import NDArray

from sim import runtime
from sim.attention import cloud_kernels
from sim.attention.balances import Balances
from sim.attention.clusters import cluster_labels
from sim.attention.diagnostics import loose_clusters, order_parameter, second_moment
from sim.attention.integrators import INTEGRATORS, Movement
from sim.attention.ito import ExplicitParts
from sim.attention.pairs import Fields, Pairs
from sim.attention.schedule import Heads, Schedule
from sim.attention.stepping import MinimizingMovement, Motion, stepper
from sim.attention.summary import Summary, energy, summarise
from sim.attention.wake import Wake
from sim.system import Diverged, Row

COARSE = 0.01  # a step's error, in units of the distance at which tokens are linked, from which clusters may depend on dt


class AttentionFlow:
    """N tokens, H heads, one time grid t_k = k dt.

    tokens: (N, 3) float64, normalised here. schedule: theta_h(t) on the half-step grid of the same dt. `sign` +1 ascends E,
    -1 descends it. `track_balance` pays for the residuals: up to two more energy evaluations a step. `probe_every` steps apart
    the error of a step is estimated, for `notices`; 0 is never. Raises ValueError for `jko` without an energy to lower.
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
        probe_every: int = 0,
    ) -> None:
        self.start = np.asarray(tokens, dtype=np.float64) / np.linalg.norm(tokens, axis=1, keepdims=True)
        self.count, self.heads = len(tokens), schedule.heads
        self.schedule, self.flow, self.sign, self.dt = schedule, flow, sign, dt
        self.method = INTEGRATORS[integrator]
        if isinstance(self.method, Movement):
            _check_energy(flow, schedule)
        self.precision, self.cluster_cosine, self.track_balance = precision, cluster_cosine, track_balance
        self.probe_every = probe_every
        self.step_index = 0
        vec3 = ti.types.vector(3, runtime.real_type(precision))
        self._dtype = np.float32 if precision == "f32" else np.float64
        self._kernels = cloud_kernels.kernels(precision)
        self._engine = Pairs(self.count, self.heads, precision)
        self._x, self._previous, self._point = (ti.ndarray(vec3, (self.count,)) for _ in range(3))
        self._motion = Motion(self._engine, schedule, flow, sign, self.count, precision)
        self._stepper = stepper(self.method, self._motion)
        self._first = Fields(self.count, precision)  # at the newest state
        parts = ExplicitParts(self._engine, self.heads) if track_balance and schedule.random_parts() else None
        self._balances = Balances(schedule, sign, self._energy, parts, track_balance)
        self._probe: list[Any] = []  # clouds of `step_error`, once it is asked for
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
        self._balances.restart()
        self._worst_error = 0.0
        self._stepper.restart()
        if self.wake is not None:
            self.wake.restart(0, self._x)

    def set_parameters(self, values: Mapping[str, float]) -> None:
        """Change live parameters: `weights.<name>`, and those of the weights alone. Raises KeyError for an unknown one."""
        own = {path.removeprefix("weights."): value for path, value in values.items() if path.startswith("weights.")}
        unknown = [path for path in values if not path.startswith("weights.")]
        if unknown:
            raise KeyError(f"an attention system has no live parameter {unknown[0]!r}")
        if self.schedule.differs(own):
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
        """One step of the integrator. Raises Diverged when the cloud is no longer finite."""
        self._summary()  # v at the newest state, and the step before it booked
        half = 2 * self.step_index
        if self.probe_every and self.step_index % self.probe_every == 0:
            self._worst_error = max(self._worst_error, self.step_error())
        self._stepper.advance(self._x, half, 2, self._first, self._point)
        self._stepper.remember(half, self._first)
        self._previous.copy_from(self._x)
        self._x.copy_from(self._point)
        self.step_index += 1
        if self.wake is not None:
            self.wake.record(self.step_index, self._x)
        self._before, self._now = self._now, None

    def step_error(self) -> float:
        """Estimated error of the next step, the largest over the tokens: one step against two of half the size.

        The state is left as it is. Noise between half steps, which only this asks for, is interpolated.
        """
        self._summary()
        if not self._probe:
            self._probe = [self._motion.cloud() for _ in range(3)]
        whole, middle, end = self._probe
        half, fine = 2 * self.step_index, self._stepper.single
        self._stepper.advance(self._x, half, 2, self._first, whole)
        fine.advance(self._x, half, 1, self._first, middle)
        self._motion.evaluate(middle, half + 1, self._scratch)
        fine.advance(middle, half + 1, 1, self._scratch, end)
        self.theta()  # the newest weights asked for are the newest state's again
        apart = np.linalg.norm(whole.to_numpy().astype(np.float64) - end.to_numpy(), axis=1).max()
        return float(apart / (1 - 0.5**self._stepper.order))

    def notices(self) -> list[str]:
        """What a viewer should know before trusting the numbers, a sentence each."""
        said = [] if self.why_no_energy is None else [f"no energy, slope and balance: {self.why_no_energy}"]
        reach = float(np.sqrt(2 - 2 * self.cluster_cosine))
        if not self._worst_error < COARSE * reach:
            said.append(
                f"dt {self.dt:g} is too coarse: a step is off by {self._worst_error:.1e}, and tokens are linked at {reach:.2g}, "
                "so the number of clusters may depend on dt"
            )
        if isinstance(self._stepper, MinimizingMovement) and self._stepper.missed:
            said.append(f"jko: {self._stepper.missed} steps ended before their tolerance of {self._stepper.tolerance:g}")
        return said

    @property
    def why_no_energy(self) -> str | None:
        """Why the energy columns are None, in a sentence; None where there is an energy law."""
        return self.schedule.why_no_energy

    def diagnostics(self) -> Row:
        """The row of the `run` table at the newest state; a residual is None where it has no meaning or is not tracked."""
        now, x = self._summary(), self.positions()
        residuals = self._balances.residuals(now)
        return {
            "t": self.time,
            "energy": now.energy if self.why_no_energy is None else None,
            "slope2": now.slope2 if self.why_no_energy is None else None,
            "edi_residual": residuals[0],
            "power_residual": residuals[1],
            "mean_speed": now.mean_speed,
            "clusters": int(cluster_labels(x, self.cluster_cosine).max()) + 1,
            "clusters_loose": loose_clusters(x, self.cluster_cosine),
            "max_speed": now.max_speed,
            "order_parameter": order_parameter(x),
            **dict(zip(("moment_1", "moment_2", "moment_3"), second_moment(x), strict=True)),
            "min_b": now.min_b,
            "max_b": now.max_b,
            **self._balances.explicit(),
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
        self._kernels.lengths(self._first.v, self._speeds)
        return self._speeds

    def release(self) -> None:
        """Drop the device arrays; the system must not be used afterwards."""
        self.__dict__.clear()

    def _summary(self) -> Summary:
        """Evaluate the newest state under the newest weights, once, and book the step that led to it."""
        if self._now is None:
            theta = self.theta()
            shifted = self._motion.evaluate(self._x, 2 * self.step_index, self._first)
            self._now = summarise(self._first, shifted, theta, self.precision, self.flow)
            if not np.isfinite(self._now.mean_speed):
                raise Diverged(self._obituary(theta))
            self._balances.begin(self._now)
            if self._before is not None:
                self._balances.book(self._before, self._now, self._previous, self._x, 2 * self.step_index - 2)
                self._before = None
        return self._now

    def _reweigh(self) -> None:
        """The weights were changed by hand: what that does to the energy is an explicit change, booked at once."""
        if self._now is None:
            return
        held = self._now
        self._now = None
        if self._balances.tracked:
            self._balances.reweigh(self._summary().energy - held.energy)

    def _energy(self, x: Any, theta: Heads) -> float:
        shifted = self._engine.potential(x, theta, self._scratch)
        return energy(self._scratch, shifted)

    def _obituary(self, theta: Heads) -> str:
        size = float(np.linalg.norm(theta, ord=2, axis=(1, 2)).max())
        return (
            f"the tokens' velocity is not finite at t = {self.time:g} (flow {self.flow}, largest |theta| {size:.3g}, "
            f"dt {self.dt:g}); the flow `softmax`, a smaller beta or `--precision f64` would stay finite"
        )


def _check_energy(flow: str, schedule: Schedule) -> None:
    """Minimizing movements need an energy whose gradient flow this is."""
    if flow == "softmax":
        raise ValueError("jko lowers an energy, and the softmax flow of several heads lowers none; use flow gradient_flow")
    if schedule.why_no_energy is not None:
        raise ValueError(f"jko lowers an energy, but {schedule.why_no_energy}")

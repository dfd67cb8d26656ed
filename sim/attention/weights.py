"""Weight schedules theta_h(t): one class a law, named as in MATHS.md's table.

Every schedule is a function of the half-step index k, t = k dt / 2, because RK4 asks for the midpoints; random ones are
sampled exactly on that grid. theta has shape (H, 3, 3), float64, and carries the overall factor beta (inverse temperature).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Heads = NDArray[np.float64]  # (H, 3, 3)
MatrixLike = float | Sequence[float] | Sequence[Sequence[float]]


class Schedule:
    """What every law shares: heads, the time grid, beta, and parameters that may move while it runs."""

    kind = ""
    live: tuple[str, ...] = ()  # parameters of this law that may change while it runs, besides beta
    static = False
    symmetric = True

    def __init__(self, *, heads: int, rng: np.random.Generator, dt: float, beta: float = 1.0) -> None:
        self.heads = heads
        self.dt = dt
        self.beta = beta
        self._rng = rng
        self._rng_start = rng.bit_generator.state
        self._initial: dict[str, float] = {}

    def theta(self, half: int) -> Heads:
        """theta_h at t = half * dt / 2, times beta; shape (H, 3, 3). Calls must not go back in time except after `reset`."""
        theta: Heads = self.beta * self.law(half)
        return theta

    def law(self, half: int) -> Heads:
        """The law of this class at t = half * dt / 2, without beta; shape (H, 3, 3)."""
        raise NotImplementedError(type(self).__name__)

    def set_parameters(self, values: Mapping[str, float]) -> None:
        """Change live parameters. Raises KeyError, naming the choices, for one that this law does not have."""
        for name, value in values.items():
            if name not in ("beta", *self.live):
                raise KeyError(f"a {self.kind} schedule has no live parameter {name!r}; it has beta, {', '.join(self.live)}")
            self._initial.setdefault(name, getattr(self, name))
            setattr(self, name, value)

    def reset(self) -> None:
        """Back to t = 0: the same path again, to the bit."""
        for name, value in self._initial.items():
            setattr(self, name, value)
        self._rng.bit_generator.state = self._rng_start
        self._restart()

    def _restart(self) -> None:
        """Laws that carry a state start it again here."""

    def _theta0(self, theta0: MatrixLike | str) -> Heads:
        """(H, 3, 3): the same matrix for all heads, or, for "random", Z + Z^T with Z standard normal, head by head."""
        if isinstance(theta0, str):
            z = self._rng.standard_normal((self.heads, 3, 3))
            symmetric: Heads = z + z.transpose(0, 2, 1)
            return symmetric
        return np.tile(matrix(theta0), (self.heads, 1, 1))


class Static(Schedule):
    """theta_h fixed: the autonomous system."""

    kind = "static"
    static = True

    def __init__(self, *, theta: MatrixLike | str = 1.0, **common: Any) -> None:
        super().__init__(**common)
        self._fixed = self._theta0(theta)

    def law(self, half: int) -> Heads:  # noqa: ARG002  (nothing moves)
        return self._fixed


class OU(Schedule):
    """d theta = kappa (M - theta) dt + sigma dW_sym, dW_sym = (dW + dW^T)/2: the integrable, noisy regime.

    Sampled exactly: theta' = M + a (theta - M) + sigma sqrt((1 - a^2) / (2 kappa)) (xi + xi^T)/2, a = exp(-kappa dt/2).
    """

    kind = "ou"
    live = ("kappa", "sigma")

    def __init__(
        self, *, M: MatrixLike = 1.0, theta0: MatrixLike | str = "random", kappa: float, sigma: float, **common: Any
    ) -> None:
        super().__init__(**common)
        self.M = matrix(M)
        self.kappa = kappa
        self.sigma = sigma
        self._first = theta0
        self._restart()

    def _restart(self) -> None:
        self._half = 0
        self._recent = [self._theta0(self._first)]

    def law(self, half: int) -> Heads:
        while self._half < half:
            a = np.exp(-self.kappa * self.dt / 2)
            xi = self._rng.standard_normal((self.heads, 3, 3))
            spread = self.sigma * np.sqrt((1 - a * a) / (2 * self.kappa))
            self._recent.append(self.M + a * (self._recent[-1] - self.M) + spread * (xi + xi.transpose(0, 2, 1)) / 2)
            self._half += 1
        del self._recent[:-3]  # a step asks for its start, midpoint and end
        back = self._half - half
        if back >= len(self._recent):
            raise ValueError(f"the path at half step {half} is gone; it is kept from {self._half - len(self._recent) + 1} on")
        return self._recent[-1 - back]


class _Phased(Schedule):
    """Laws with a phase omega_h t + phi_h. Changing omega keeps every phase continuous."""

    live = ("omega",)

    def __init__(
        self, *, omega: float | Sequence[float] = 1.0, phases: float | Sequence[float] | str = "spread", **common: Any
    ) -> None:
        super().__init__(**common)
        self._rates = np.broadcast_to(np.asarray(omega, dtype=np.float64), (self.heads,))
        self._first_rates = self._rates
        if isinstance(phases, str):
            spread = 2 * np.pi * np.arange(self.heads) / self.heads
            self._first_phases = spread if phases == "spread" else self._rng.uniform(0, 2 * np.pi, self.heads)
        else:
            self._first_phases = np.broadcast_to(np.asarray(phases, dtype=np.float64), (self.heads,))
        self._anchor = (0, self._first_phases)
        self._newest = 0

    @property
    def omega(self) -> float:
        """The common angular rate; of several rates, the first."""
        return float(self._rates[0])

    @omega.setter
    def omega(self, value: float) -> None:
        if (self._rates != value).any():
            self._anchor = (self._newest, self.phase(self._newest))
            self._rates = np.full(self.heads, value, dtype=np.float64)

    def phase(self, half: int) -> NDArray[np.float64]:
        """omega_h t + phi_h, shape (H,), radians."""
        since, phases = self._anchor
        return phases + self._rates * ((half - since) * self.dt / 2)

    def theta(self, half: int) -> Heads:
        self._newest = half
        return super().theta(half)

    def _restart(self) -> None:
        self._rates = self._first_rates
        self._anchor = (0, self._first_phases)
        self._newest = 0


class Oscillating(_Phased):
    """theta_h(t) = M + A cos(omega_h t + phi_h): never settles."""

    kind = "oscillating"

    def __init__(self, *, M: MatrixLike = 0.0, A: MatrixLike = 1.0, **phased: Any) -> None:
        super().__init__(**phased)
        self.M = matrix(M)
        self.A = matrix(A)

    def law(self, half: int) -> Heads:
        return self.M + np.cos(self.phase(half))[:, None, None] * self.A


class Rotating(_Phased):
    """theta_h(t) = R D R^T, R the rotation by omega_h t + phi_h about `axis`, D = diag(eigenvalues): never settles."""

    kind = "rotating"

    def __init__(self, *, eigenvalues: Sequence[float], axis: str | Sequence[float] = "z", **phased: Any) -> None:
        super().__init__(**phased)
        self.D = np.diag(np.asarray(eigenvalues, dtype=np.float64))
        vector = np.eye(3)["xyz".index(axis)] if isinstance(axis, str) else np.asarray(axis, dtype=np.float64)
        self.axis = vector / np.linalg.norm(vector)

    def law(self, half: int) -> Heads:
        R = rotation(self.axis, self.phase(half))
        theta = R @ self.D @ R.transpose(0, 2, 1)
        symmetric: Heads = (theta + theta.transpose(0, 2, 1)) / 2  # to the bit
        return symmetric


class PaperOscillating(Schedule):
    """d theta_h/dt = target_h(t) - theta_h with the paper's trigonometric target, solved in closed form.

    An entry of the target c + p cos(w t + f) has the particular solution c + p (cos(w t + f) + w sin(w t + f)) / (1 + w^2);
    theta(t) is that plus a transient e^{-t}. `phase`: "in_phase" (u = t for all heads), "shifted" (u = t + 2 pi h/H) or
    "detuned" (the fast entries sin(2t + 2 pi h/H) and cos(2t + 2 pi h/H), the slow ones shifted).
    """

    kind = "paper_oscillating"

    def __init__(self, *, theta0: MatrixLike | str = "random", phase: str = "in_phase", **common: Any) -> None:
        super().__init__(**common)
        shift = np.zeros(self.heads) if phase == "in_phase" else 2 * np.pi * np.arange(self.heads) / self.heads
        fast = 2 * shift if phase == "shifted" else shift
        quarter = np.pi / 2
        # (row, column): constant, amplitude, rate, phase of a cosine
        self._entries = {
            (0, 0): (2.0, 1.5, 1.0, shift),
            (1, 1): (2.0, 1.5, 1.0, shift - quarter),
            (2, 2): (2.0, 1.5, 1.0, shift + np.pi / 4),
            (0, 1): (0.0, 1.0, 2.0, fast - quarter),
            (0, 2): (0.0, 1.0, 1.0, shift - quarter),
            (1, 2): (0.0, 1.0, 2.0, fast),
        }
        self._transient = self._theta0(theta0) - self._particular(0.0)

    def target(self, t: float) -> Heads:
        """target_h(t), shape (H, 3, 3)."""
        return self._fill(lambda c, p, w, f: c + p * np.cos(w * t + f))

    def law(self, half: int) -> Heads:
        t = half * self.dt / 2
        theta: Heads = self._particular(t) + np.exp(-t) * self._transient
        return theta

    def _particular(self, t: float) -> Heads:
        return self._fill(lambda c, p, w, f: c + p * (np.cos(w * t + f) + w * np.sin(w * t + f)) / (1 + w * w))

    def _fill(self, entry: Any) -> Heads:
        out = np.empty((self.heads, 3, 3))
        for (i, j), parameters in self._entries.items():
            out[:, i, j] = out[:, j, i] = entry(*parameters)
        return out


SCHEDULES: dict[str, type[Schedule]] = {law.kind: law for law in (Static, OU, Oscillating, Rotating, PaperOscillating)}


def matrix(value: MatrixLike) -> NDArray[np.float64]:
    """c -> c I, three numbers -> their diagonal matrix, three rows -> themselves. Raises ValueError for another shape."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0:
        return float(array) * np.eye(3)
    if array.shape == (3,):
        return np.diag(array)
    if array.shape == (3, 3):
        return array
    raise ValueError(f"a matrix is one number, three numbers or three rows of three; got shape {array.shape}")


def rotation(axis: NDArray[np.float64], angles: NDArray[np.float64]) -> Heads:
    """Rodrigues: the rotations by `angles` (H,) about the unit vector `axis`, shape (H, 3, 3)."""
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    sin, cos = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    R: Heads = np.eye(3) + sin * K + (1 - cos) * (K @ K)
    return R

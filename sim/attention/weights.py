"""Weight schedules theta_h(t): one class a law, named as in MATHS.md's table. What they share stands in `schedule`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.attention.keyframes import Keyframes
from sim.attention.noise import OUPath
from sim.attention.schedule import Heads, MatrixLike, PerHead, Running, Schedule, matrix, rotation

__all__ = ["SCHEDULES", "Heads", "MatrixLike", "Schedule", "matrix", "rotation"]


class Static(Schedule):
    """theta_h fixed: the autonomous system."""

    kind = "static"

    def __init__(self, *, theta: MatrixLike | str = 1.0, **common: Any) -> None:
        super().__init__(**common)
        self._fixed = self._matrices(theta)

    def law(self, half: float) -> Heads:  # noqa: ARG002  (nothing moves)
        return self._fixed


class OU(Schedule):
    """d theta = kappa (M - theta) dt + sigma dW_sym, dW_sym = (dW + dW^T)/2: the integrable, noisy regime.

    Sampled exactly: theta' = M + a (theta - M) + sigma sqrt((1 - a^2) / (2 kappa)) (xi + xi^T)/2, a = exp(-kappa dt/2).
    """

    kind = "ou"
    live = ("kappa", "sigma")

    def __init__(
        self, *, M: MatrixLike = 1.0, theta0: MatrixLike | str = "random", kappa: PerHead, sigma: PerHead, **common: Any
    ) -> None:
        super().__init__(**common)
        self.M = self._matrices(M)
        rates = {name: self._draw(name, value) for name, value in (("kappa", kappa), ("sigma", sigma))}
        self._path = OUPath(lambda: self._matrices(theta0) - self.M, dt=self.dt, rng=self._rng, **rates)

    @property
    def kappa(self) -> float | NDArray[np.float64]:
        """Rate of return to M, one number or one per head."""
        return self._path.kappa

    @kappa.setter
    def kappa(self, value: float) -> None:
        self._path.kappa = value

    @property
    def sigma(self) -> float | NDArray[np.float64]:
        """Strength of the noise, one number or one per head."""
        return self._path.sigma

    @sigma.setter
    def sigma(self, value: float) -> None:
        self._path.sigma = value

    def law(self, half: float) -> Heads:
        return self.M + self._path.at(half)

    def random_parts(self) -> list[OUPath]:
        return [self._path, *super().random_parts()]

    def _restart(self) -> None:
        self._path.reset()


class Decaying(Schedule):
    """theta_h(t) = M + (theta_0 - M) exp(-kappa t): integrable and deterministic. Changing kappa does not move theta."""

    kind = "decaying"
    live = ("kappa",)

    def __init__(self, *, M: MatrixLike = 1.0, theta0: MatrixLike | str = "random", kappa: PerHead = 1.0, **common: Any) -> None:
        super().__init__(**common)
        self.M = self._matrices(M)
        self._decay = Running(np.zeros(self.heads), self._draw("kappa", kappa), self.dt)  # kappa_h t
        self._deviation = self._matrices(theta0) - self.M

    @property
    def kappa(self) -> NDArray[np.float64]:
        """Rate of decay per head, (H,)."""
        return self._decay.rates

    @kappa.setter
    def kappa(self, value: float) -> None:
        self._decay.change(value, self._newest)

    def law(self, half: float) -> Heads:
        theta: Heads = self.M + np.exp(-self._decay.at(half))[:, None, None] * self._deviation
        return theta

    def _restart(self) -> None:
        self._decay.restart()


class _Phased(Schedule):
    """Laws with a phase omega_h t + phi_h. Changing omega keeps every phase continuous."""

    live = ("omega",)

    def __init__(self, *, omega: PerHead = 1.0, phases: PerHead | str = "spread", **common: Any) -> None:
        super().__init__(**common)
        rates = self._draw("omega", omega)
        if isinstance(phases, str):
            spread = 2 * np.pi * np.arange(self.heads) / self.heads
            first = spread if phases == "spread" else self._rng.uniform(0, 2 * np.pi, self.heads)
        else:
            first = self._draw("phases", phases)
        self._angle = Running(first, rates, self.dt)

    @property
    def omega(self) -> float:
        """The common angular rate; of several rates, the first."""
        return float(self._angle.rates[0])

    @omega.setter
    def omega(self, value: float) -> None:
        self._angle.change(value, self._newest)

    def phase(self, half: float) -> NDArray[np.float64]:
        """omega_h t + phi_h, shape (H,), radians."""
        return self._angle.at(half)

    def _restart(self) -> None:
        self._angle.restart()


class Oscillating(_Phased):
    """theta_h(t) = M + A cos(omega_h t + phi_h): never settles."""

    kind = "oscillating"

    def __init__(self, *, M: MatrixLike = 0.0, A: MatrixLike = 1.0, **phased: Any) -> None:
        super().__init__(**phased)
        self.M = self._matrices(M)
        self.A = self._matrices(A)

    def law(self, half: float) -> Heads:
        theta: Heads = self.M + np.cos(self.phase(half))[:, None, None] * self.A
        return theta


class Rotating(_Phased):
    """theta_h(t) = R D R^T, R the rotation by omega_h t + phi_h about `axis`, D = diag(eigenvalues): never settles."""

    kind = "rotating"

    def __init__(self, *, eigenvalues: Sequence[float], axis: str | Sequence[float] = "z", **phased: Any) -> None:
        super().__init__(**phased)
        self.D = np.diag(np.asarray(eigenvalues, dtype=np.float64))
        vector = np.eye(3)["xyz".index(axis)] if isinstance(axis, str) else np.asarray(axis, dtype=np.float64)
        self.axis = vector / np.linalg.norm(vector)

    def law(self, half: float) -> Heads:
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
        self._transient = self._matrices(theta0) - self._particular(0.0)

    def target(self, t: float) -> Heads:
        """target_h(t), shape (H, 3, 3)."""
        return self._fill(lambda c, p, w, f: c + p * np.cos(w * t + f))

    def law(self, half: float) -> Heads:
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


SCHEDULES: dict[str, type[Schedule]] = {
    law.kind: law for law in (Static, OU, Decaying, Oscillating, Rotating, PaperOscillating, Keyframes)
}

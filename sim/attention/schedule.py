"""What all weight schedules theta_h(t) share: heads, the time grid, beta, noise, the value matrix, parameters that may move.

Every schedule is a function of the half-step index k, t = k dt / 2, because RK4 asks for the midpoints; random ones are
sampled exactly on that grid. theta has shape (H, 3, 3), float64, and carries the overall factor beta (inverse temperature).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.attention.noise import OUPath

Heads = NDArray[np.float64]  # (H, 3, 3)
MatrixLike = float | Sequence[float] | Sequence[Sequence[float]] | Sequence[Sequence[Sequence[float]]] | NDArray[np.float64]
PerHead = float | Sequence[float] | Mapping[str, Sequence[float]]


class Schedule:
    """The base of every law. `value` replaces the leading theta_h of the velocity; `noise` = {kappa, sigma} is added to it.

    Numbers per head are one number, H numbers, or a law to draw them from: {"normal": (mean, deviation)}, {"uniform": (low,
    high)}. Matrices are what `matrix` reads, or H times three rows. The noise has a random stream of its own, so the law
    itself is the same with and without it. Raises ValueError for a matrix or a list that does not fit.
    """

    kind = ""
    live: tuple[str, ...] = ()  # parameters of this law that may change while it runs, besides beta

    def __init__(
        self,
        *,
        heads: int,
        rng: np.random.Generator,
        dt: float,
        beta: float = 1.0,
        value: MatrixLike | None = None,
        noise: Mapping[str, Any] | None = None,
    ) -> None:
        self.heads = heads
        self.dt = dt
        self.beta = beta
        self.symmetric = True
        self.value = None if value is None else matrices(value, heads)
        own = rng.spawn(1)[0]  # does not move `rng`
        self._rng = rng
        self._rng_start = rng.bit_generator.state
        self._initial: dict[str, float] = {}
        self._newest = 0.0
        self.noise: OUPath | None = None
        if noise is not None:
            rates = {name: draw(name, noise[name], heads, own) for name in ("kappa", "sigma")}
            self.noise = OUPath(lambda: np.zeros((heads, 3, 3)), dt=dt, rng=own, **rates)

    @property
    def why_no_energy(self) -> str | None:
        """Why the flow under these weights has no energy law, in a sentence; None where it has one."""
        if self.value is not None:
            return "a separate value matrix takes the place of theta in the velocity, so there is no energy law"
        return None if self.symmetric else "theta is not symmetric, so there is no energy law"

    def theta(self, half: float) -> Heads:
        """theta_h at t = half * dt / 2, times beta; shape (H, 3, 3). Calls must not go back in time except after `reset`,
        but for the three half steps that a step asks for. Between half steps noise is interpolated.
        """
        self._newest = half
        law = self.law(half)
        theta: Heads = self.beta * (law if self.noise is None else law + self.noise.at(half))
        return theta

    def law(self, half: float) -> Heads:
        """The law of this class at t = half * dt / 2, without beta and noise; shape (H, 3, 3)."""
        raise NotImplementedError(type(self).__name__)

    def random_parts(self) -> list[OUPath]:
        """The random paths in these weights: none for deterministic ones."""
        return [] if self.noise is None else [self.noise]

    def differs(self, values: Mapping[str, float]) -> bool:
        """Would `set_parameters(values)` change something? An unknown name counts as a change."""
        return any(self._owner(name) is None or self._get(name) != value for name, value in values.items())

    def set_parameters(self, values: Mapping[str, float]) -> None:
        """Change live parameters. Raises KeyError, naming the choices, for one that this law does not have."""
        for name, value in values.items():
            owner = self._owner(name)
            if owner is None:
                names = ["beta", *self.live, *(["noise.kappa", "noise.sigma"] if self.noise is not None else [])]
                raise KeyError(f"a {self.kind} schedule has no live parameter {name!r}; it has {', '.join(names)}")
            self._initial.setdefault(name, getattr(owner, name.removeprefix("noise.")))
            setattr(owner, name.removeprefix("noise."), value)

    def reset(self) -> None:
        """Back to t = 0: the same path again, to the bit."""
        for name, value in self._initial.items():
            setattr(self._owner(name), name.removeprefix("noise."), value)
        self._newest = 0.0
        self._rng.bit_generator.state = self._rng_start
        if self.noise is not None:
            self.noise.reset()
        self._restart()

    def _restart(self) -> None:
        """Laws that carry a state start it again here."""

    def _owner(self, name: str) -> Any:
        if name.startswith("noise."):
            return self.noise if name in ("noise.kappa", "noise.sigma") else None
        return self if name in ("beta", *self.live) else None

    def _get(self, name: str) -> float | None:
        """A live parameter's value; None for one number per head, which no single number equals."""
        held = np.unique(getattr(self._owner(name), name.removeprefix("noise.")))
        return float(held[0]) if len(held) == 1 else None

    def _draw(self, name: str, value: PerHead) -> NDArray[np.float64]:
        """One number per head, (H,). What is drawn here stays drawn: `reset` rewinds to after it."""
        numbers = draw(name, value, self.heads, self._rng)
        self._rng_start = self._rng.bit_generator.state
        return numbers

    def _matrices(self, value: MatrixLike | str) -> Heads:
        """(H, 3, 3): a matrix for all heads, one for each, or "random": Z + Z^T, Z standard normal, head by head."""
        if isinstance(value, str):
            z = self._rng.standard_normal((self.heads, 3, 3))
            symmetric: Heads = z + z.transpose(0, 2, 1)
            return symmetric
        theta = matrices(value, self.heads)
        self.symmetric &= np.array_equal(theta, theta.transpose(0, 2, 1))
        return theta


class Running:
    """A quantity per head that grows at a rate which may be changed by hand: the past keeps the old rate, so it never jumps."""

    def __init__(self, start: NDArray[np.float64], rates: NDArray[np.float64], dt: float) -> None:
        self._first = (start, rates)
        self._dt = dt
        self.restart()

    def restart(self) -> None:
        """Back to t = 0 and to the first rates."""
        self._anchor, self.rates = (0.0, self._first[0]), self._first[1]

    def change(self, rate: float, half: float) -> None:
        """From t = half dt / 2 on all heads grow at `rate`."""
        if (self.rates != rate).any():
            self._anchor = (half, self.at(half))
            self.rates = np.full(len(self.rates), rate, dtype=np.float64)

    def at(self, half: float) -> NDArray[np.float64]:
        """Its value at t = half dt / 2, shape (H,)."""
        since, value = self._anchor
        grown: NDArray[np.float64] = value + self.rates * ((half - since) * self._dt / 2)
        return grown


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


def matrices(value: MatrixLike, heads: int) -> Heads:
    """(H, 3, 3) from one matrix for all heads, as `matrix` reads it, or from a list of `heads` of three rows each."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim != 3:
        return np.tile(matrix(value), (heads, 1, 1))
    if array.shape != (heads, 3, 3):
        raise ValueError(f"matrices of shape {array.shape} for {heads} heads; ({heads}, 3, 3) is wanted")
    return array


def draw(name: str, value: PerHead, heads: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """One number per head, (H,): a number, a list, or drawn from {"normal": (mean, deviation)} or {"uniform": (low, high)}.

    Raises ValueError for a list of another length, an unknown law, or a `kappa` or `sigma` that came out of range.
    """
    if isinstance(value, Mapping):
        ((law, (first, second)),) = value.items()
        if law not in ("normal", "uniform"):
            raise ValueError(f"{name}: unknown law {law!r}; choose from normal, uniform")
        numbers = rng.normal(first, second, heads) if law == "normal" else rng.uniform(first, second, heads)
    else:
        numbers = np.asarray(value, dtype=np.float64)
        if numbers.ndim > 0 and numbers.shape != (heads,):
            raise ValueError(f"{name}: {numbers.size} numbers for {heads} heads")
        numbers = np.broadcast_to(numbers, (heads,))
    bad = numbers <= 0 if name == "kappa" else numbers < 0 if name == "sigma" else np.zeros(heads, dtype=bool)
    if bad.any():
        raise ValueError(f"{name} of head {int(np.argmax(bad))} is {numbers[np.argmax(bad)]:g}, which is out of its range")
    return numbers


def rotation(axis: NDArray[np.float64], angles: NDArray[np.float64]) -> Heads:
    """Rodrigues: the rotations by `angles` (H,) about the unit vector `axis`, shape (H, 3, 3)."""
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    sin, cos = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    R: Heads = np.eye(3) + sin * K + (1 - cos) * (K @ K)
    return R

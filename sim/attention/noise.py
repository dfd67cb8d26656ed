"""Exact Ornstein-Uhlenbeck deviations: the noise of the `ou` law, and of any other law that it is added to."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

KEPT = 3  # a step asks for its start, midpoint and end


class OUPath:
    """One path d_h(t) of d' = -kappa d + sigma W_sym', W_sym' symmetric white noise, head by head, sampled exactly.

    On the half-step grid d <- a d + sigma sqrt((1 - a^2) / (2 kappa)) (xi + xi^T)/2, a = exp(-kappa dt/2). kappa (1/time) and
    sigma (1/sqrt(time)) are one number or one per head, shape (H,), and may be changed between two samples. `start` gives
    d_h(0), (H, 3, 3), each time that the path begins.
    """

    def __init__(
        self,
        start: Callable[[], NDArray[np.float64]],
        *,
        kappa: float | NDArray[np.float64],
        sigma: float | NDArray[np.float64],
        dt: float,
        rng: np.random.Generator,
    ) -> None:
        self.kappa, self.sigma, self.dt = kappa, sigma, dt
        self._start, self._rng = start, rng
        self._rng_start = rng.bit_generator.state
        self._begin()

    def reset(self) -> None:
        """Back to t = 0: the same path again, to the bit."""
        self._rng.bit_generator.state = self._rng_start
        self._begin()

    def at(self, half: float) -> NDArray[np.float64]:
        """d_h at t = half dt / 2, shape (H, 3, 3); between two samples, which only a step probe asks for, linear."""
        return self._read(self._recent, half)

    def martingale(self, half: float) -> NDArray[np.float64]:
        """The sum of all random increments up to t = half dt / 2, shape (H, 3, 3): what of d_h is no drift."""
        return self._read(self._shocks, half)

    def variance(self, half: float) -> NDArray[np.float64]:
        """The variance on the diagonal of `martingale(half)`, (H,) or (1,); off the diagonal it is half of it."""
        return self._read(self._variances, half)

    def increment_deviation(self) -> NDArray[np.float64]:
        """Deviation of a half step's random increment on the diagonal, (H,) or (1,); off the diagonal it is 1/sqrt 2 of it."""
        kappa, sigma = np.atleast_1d(self.kappa), np.atleast_1d(self.sigma)
        spread: NDArray[np.float64] = sigma * np.sqrt(-np.expm1(-kappa * self.dt) / (2 * kappa))
        return spread

    def _begin(self) -> None:
        self._half = 0
        self._recent = [self._start()]
        self._shocks = [np.zeros_like(self._recent[0])]
        self._variances = [np.zeros_like(np.atleast_1d(self.kappa + self.sigma))]

    def _advance(self) -> None:
        decay = np.exp(-np.atleast_1d(self.kappa) * self.dt / 2)[:, None, None]
        xi = self._rng.standard_normal(self._recent[-1].shape)
        spread = self.increment_deviation()
        shock = spread[:, None, None] * (xi + xi.transpose(0, 2, 1)) / 2
        self._recent.append(decay * self._recent[-1] + shock)
        self._shocks.append(self._shocks[-1] + shock)
        self._variances.append(self._variances[-1] + spread**2)
        self._half += 1
        del self._recent[:-KEPT], self._shocks[:-KEPT], self._variances[:-KEPT]

    def _read(self, samples: list[NDArray[np.float64]], half: float) -> NDArray[np.float64]:
        last = math.ceil(half)
        while self._half < last:
            self._advance()
        first = self._half - len(samples) + 1
        if math.floor(half) < first:
            raise ValueError(f"the path at half step {half:g} is gone; it is kept from {first} on")
        upper = samples[last - first]
        if last == half:
            return upper
        lower = samples[last - 1 - first]
        return lower + (half - (last - 1)) * (upper - lower)

"""Mini-batches in closed form: Phi_nu with a random nu of mean mu against the ellipse of Phi_mu, |mu| < 2.

With f = a b - nu,   D_mu(Phi_nu(a, b)) = D (1 + mu f + f^2) + 4 f (mu - nu),   E D' = (1 + mu e + e^2) D + (4 + D) Var(nu).
Everything float64; array arguments are elementwise. Source: arXiv 2605.21292.
"""

import math

import numpy as np

from sim.two_factor.charts import Array, ellipse_level


def batch_deviation(tau: float, batch: int) -> float:
    """Standard deviation of the mean of `batch` samples of deviation tau."""
    return tau / math.sqrt(batch)


def level_after_batch(a: Array, b: Array, mu: float, nu: Array) -> Array:
    """D_mu after one step of Phi_nu. From inside, this one batch carries the point across the ellipse iff it is positive."""
    d, f = ellipse_level(a, b, mu), a * b - nu
    return d * (1 + mu * f + f * f) + 4 * f * (mu - nu)


def crosses(a: Array, b: Array, mu: float, nu: Array) -> Array:
    """Does one step of Phi_nu carry a point from inside the ellipse of Phi_mu to its outside?"""
    return (ellipse_level(a, b, mu) < 0) & (level_after_batch(a, b, mu, nu) > 0)


def mean_level(a: Array, b: Array, mu: float, variance: float) -> Array:
    """E D' over nu of mean mu and this variance."""
    d, e = ellipse_level(a, b, mu), a * b - mu
    return (1 + mu * e + e * e) * d + (4 + d) * variance


def collapses(values: np.ndarray, weights: np.ndarray) -> bool:
    """Does the origin attract under the discrete law of nu, E log|1 + nu| < 0 and E log|1 - nu| < 0?

    Its multipliers are 1 + nu along the balanced line and 1 - nu across.
    """
    values, weights = np.asarray(values, dtype=float), np.asarray(weights, dtype=float)
    with np.errstate(divide="ignore"):
        along, across = (weights @ np.log(np.abs(1 + sign * values)) for sign in (1, -1))
    return bool(along < 0 and across < 0)

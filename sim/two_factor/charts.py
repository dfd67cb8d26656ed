"""The charts that the mathematics of Phi_mu is written in, float64 and without Taichi.

    s = a + b,  w = a - b,   s^2 - w^2 = 4 (e + mu),   s' = (1 - e) s,   w' = (1 + e) w
    e' = e (1 + mu e + e^2 - (a^2 + b^2))
    D = s^2 / (2 + mu) + w^2 / (2 - mu) - 4,   D' = (1 + mu e + e^2) D        |mu| < 2

Arguments are floats or arrays of any shape, elementwise. Source: arXiv 2605.21292.
"""

from typing import Any

import numpy as np

Array = Any  # float or np.ndarray; the functions are elementwise and keep the type they are given


def to_sw(a: Array, b: Array) -> tuple[Array, Array]:
    """(a, b) -> (s, w), the balanced and the antibalanced coordinate."""
    return a + b, a - b


def from_sw(s: Array, w: Array) -> tuple[Array, Array]:
    """(s, w) -> (a, b), the inverse of `to_sw`."""
    return (s + w) / 2, (s - w) / 2


def from_ew(e: Array, w: Array, mu: Array) -> tuple[Array, Array]:
    """(e, w) -> (a, b) with s >= 0, from s^2 = 4 (e + mu) + w^2; NaN where that is negative."""
    with np.errstate(invalid="ignore"):
        s = np.sqrt(4 * (np.asarray(e) + mu) + np.asarray(w) ** 2)
    return from_sw(s, w)


def ellipse_level(a: Array, b: Array, mu: float) -> Array:
    """D(a, b): negative inside the invariant ellipse, positive outside. Raises ValueError unless |mu| < 2."""
    require_ellipse(mu)
    s, w = to_sw(a, b)
    return s * s / (2 + mu) + w * w / (2 - mu) - 4


def barycentric(a: Array, b: Array, mu: float) -> tuple[Array, Array, Array]:
    """(X, Y, Z) with X + Y + Z = 1: X = s^2/(4(2+mu)), Y = w^2/(4(2-mu)), Z = -D/4. One triangle for every |mu| < 2:
    Y = 0 is the balanced line, X = 0 the antibalanced one, Z = 0 the ellipse; e = 2 (X - Y) - mu Z."""
    require_ellipse(mu)
    s, w = to_sw(a, b)
    x, y = s * s / (4 * (2 + mu)), w * w / (4 * (2 - mu))
    return x, y, 1 - x - y


def from_barycentric(x: Array, y: Array, mu: float) -> tuple[Array, Array]:
    """(X, Y) -> the preimage (a, b) with s, w >= 0; NaN for negative X or Y."""
    require_ellipse(mu)
    with np.errstate(invalid="ignore"):
        return from_sw(np.sqrt(4 * (2 + mu) * np.asarray(x)), np.sqrt(4 * (2 - mu) * np.asarray(y)))


def barycentric_step(x: Array, y: Array, z: Array, mu: float) -> tuple[Array, Array, Array]:
    """Phi_mu in the triangle: X' = (1-e)^2 X, Y' = (1+e)^2 Y, Z' = (1 + mu e + e^2) Z."""
    e = 2 * (x - y) - mu * z
    return (1 - e) ** 2 * x, (1 + e) ** 2 * y, (1 + mu * e + e * e) * z


def mirror(a: Array, b: Array, mu: Array) -> tuple[Array, Array, Array]:
    """The conjugacy mu < 0 <-> mu > 0: (a, b, mu) -> (a, -b, -mu). Phi commutes with it."""
    return a, -b, -mu


def require_ellipse(mu: float) -> None:
    """Raises ValueError unless |mu| < 2."""
    if not abs(mu) < 2:
        raise ValueError(f"the invariant ellipse exists for |mu| < 2 only, not for mu = {mu!r}")

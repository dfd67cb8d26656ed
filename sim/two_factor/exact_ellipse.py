"""The invariant ellipse of Phi_mu, |mu| < 2, in closed form: the exact boundary of bounded orbits (MATHS: D and D').

    D = s^2/(2+mu) + w^2/(2-mu) - 4,  D' = (1 + mu e + e^2) D;  D < 0 iff a^2 + b^2 < 4 + mu e

In u = s/sqrt2, w/sqrt2 its semi-axes are sqrt(2 (2+mu)) along the balanced line and sqrt(2 (2-mu)) across. On it e = 2 cos t
and one step triples t. Everything float64; array arguments are elementwise; ValueError unless |mu| < 2. Source: arXiv 2605.21292.
"""

import math

import numpy as np

from sim.two_factor.charts import Array, require_ellipse


def ellipse_axes(mu: float) -> tuple[float, float]:
    """Semi-axes (along a = b, along a = -b): sqrt(2 (2 + mu)), sqrt(2 (2 - mu))."""
    require_ellipse(mu)
    return math.sqrt(2 * (2 + mu)), math.sqrt(2 * (2 - mu))


def ellipse_area(mu: float) -> float:
    """pi times both semi-axes: 2 pi sqrt(4 - mu^2)."""
    require_ellipse(mu)
    return 2 * math.pi * math.sqrt(4 - mu * mu)


def ellipse_point(t: Array, mu: float) -> tuple[Array, Array]:
    """(a, b) on the ellipse where s = 2 sqrt(2+mu) cos(t/2), w = 2 sqrt(2-mu) sin(t/2), so that e = 2 cos t.

    t in [0, 4 pi) goes round once; Phi_mu maps the point of t to one with e = 2 cos 3t.
    """
    require_ellipse(mu)
    half = np.asarray(t) / 2
    s, w = 2 * math.sqrt(2 + mu) * np.cos(half), 2 * math.sqrt(2 - mu) * np.sin(half)
    return (s + w) / 2, (s - w) / 2


def ellipse_curve(mu: float, points: int = 721) -> np.ndarray:
    """A closed polygon (points, 2) on the ellipse, first point = last, even in t: for drawing."""
    return np.stack(ellipse_point(np.linspace(0, 4 * math.pi, points), mu), axis=-1)


def inside_ellipse(a: Array, b: Array, mu: float) -> Array:
    """True where D < 0, as a^2 + b^2 < 4 + mu e."""
    require_ellipse(mu)
    return a * a + b * b < 4 + mu * (a * b - mu)


def ellipse_distance(a: Array, b: Array, mu: float) -> np.ndarray:
    """Signed euclidean distance to the ellipse, negative inside, to a few roundings of its size.

    With semi-axes q <= p, the nearest point to (u, v) is (p^2 u/(t + p^2 - q^2), q^2 v/t), t >= 0 the root of
    (p u/(t + p^2 - q^2))^2 + (q v/t)^2 = 1 (D. Eberly, Distance from a point to an ellipse); the left side falls with t,
    so bisection between sure bounds always ends.
    """
    along, across = ellipse_axes(mu)
    u, v = np.abs(np.asarray(a) + b) / math.sqrt(2), np.abs(np.asarray(a) - b) / math.sqrt(2)
    if mu < 0:
        along, across, u, v = across, along, v, u
    gap = 4 * abs(mu)  # p^2 - q^2
    low, high = across * v, np.hypot(along * u, across * v)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(110):
            t = (low + high) / 2
            # 0/0 counts as 0: on an axis, and at the centre of a circle
            above = np.nan_to_num(along * u / (t + gap)) ** 2 + np.nan_to_num(across * v / t) ** 2 > 1
            low, high = np.where(above, t, low), np.where(above, high, t)
        near_u = np.minimum(np.nan_to_num(along**2 * u / (high + gap)), along)
        on_axis = across * np.sqrt(1 - (near_u / along) ** 2)  # v = 0: either side is as near
        near_v = np.where(v > 0, across**2 * v / high, on_axis)
    distance: np.ndarray = np.hypot(near_u - u, near_v - v)
    inside = inside_ellipse(np.asarray(a), np.asarray(b), mu)
    return np.asarray(np.where(inside, -distance, distance))


def lambda_perp(mu: float) -> float:
    """Transverse Lyapunov exponent of the ellipse, <log(1 + mu e + e^2)> over the arcsine measure of e = 2 cos t.

    2 log|z| with z + 1/z = (-mu + i sqrt(4 - mu^2))/2 and |z| > 1. Positive below |mu| = 2: the ellipse repels.
    """
    if not abs(mu) <= 2:
        raise ValueError(f"lambda_perp is known for |mu| <= 2, not for mu = {mu!r}")
    half = complex(-mu, math.sqrt(4 - mu * mu)) / 4
    root = (half * half - 1) ** 0.5
    return 2 * abs(math.log(abs(half + root)))  # the two roots are each other's inverse


def lambda_perp_arccosh(mu: float) -> float:
    """The same in the other form: 2 arccosh((sqrt(5 + 2 mu) + sqrt(5 - 2 mu))/4)."""
    if not abs(mu) <= 2:
        raise ValueError(f"lambda_perp is known for |mu| <= 2, not for mu = {mu!r}")
    return 2 * math.acosh(max(1.0, (math.sqrt(5 + 2 * mu) + math.sqrt(5 - 2 * mu)) / 4))


LAMBDA_TANGENT = math.log(3)
"""Lyapunov exponent along the ellipse: angles triple."""


def lyapunov_function(a: Array, b: Array, mu: float) -> Array:
    """V = |D| / (|s|^{(2-mu)/2} |w|^{(2+mu)/2}): inside, for 0 < mu < 2, never falls, and rises unless e = 0.

    Infinite on both invariant lines s = 0 and w = 0.
    """
    require_ellipse(mu)
    s, w = np.abs(np.asarray(a) + b), np.abs(np.asarray(a) - b)
    level = s * s / (2 + mu) + w * w / (2 - mu) - 4
    with np.errstate(divide="ignore"):
        return np.abs(level) / (s ** ((2 - mu) / 2) * w ** ((2 + mu) / 2))

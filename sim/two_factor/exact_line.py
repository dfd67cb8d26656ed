"""The balanced line a = b of Phi_mu in closed form: phases and thresholds, periodic points, multipliers, windows.

On it x = a = b and, with c = 1 + mu,

    x' = x (c - x^2)                                             bounded on |x| <= sqrt(2 + mu) for mu <= 2
    e' = F_mu(e) = e^3 + (mu - 2) e^2 + (1 - 2 mu) e             e = x^2 - mu

mu > 0 throughout: mu < 0 is its mirror image (`charts.mirror`), with a = -b. Plain floats, or arrays elementwise.
Source: arXiv 2605.21292.
"""

import math
from typing import Literal

from sim.two_factor.charts import Array

Phase = Literal["monotone", "catapult", "period 2", "bounded chaos", "divergence"]

MU_MONOTONE = 2 * math.sqrt(2) - 2
"""0.828427: up to here |e| never rises on the bounded part of the balanced line (it alternates near 0 from 1/2 on)."""
MU_CATAPULT = 1.0
"""Up to here part of the zero-error curve attracts."""
MU_PERIOD2 = math.sqrt(5) - 1
"""1.236068: up to here the orbit of period 2 attracts along the line, 9 - 2 (1 + mu)^2 = -1."""
MU_DOUBLINGS = 1.302283
"""Where the period doublings accumulate (computed, to the digits given)."""
MU_CRISIS = 3 * math.sqrt(3) / 2 - 1
"""1.598076: the critical value reaches the zero of the map; from here on the attractors x > 0 and x < 0 are one."""
MU_PERIOD4 = (2 * math.sqrt(2) - 1, math.sqrt((13 + math.sqrt(369)) / 4) - 1)
"""1.828427 to 1.837665: between them attracts the orbit x, y, -x, -y, of period 4 in (a, b) and 2 in e."""
MU_BOUNDED = 2.0
"""Up to here bounded orbits fill the ellipse; beyond it almost every orbit diverges."""


def phase(mu: float) -> Phase:
    """What the balanced line does at |mu|. Every threshold belongs to the phase below it but sqrt5 - 1, where period 2 ends."""
    size = abs(mu)
    if size <= MU_MONOTONE:
        return "monotone"
    if size <= MU_CATAPULT:
        return "catapult"
    if size < MU_PERIOD2:
        return "period 2"
    return "bounded chaos" if size <= MU_BOUNDED else "divergence"


def error_step(e: Array, mu: float) -> Array:
    """F_mu(e): the error's own map on the balanced line."""
    return ((e + (mu - 2)) * e + (1 - 2 * mu)) * e


def balanced_step(x: Array, mu: float) -> Array:
    """x (1 + mu - x^2)."""
    return x * (1 + mu - x * x)


def balanced_multiplier(x: Array, mu: float) -> Array:
    """Derivative along the line, 1 + mu - 3 x^2; its mean logarithm is the Lyapunov exponent along."""
    return 1 + mu - 3 * x * x


def transverse_multiplier(x: Array, mu: float) -> Array:
    """w'/w = 1 + e at (x, x); its mean logarithm is the Lyapunov exponent across."""
    return 1 + x * x - mu


def balanced_bound(mu: float) -> float:
    """sqrt(2 + mu): for mu <= 2 orbits on the line are bounded iff |x| is at most this."""
    return math.sqrt(2 + mu)


def critical_point(mu: float) -> float:
    """x > 0 where the derivative along the line vanishes, sqrt((1 + mu)/3)."""
    return math.sqrt((1 + mu) / 3)


def period2_points(mu: float) -> tuple[float, float]:
    """(x_1, x_2), x_1 >= x_2 > 0: x^2 = ((1+mu) +- sqrt((1+mu)^2 - 4))/2, product 1. Raises ValueError for mu < 1."""
    c = 1 + mu
    if mu < 1:
        raise ValueError(f"the orbit of period 2 exists from mu = 1 on, not at mu = {mu!r}")
    larger = math.sqrt((c + math.sqrt(c * c - 4)) / 2)
    return larger, 1 / larger


def period2_multiplier(mu: float) -> float:
    """Multiplier of the period-2 orbit along the line, over its two steps: 9 - 2 (1 + mu)^2."""
    return 9 - 2 * (1 + mu) ** 2


def period2_transverse(mu: float) -> float:
    """Its multiplier across the line, over two steps: 3 - 2 mu, so it attracts across for 1 < mu < 2."""
    return 3 - 2 * mu


def period4_points(mu: float) -> tuple[float, float]:
    """(x, y) > 0 of the orbit x, y, -x, -y that attracts along the line between MU_PERIOD4.

    u = c - x^2 and v = c - y^2 have u v = -1 and u + v = p with p^2 - c p + 2 = 0; the smaller p is the attracting one.
    Raises ValueError below 2 sqrt2 - 1.
    """
    c = 1 + mu
    if c * c < 8:
        raise ValueError(f"the orbit x, y, -x, -y exists from mu = 2 sqrt2 - 1 on, not at mu = {mu!r}")
    p = (c - math.sqrt(c * c - 8)) / 2
    u = (p + math.sqrt(p * p + 4)) / 2
    return math.sqrt(c - u), math.sqrt(c + 1 / u)


def period4_multiplier(mu: float) -> float:
    """Multiplier of that orbit of e over its two steps: 9 + 6 c p - 4 c^2, from 1 (born) to -1 (doubling)."""
    c = 1 + mu
    p = (c - math.sqrt(c * c - 8)) / 2
    return 9 + 6 * c * p - 4 * c * c


def superstable(period: int, guess: float, sign: int = 1) -> float:
    """mu near `guess` at which f^period(x_c) = sign x_c for the critical point x_c, to rounding, by Newton's method.

    sign = 1: that period in x and e. sign = -1: that period in e, twice it in x (the orbit takes both signs).
    Raises ArithmeticError where Newton's method does not settle within 0.05 of the guess.
    """
    mu = guess
    for _ in range(60):
        x = start = critical_point(mu)
        dx = d_start = 1 / (6 * start)  # d/d mu
        for _ in range(period):
            x, dx = balanced_step(x, mu), balanced_multiplier(x, mu) * dx + x
        change = (x - sign * start) / (dx - sign * d_start)
        mu -= change
        if abs(mu - guess) > 0.05:
            break
        if abs(change) < 4e-16 * period:
            return mu
    raise ArithmeticError(f"no superstable orbit of period {period} found near mu = {guess!r}")


def window3() -> float:
    """1.7002952: the superstable parameter of the period-3 window of e, which contains 1.70 (period 6 in x)."""
    return superstable(3, 1.7, sign=-1)


def superstable_doublings(count: int) -> list[float]:
    """The first `count` superstable parameters of period 2, 4, 8, ...: 3/sqrt2 - 1 = 1.1213203, 1.2629897, 1.2938433, ...

    Each next guess takes the last gap over 4.67 (Feigenbaum).
    """
    found = [3 / math.sqrt(2) - 1, superstable(4, 1.263)]
    while len(found) < count:
        found.append(superstable(2 ** (len(found) + 1), found[-1] + (found[-1] - found[-2]) / 4.67))
    return found[:count]

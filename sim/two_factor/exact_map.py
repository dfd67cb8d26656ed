"""Closed forms of Phi_mu over the whole plane: fixed points, the landing web, growth at infinity, the reduction to it.

Everything float64; array arguments are elementwise. Source: arXiv 2605.21292.
"""

import math

import numpy as np

from sim.two_factor.charts import Array

# --- the zero-error curve a b = mu, all of it fixed points ---


def fixed_point_multipliers(a: Array, b: Array) -> tuple[Array, Array]:
    """Eigenvalues of the Jacobian on the curve: 1 along it, 1 - (a^2 + b^2) towards it."""
    return 1.0, 1 - (a * a + b * b)


def attracting_reach(mu: float) -> float:
    """Half the length, in log(|a/b|)/2, of each branch's attracting part: a = sqrt|mu| e^t, |t| < arccosh(1/|mu|)/2.

    There a^2 + b^2 = 2 |mu| cosh 2t < 2. Zero for |mu| >= 1, infinite at mu = 0 (the axes).
    """
    if mu == 0:
        return math.inf
    return math.acosh(max(1.0, 1 / abs(mu))) / 2


def zero_error_branches(mu: float, reach: float, points: int = 401) -> list[np.ndarray]:
    """The curve within |a|, |b| <= reach, as polylines (points, 2); first those with a > 0. Empty where it is out of reach."""
    if mu == 0:
        ray, nil = np.linspace(0, reach, points), np.zeros(points)
        return [np.stack(arm, -1) for arm in ((ray, nil), (nil, ray), (-ray, nil), (nil, -ray))]
    if reach * reach < abs(mu):
        return []
    return _branches(mu, math.log(reach / math.sqrt(abs(mu))), points)


def attracting_branches(mu: float, points: int = 201) -> list[np.ndarray]:
    """The attracting part, a^2 + b^2 <= 2, as two polylines (points, 2) (four at mu = 0); empty for |mu| >= 1."""
    if mu == 0:
        return zero_error_branches(0.0, math.sqrt(2), points)
    return _branches(mu, attracting_reach(mu), points) if abs(mu) < 1 else []


def _branches(mu: float, half: float, points: int) -> list[np.ndarray]:
    t = np.linspace(-half, half, points)
    a, b = math.sqrt(abs(mu)) * np.exp(t), math.copysign(math.sqrt(abs(mu)), mu) * np.exp(-t)
    return [np.stack((a, b), -1), np.stack((-a, -b), -1)]


# --- the landing web {e_k = 0}: starts that land exactly on the curve after k steps ---


def web1(a: Array, b: Array, mu: float) -> Array:
    """(1 - a^2)(1 - b^2) - mu a b: zero where e_1 = 0 off the curve, equally a^2 + b^2 = 1 + mu e + e^2."""
    return (1 - a * a) * (1 - b * b) - mu * a * b


def web1_sharpness(e: Array, mu: float) -> Array:
    """a^2 + b^2 = 1 + mu e + e^2 of the k = 1 web at error e."""
    return 1 + mu * e + e * e


def web2_sharpness(e: Array, mu: float) -> tuple[Array, Array]:
    """Both a^2 + b^2 of the k = 2 web at error e != 0, NaN where there is none.

    1 + mu e + e^2 - t with e^2 t^2 + (1 + mu e + e^2) t + K = 0, K = -e (e^3 + mu e^2 - 2 e - 3 mu).
    """
    e = np.asarray(e, dtype=float)
    p = 1 + mu * e + e * e
    k = -e * (((e + mu) * e - 2) * e - 3 * mu)
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(p * p - 4 * e * e * k)
        # p > 0 for |mu| < 2: the root that adds is taken first, the other from the product K/e^2, so none cancels
        far = (-p - root) / (2 * e * e)
        near = np.where(far != 0, k / (e * e * far), 0.0)
    return p - near, p - far


def from_error_sharpness(e: Array, r2: Array, mu: float) -> tuple[Array, Array]:
    """(a, b) with s, w >= 0 of given e and a^2 + b^2: s^2 = r2 + 2 (e + mu), w^2 = r2 - 2 (e + mu); NaN where not real."""
    e, r2 = np.asarray(e, dtype=float), np.asarray(r2, dtype=float)
    with np.errstate(invalid="ignore"):
        s, w = np.sqrt(r2 + 2 * (e + mu)), np.sqrt(r2 - 2 * (e + mu))
    return (s + w) / 2, (s - w) / 2


def web1_balanced(mu: float) -> tuple[float, float]:
    """Errors on the balanced line that land in one step: 1 - mu/2 -+ sqrt(mu (mu + 4))/2, mu >= 0."""
    half = math.sqrt(mu * (mu + 4)) / 2
    return 1 - mu / 2 - half, 1 - mu / 2 + half


# --- infinity ---


def escape_count(k: Array, r2: Array, radius2: float) -> Array:
    """k - log(log r_k^2 / log R^2)/log 3: k the first step with r_k^2 > R^2 = radius2 >= 1e8. Continuous but for O(1/log R),
    since growth at infinity is cubic."""
    return k - np.log(np.log(r2) / math.log(radius2)) / math.log(3)


# --- what the map is the training of ---


def reduction(g: float, eta: float, y: float) -> tuple[float, float]:
    """(c, mu): gradient descent of step eta on (1/2)(a b g - y)^2, seen as (c a, c b), iterates Phi_mu.

    c = g sqrt(eta), mu = eta g y; one-layer linear self-attention on a fixed prompt of scale g with target y.
    Raises ValueError unless eta > 0 and g != 0.
    """
    if not (eta > 0 and g != 0):
        raise ValueError(f"the reduction needs eta > 0 and g != 0, not eta = {eta!r}, g = {g!r}")
    return g * math.sqrt(eta), eta * g * y

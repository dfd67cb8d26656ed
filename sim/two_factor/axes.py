"""What runs along the axes of a plane of starts: from a point of the picture to a start (a, b) and its mu, and back.

    axes         point            start                                              fixed
    a, b         (a, b)           itself                                             mu
    e, w         (e, w)           s = sqrt(4 (e + mu) + w^2) >= 0                    mu
    X, Y         the triangle     X, Y, Z as in `charts.barycentric`, s, w >= 0      mu, |mu| < 2
    mu, x        (mu, x)          (x + w/2, x - w/2)                                 w
    mu, w        (mu, w)          (x + w/2, x - w/2)                                 x
    eta, scale   (eta, scale)     c (scale + w/2, scale - w/2), c = g sqrt(eta)      w, g, y; mu = eta g y

x = (a + b)/2 is the start's place along the balanced line, w = a - b its imbalance; in the last row both are those of the
factors of the real training step, whose step size is eta (`exact_map.reduction`). The triangle is drawn with equal sides
of length 1: corner Z = 1 on top at (0, sqrt3/2), X = 1 at (-1/2, 0), Y = 1 at (1/2, 0). Its sides are the balanced line
(left), the antibalanced one (right) and the ellipse (below); below that side lies the outside, Z < 0.

Everything float64 and elementwise, without Taichi; NaN where a point has no start. Kernels fill grids with the same
formulas (`starts.py`). Source: arXiv 2605.21292.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.two_factor.charts import Array, barycentric, from_barycentric, from_ew

Names = tuple[str, str]
HALF_HEIGHT = math.sqrt(3) / 2  # of a triangle with sides of length 1
ON_SLICE = 1e-9  # relative: a state this near to the fixed parameters belongs to the plane


class Fixed(NamedTuple):
    """The parameters that do not run along an axis; which of them count depends on the axes."""

    mu: float
    x: float = 1.0
    w: float = 0.0
    g: float = 1.0
    y: float = 1.0


@dataclass(frozen=True)
class Axes:
    """One kind of plane. `start(x, y, fixed)` -> (a, b, mu); `place(a, b, mu, fixed)` -> (x, y), NaN for states off the plane."""

    names: Names
    code: int
    """What the kernel of `starts.py` knows it by."""
    start: Callable[[Array, Array, Fixed], tuple[Array, Array, Array]]
    place: Callable[[Array, Array, Array, Fixed], tuple[Array, Array]]
    moves_mu: bool = False
    """mu differs from point to point."""


def _ew_place(a: Array, b: Array, mu: Array, _fixed: Fixed) -> tuple[Array, Array]:
    """A state with s < 0 stands where its image under the half turn (a, b) -> (-a, -b) does."""
    return a * b - mu, (a - b) * np.where(np.asarray(a) + b < 0, -1.0, 1.0)


def _triangle_start(x: Array, y: Array, fixed: Fixed) -> tuple[Array, Array, Array]:
    z = np.asarray(y) / HALF_HEIGHT
    if not abs(fixed.mu) < 2:
        nowhere = np.full(np.broadcast_shapes(np.shape(x), np.shape(y)), np.nan)
        return nowhere, nowhere, nowhere
    return (*from_barycentric((1 - z) / 2 - x, (1 - z) / 2 + x, fixed.mu), fixed.mu)


def _triangle_place(a: Array, b: Array, _mu: Array, fixed: Fixed) -> tuple[Array, Array]:
    if not abs(fixed.mu) < 2:
        return np.full(np.shape(a), np.nan), np.full(np.shape(a), np.nan)
    x, y, z = barycentric(a, b, fixed.mu)
    return (y - x) / 2, z * HALF_HEIGHT


def _eta_start(eta: Array, scale: Array, fixed: Fixed) -> tuple[Array, Array, Array]:
    with np.errstate(invalid="ignore"):
        c = fixed.g * np.sqrt(np.asarray(eta, dtype=float))
    return c * (scale + fixed.w / 2), c * (scale - fixed.w / 2), eta * fixed.g * fixed.y + 0 * c


def _eta_place(a: Array, b: Array, mu: Array, fixed: Fixed) -> tuple[Array, Array]:
    with np.errstate(invalid="ignore", divide="ignore"):
        eta = np.asarray(mu, dtype=float) / (fixed.g * fixed.y)
        c = fixed.g * np.sqrt(eta)
        scale = (a + b) / (2 * c)
        return _on_slice((a - b) / c, fixed.w, eta), _on_slice((a - b) / c, fixed.w, scale)


def _on_slice(value: Array, fixed: float, out: Array) -> NDArray[np.float64]:
    """`out` where `value` is the fixed one, else NaN."""
    return np.where(np.abs(value - fixed) <= ON_SLICE * (1 + abs(fixed)), out, np.nan)


_ALL = (
    Axes(("a", "b"), 0, lambda x, y, fixed: (x, y, fixed.mu), lambda a, b, _mu, _fixed: (a, b)),
    Axes(("e", "w"), 1, lambda x, y, fixed: (*from_ew(x, y, fixed.mu), fixed.mu), _ew_place),
    Axes(("X", "Y"), 2, _triangle_start, _triangle_place),
    Axes(
        ("mu", "x"),
        3,
        lambda x, y, fixed: (y + fixed.w / 2, y - fixed.w / 2, x),
        lambda a, b, mu, fixed: (_on_slice(a - b, fixed.w, mu), _on_slice(a - b, fixed.w, (a + b) / 2)),
        moves_mu=True,
    ),
    Axes(
        ("mu", "w"),
        4,
        lambda x, y, fixed: (fixed.x + y / 2, fixed.x - y / 2, x),
        lambda a, b, mu, fixed: (_on_slice((a + b) / 2, fixed.x, mu), _on_slice((a + b) / 2, fixed.x, a - b)),
        moves_mu=True,
    ),
    Axes(("eta", "scale"), 5, _eta_start, _eta_place, moves_mu=True),
)
AXES: dict[Names, Axes] = {axes.names: axes for axes in _ALL}
"""Every kind of plane by what runs along x and along y."""

"""The integrators as data: what each method is and its order. `stepping` has one stepper for each of the three families.

The velocity field is extended off the sphere as v(x/|x|), tangent to the concentric spheres, so every stage point is
projected before it is evaluated and the declared order survives the projection.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tableau:
    """Explicit Runge-Kutta: x' = x + dt sum_i b_i k_i, k_i = v(x + dt sum_j a_ij k_j, t + c_i dt); c_i in {0, 1/2, 1}."""

    order: int
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    c: tuple[float, ...]


@dataclass(frozen=True)
class TwoStep:
    """Adams-Bashforth: x' = x + dt (now v(x, t) + past v(x_-, t - dt)), one evaluation a step; the first step by `start`."""

    order: int
    now: float
    past: float
    start: Tableau


@dataclass(frozen=True)
class Movement:
    """Minimizing movements (JKO): x' lowers -sign E(x', t + dt) + (1 / (2 dt)) (1/N) sum b(x_i) dist(x'_i, x_i)^2.

    Each step descends until no token would move further than `tolerance` (radians), for f64 and f32, or until rounding
    hides any further descent.
    """

    order: int
    tolerance: dict[str, float]
    most: int  # descent steps


HEUN = Tableau(order=2, a=((), (1.0,)), b=(1 / 2, 1 / 2), c=(0.0, 1.0))

INTEGRATORS: dict[str, Tableau | TwoStep | Movement] = {
    "euler": Tableau(order=1, a=((),), b=(1.0,), c=(0.0,)),
    "heun": HEUN,
    "rk4": Tableau(
        order=4,
        a=((), (1 / 2,), (0.0, 1 / 2), (0.0, 0.0, 1.0)),
        b=(1 / 6, 1 / 3, 1 / 3, 1 / 6),
        c=(0.0, 1 / 2, 1 / 2, 1.0),
    ),
    "ab2": TwoStep(order=2, now=3 / 2, past=-1 / 2, start=HEUN),
    "jko": Movement(order=1, tolerance={"f64": 1e-7, "f32": 1e-4}, most=300),
}

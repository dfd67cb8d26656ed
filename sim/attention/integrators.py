"""Explicit Runge-Kutta methods as data: one tableau each, stepped by one stepper (`flow.AttentionFlow.step`).

The velocity field is extended off the sphere as v(x/|x|), tangent to the concentric spheres, so every stage point is
projected before it is evaluated and the declared order survives the projection.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tableau:
    """x' = x + dt sum_i b_i k_i, k_i = v(x + dt sum_j a_ij k_j, t + c_i dt); c_i in {0, 1/2, 1}."""

    order: int
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    c: tuple[float, ...]


INTEGRATORS = {
    "euler": Tableau(order=1, a=((),), b=(1.0,), c=(0.0,)),
    "heun": Tableau(order=2, a=((), (1.0,)), b=(1 / 2, 1 / 2), c=(0.0, 1.0)),
    "rk4": Tableau(
        order=4,
        a=((), (1 / 2,), (0.0, 1 / 2), (0.0, 0.0, 1.0)),
        b=(1 / 6, 1 / 3, 1 / 3, 1 / 6),
        c=(0.0, 1 / 2, 1 / 2, 1.0),
    ),
}

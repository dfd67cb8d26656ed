"""Every closed form known about Phi_mu, in plain float64: one name to import them from, by subject in `exact_*.py`."""

from sim.two_factor.exact_ellipse import (
    LAMBDA_TANGENT,
    ellipse_area,
    ellipse_axes,
    ellipse_curve,
    ellipse_distance,
    ellipse_point,
    inside_ellipse,
    lambda_perp,
    lambda_perp_arccosh,
    lyapunov_function,
)
from sim.two_factor.exact_line import MU_PERIOD2

__all__ = [
    "LAMBDA_TANGENT",
    "MU_PERIOD2",
    "ellipse_area",
    "ellipse_axes",
    "ellipse_curve",
    "ellipse_distance",
    "ellipse_point",
    "inside_ellipse",
    "lambda_perp",
    "lambda_perp_arccosh",
    "lyapunov_function",
]

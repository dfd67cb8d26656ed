"""Axes of planes: point to start and back, kernels against the NumPy formulas, and starts whose place is known by hand."""

import math

import numpy as np
import pytest

from sim.two_factor import theory
from sim.two_factor.axes import AXES, HALF_HEIGHT, Fixed
from sim.two_factor.plane import ESCAPED, LANDED, NO_START, Plane
from tests.sim.two_factor import reference

FIXED = Fixed(mu=0.7, x=0.8, w=0.3, g=1.7, y=0.6)
ALL = sorted(AXES)


@pytest.mark.parametrize("names", ALL)
def test_there_and_back(names):
    """place(start(p)) = p wherever there is a start."""
    axes = AXES[names]
    x, y = np.meshgrid(np.linspace(-1.9, 2.1, 41), np.linspace(-1.7, 1.8, 37))
    a, b, mu = axes.start(x, y, FIXED)
    back_x, back_y = axes.place(a, b, mu, FIXED)
    exists = np.isfinite(a) & np.isfinite(b) & (x != 0)  # at eta = 0 every scale is the same start
    assert exists.sum() > 100
    np.testing.assert_allclose(back_x[exists], x[exists], atol=1e-12)
    np.testing.assert_allclose(back_y[exists], y[exists], atol=1e-12)


@pytest.mark.parametrize("precision", ["f32", "f64"])
@pytest.mark.parametrize("names", ALL)
def test_kernels_start_where_the_formulas_do(names, precision):
    plane = Plane(
        mu=0.7, axes=names, center=(0.2, 0.1), width=4.0, size=(48, 32), iterations=20, precision=precision,
        start=(0.8, 0.3), prompt=(1.7, 0.6),
    )  # fmt: skip
    found = plane._results._sweep.starts(plane._job)
    a, b, mu = plane.starts()
    label = plane.outcome().to_numpy()
    nowhere = ~np.isfinite(a)
    assert np.array_equal(label == NO_START, nowhere)
    for grid, exact in ((found.a, a), (found.b, b), (found.mu, mu)):
        seen = grid.to_numpy()[:32, :48]
        tolerance = 3e-3 if precision == "f32" else 1e-7  # where s^2 cancels its root loses half the digits
        np.testing.assert_allclose(seen[~nowhere], exact[~nowhere], atol=tolerance)
        assert np.median(np.abs(seen - exact)[~nowhere]) < (1e-6 if precision == "f32" else 1e-15)
    plane.release()


@pytest.mark.parametrize("names", ALL)
def test_outcomes_are_those_of_the_plain_loop(names):
    plane = Plane(
        mu=0.7, axes=names, center=(0.45, 0.33), width=3.7, size=(40, 30), iterations=40, precision="f64",
        start=(0.8, 0.3), prompt=(1.7, 0.6),
    )  # fmt: skip
    a, b, mu = plane.starts()
    exists = np.isfinite(a)
    *_, label = reference.loop(a[exists], b[exists], mu[exists], 40)
    found = plane.outcome().to_numpy()[exists]
    assert np.array_equal(found == ESCAPED, label == -1) and np.array_equal(found == LANDED, label == 1)
    assert plane.diagnostics()["misclassified"] == 0
    plane.release()


def test_corners_and_sides_of_the_triangle():
    axes, mu = AXES["X", "Y"], 0.7
    fixed = Fixed(mu)
    a, b, _ = axes.start(0.0, HALF_HEIGHT, fixed)  # Z = 1: the origin
    assert (a, b) == pytest.approx((0.0, 0.0), abs=1e-7)
    a, b, _ = axes.start(-0.5, 0.0, fixed)  # X = 1: the ellipse's end on the balanced line
    assert (a, b) == pytest.approx((math.sqrt(2 + mu), math.sqrt(2 + mu)))
    a, b, _ = axes.start(0.5, 0.0, fixed)  # Y = 1: the one on the antibalanced line
    assert (a, b) == pytest.approx((math.sqrt(2 - mu), -math.sqrt(2 - mu)))
    on_side = np.linspace(-0.4, 0.4, 9)
    a, b, _ = axes.start(on_side, 0.0, fixed)
    np.testing.assert_allclose(theory.ellipse_level(a, b, mu), 0, atol=1e-12)
    left = axes.start(-0.3, 0.2 * 2 * HALF_HEIGHT, fixed)  # on the line from (-1/2, 0) to the top
    assert left[0] == pytest.approx(left[1], abs=1e-7)


def test_the_ellipse_is_the_triangles_foot_for_every_mu():
    """In the triangle the bounded set looks the same at every mu: Z > 0."""
    for mu in (0.3, 1.1, 1.8, -0.9):
        plane = Plane(mu=mu, axes=("X", "Y"), center=(0.0, 0.2), width=1.8, size=(90, 60), iterations=200)
        label, (x, y) = plane.outcome().to_numpy(), plane.points()
        z, x = np.broadcast_arrays(y[:, None] / HALF_HEIGHT, x[None, :])
        exists = (np.abs(2 * x) <= 1 - z) & (np.abs(z) > plane.pixel)
        assert np.array_equal((label > ESCAPED)[exists], (z > 0)[exists])
        plane.release()


def test_the_triangle_exists_below_two_only():
    plane = Plane(mu=2.0, axes=("X", "Y"), size=(16, 16), iterations=20)
    assert np.all(plane.outcome().to_numpy() == NO_START)
    assert plane.diagnostics()["bounded_fraction"] == 0
    plane.release()


def test_bounded_starts_on_the_balanced_line_against_mu():
    """|x| < sqrt(2 + mu) up to mu = 2; misclassified agrees; mu is no number of the row."""
    plane = Plane(mu=0.5, axes=("mu", "x"), start=(1.0, 0.0), center=(1.0, 1.0), width=1.9, size=(80, 80), iterations=300)
    x, y = plane.points()
    bounded = plane.outcome().to_numpy() > ESCAPED
    clear = np.abs(np.abs(y[:, None]) - np.sqrt(2 + x[None, :])) > plane.pixel
    assert np.array_equal(bounded[clear], (y[:, None] < np.sqrt(2 + x[None, :]))[clear])
    row = plane.diagnostics()
    assert row["mu"] is None and row["ellipse_area"] is None and row["bounded_area"] is None and row["misclassified"] == 0
    plane.release()


def test_imbalance_across_mu_is_bounded_by_the_ellipse():
    """(mu, w) at x: (2x)^2/(2 + mu) + w^2/(2 - mu) < 4."""
    plane = Plane(mu=0.5, axes=("mu", "w"), start=(0.6, 0.0), center=(0.9, 1.2), width=2.0, size=(80, 80), iterations=300)
    x, y = plane.points()
    level = 1.44 / (2 + x[None, :]) + y[:, None] ** 2 / (2 - x[None, :]) - 4
    bounded = plane.outcome().to_numpy() > ESCAPED
    assert np.array_equal(bounded[np.abs(level) > 0.3], (level < 0)[np.abs(level) > 0.3])
    plane.release()


def test_learning_rate_and_scale_are_those_of_gradient_descent():
    """Thirty steps of a' = a - eta g (a b g - y) b in training's own units from (scale, scale): what the plane calls escaped
    has grown beyond any bound, what it calls bounded has not."""
    g, y = 1.3, 0.8
    plane = Plane(mu=0.0, axes=("eta", "scale"), prompt=(g, y), center=(1.3, 0.9), width=2.4, size=(60, 40), iterations=60)
    eta, scale = (grid[0] for grid in (plane.points()[0][None, :], plane.points()[1][:, None].T))
    eta, scale = np.meshgrid(eta, scale)
    a, b = scale.copy(), scale.copy()
    for _ in range(60):
        error = a * b * g - y
        a, b = np.clip(a - eta * g * error * b, -1e6, 1e6), np.clip(b - eta * g * error * a, -1e6, 1e6)
    label = plane.outcome().to_numpy()
    mu, edge = eta * g * y, scale * g * np.sqrt(np.maximum(eta, 0))
    clear = (np.abs(edge - np.sqrt(2 + mu)) > 0.1) & (mu < 1.9) & (eta > 0.05)
    assert np.array_equal((label > ESCAPED)[clear], (np.abs(a) < 100)[clear]) and 0.2 < np.mean((label > ESCAPED)[clear]) < 0.9
    plane.release()


def test_one_program_serves_every_plane():
    """The kind of axes is an argument: the kernels of one precision are compiled once."""
    from sim.two_factor import starts

    kernel = starts.kernel("f32")
    for names in ALL:
        Plane(mu=0.7, axes=names, size=(16, 16), iterations=5).outcome()
    assert len(kernel._primal.compiled_kernels) == 1

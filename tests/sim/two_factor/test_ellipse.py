"""The invariant ellipse against orbits, quadrature, and distances found by brute force."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import dblquad, quad

from sim.two_factor import theory
from tests.sim.two_factor import reference

MUS = [0.0, 0.5, 1.1, 1.9, -0.7]


@pytest.mark.parametrize("mu", MUS)
def test_points_on_it_and_angle_tripling(mu):
    """D = 0 there; e = 2 cos t goes to 2 cos 3t."""
    t = np.linspace(0, 4 * math.pi, 101)
    a, b = theory.ellipse_point(t, mu)
    np.testing.assert_allclose(theory.ellipse_level(a, b, mu), 0, atol=1e-13)
    np.testing.assert_allclose(a * b - mu, 2 * np.cos(t), atol=1e-14)
    after = reference.step(a, b, mu)
    np.testing.assert_allclose(after[0] * after[1] - mu, 2 * np.cos(3 * t), atol=1e-12)
    np.testing.assert_allclose(theory.ellipse_level(*after, mu), 0, atol=1e-11 / (2 - abs(mu)))
    curve = theory.ellipse_curve(mu, 93)  # 92 is a multiple of 4: both axes' ends are among the points
    assert curve.shape == (93, 2) and np.allclose(curve[0], curve[-1])
    along, across = theory.ellipse_axes(mu)
    assert np.hypot(*curve.T).max() == pytest.approx(max(along, across), rel=1e-12)


@pytest.mark.parametrize("mu", MUS)
def test_area_by_integration(mu):
    """The half-plane test a^2 + b^2 < 4 + mu e solved for b at each a, integrated over a."""

    def height(a):
        root = (mu * a) ** 2 - 4 * (a * a - 4 + mu * mu)
        return math.sqrt(max(root, 0.0))

    reach = 2.0  # the root vanishes at a^2 (4 - mu^2) = 4 (4 - mu^2)
    assert quad(height, -reach, reach, limit=200)[0] == pytest.approx(theory.ellipse_area(mu), rel=1e-7)
    along, across = theory.ellipse_axes(mu)
    assert theory.ellipse_area(mu) == pytest.approx(math.pi * along * across)


def test_area_by_counting_in_two_dimensions():
    inside = dblquad(lambda y, x: float(theory.inside_ellipse(x, y, 1.1)), -2.1, 2.1, -2.1, 2.1, epsabs=0.2)[0]
    assert inside == pytest.approx(theory.ellipse_area(1.1), abs=0.2)


coordinate = st.floats(-3, 3, allow_nan=False)


@given(coordinate, coordinate, st.floats(-1.95, 1.95, allow_nan=False))
@settings(max_examples=200, deadline=None)
def test_inside_in_one_line(a, b, mu):
    """D < 0 iff a^2 + b^2 < 4 + mu e, and sharply so away from the curve."""
    level = theory.ellipse_level(a, b, mu)
    if abs(level) > 1e-9:
        assert theory.inside_ellipse(a, b, mu) == (level < 0)


@pytest.mark.parametrize("mu", [*MUS, 1e-9, 1.99, -1.99])
def test_distance_against_the_nearest_of_many_points(mu):
    rng = np.random.default_rng(4)
    a, b = rng.uniform(-3, 3, (2, 60))
    a[:6], b[:6] = [0, 1, 1, 0, 1e-12, 1.9], [0, 1, -1, 0.5, 0, 1.9]
    curve = theory.ellipse_curve(mu, 40_001)
    nearest = np.array([np.hypot(curve[:, 0] - x, curve[:, 1] - y).min() for x, y in zip(a, b, strict=True)])
    found = theory.ellipse_distance(a, b, mu)
    np.testing.assert_allclose(np.abs(found), nearest, atol=2e-6)
    assert np.all(np.abs(found) <= nearest + 1e-12)  # no sampled point is nearer than the nearest
    assert np.array_equal(found < 0, theory.inside_ellipse(a, b, mu))


def test_distance_has_empty_and_scalar_forms():
    assert theory.ellipse_distance(np.zeros(0), np.zeros(0), 0.5).shape == (0,)
    assert theory.ellipse_distance(0.0, 0.0, 0.0) == pytest.approx(-2.0)
    assert theory.ellipse_distance(0.0, 0.0, 1.5) == pytest.approx(-1.0)  # the short semi-axis, sqrt(2 (2 - mu))


@pytest.mark.parametrize(
    ("mu", "value"), [(0, 0.962424), (0.5, 0.939484), (1, 0.862555), (1.5, math.log(2)), (1.9, 0.351469), (2, 0)]
)
def test_lambda_perp(mu, value):
    """The table, both forms, and the integral of log(1 + mu e + e^2) over e = 2 cos t, t uniform."""
    assert theory.lambda_perp(mu) == pytest.approx(value, abs=6e-7)
    assert theory.lambda_perp_arccosh(mu) == pytest.approx(value, abs=6e-7)
    integral = quad(lambda t: math.log(abs(1 + 2 * mu * math.cos(t) + 4 * math.cos(t) ** 2)), 0, math.pi, limit=400)[0] / math.pi
    assert theory.lambda_perp(mu) == pytest.approx(integral, abs=1e-7)
    assert theory.lambda_perp(-mu) == pytest.approx(theory.lambda_perp(mu), abs=1e-14)


def test_exponents_of_orbits_started_on_it():
    """log 3 along, from |d(3t)/dt|; lambda_perp across, from D' = (1 + mu e + e^2) D with e = 2 cos t, t tripled exactly.

    A rounded orbit would be pushed off, so the angle is an integer mod 3^k-odd N: t = 2 pi j/N, j -> 3 j mod N.
    """
    mu, prime = 1.5, 1_000_003
    j, total = 12_345, 0.0
    steps = 40_000
    for _ in range(steps):
        e = 2 * math.cos(2 * math.pi * j / prime)
        total += math.log(1 + mu * e + e * e)
        j = 3 * j % prime
    assert total / steps == pytest.approx(theory.lambda_perp(mu), abs=0.02)
    assert pytest.approx(math.log(3)) == theory.LAMBDA_TANGENT


@pytest.mark.parametrize("mu", [0.3, 0.9, 1.1, 1.6, 1.9])
def test_v_never_falls_along_orbits_inside(mu):
    """V = |D| / (|s|^{(2-mu)/2} |w|^{(2+mu)/2}); strictly up unless e = 0."""
    rng = np.random.default_rng(5)
    a, b = rng.uniform(-2, 2, (2, 4000))
    keep = theory.inside_ellipse(a, b, mu) & (np.abs(a - b) > 1e-3) & (np.abs(a + b) > 1e-3)
    a, b = a[keep], b[keep]
    for _ in range(12):
        before, e = theory.lyapunov_function(a, b, mu), a * b - mu
        a, b = reference.step(a, b, mu)
        with np.errstate(invalid="ignore"):
            ratio = theory.lyapunov_function(a, b, mu) / before
        sure = np.isfinite(ratio) & (np.abs(a - b) > 1e-6) & (np.abs(a + b) > 1e-6)
        assert np.all(ratio[sure] >= 1 - 1e-7)
        assert np.all(ratio[sure & (np.abs(e) > 0.05)] > 1)


def test_starts_inside_stay_and_starts_outside_diverge():
    rng = np.random.default_rng(6)
    for mu in (0.3, 0.9, 1.3, 1.9):
        a, b = rng.uniform(-2.5, 2.5, (2, 4000))
        inside = theory.inside_ellipse(a, b, mu)
        _, _, _, label = reference.loop(a, b, mu, 400)
        assert np.array_equal(label == -1, ~inside)


def test_refusals():
    for call in (theory.ellipse_axes, theory.ellipse_area, theory.ellipse_curve):
        with pytest.raises(ValueError, match=r"\|mu\| < 2"):
            call(2.0)
    for call in (theory.lambda_perp, theory.lambda_perp_arccosh):
        with pytest.raises(ValueError, match="<= 2"):
            call(2.1)

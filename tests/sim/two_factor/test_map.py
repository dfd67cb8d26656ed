"""Fixed points, the landing web, the escape count, mini-batches and the reduction: closed forms against iteration."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from sim.two_factor import theory
from tests.sim.two_factor import reference


def jacobian(a, b, mu, h=1e-6):
    columns = []
    for da, db in ((h, 0), (0, h)):
        ahead, behind = reference.step(a + da, b + db, mu), reference.step(a - da, b - db, mu)
        columns.append((np.array(ahead) - behind) / (2 * h))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize(("mu", "a"), [(0.5, 0.9), (0.5, -2.0), (1.4, 1.1), (-0.6, 0.4)])
def test_fixed_points_and_their_multipliers(mu, a):
    b = mu / a
    assert reference.step(a, b, mu) == pytest.approx((a, b), abs=1e-15)
    assert sorted(theory.fixed_point_multipliers(a, b)) == pytest.approx(sorted(np.linalg.eigvals(jacobian(a, b, mu))), abs=1e-7)


@pytest.mark.parametrize("mu", [0.3, -0.3, 0.95, 0.0])
def test_attracting_part(mu):
    """Its ends have a^2 + b^2 = 2, and starts just off it converge, just off the rest do not."""
    for branch in theory.attracting_branches(mu):
        a, b = branch.T
        np.testing.assert_allclose(a * b, mu, atol=1e-14)
        assert np.all(a * a + b * b <= 2 + 1e-12)
        assert max(a[0] ** 2 + b[0] ** 2, a[-1] ** 2 + b[-1] ** 2) == pytest.approx(2)
    for branch in theory.zero_error_branches(mu, 2.5):
        a, b = branch.T
        np.testing.assert_allclose(a * b, mu, atol=1e-12)
        assert np.abs(branch).max() == pytest.approx(2.5)
        sharpness = a * a + b * b
        x, y = a.copy(), b + 1e-6
        for _ in range(12):
            x, y = reference.step(x, y, mu)
        closer = np.abs(x * y - mu) < np.abs(a * (b + 1e-6) - mu)
        clear = (np.abs(sharpness - 2) > 0.05) & (np.abs(a) > 0.2)
        assert np.array_equal(closer[clear], sharpness[clear] < 2)


def test_nothing_attracts_from_one_on():
    assert theory.attracting_branches(1.0) == [] and theory.attracting_reach(1.3) == 0
    assert theory.zero_error_branches(4.0, 1.0) == [] and math.isinf(theory.attracting_reach(0))


@pytest.mark.parametrize("mu", [0.5, 1.3, -0.4])
def test_web_k1_by_iterating(mu):
    """Points of (1 - a^2)(1 - b^2) = mu a b, found in b for given a, land in one step."""
    a = np.linspace(0.13, 2.4, 24)  # not 1, where b is 0 or infinite
    p, q = -(1 - a * a), -mu * a  # p b^2 + q b - p = 0
    b = (-q + np.sqrt(q * q + 4 * p * p)) / (2 * p)
    np.testing.assert_allclose(theory.web1(a, b, mu), 0, atol=1e-10)
    e = a * b - mu
    np.testing.assert_allclose(a * a + b * b, theory.web1_sharpness(e, mu), rtol=1e-10, atol=1e-9)
    after = reference.step(a, b, mu)
    np.testing.assert_allclose(after[0] * after[1], mu, atol=1e-8)


@pytest.mark.parametrize("mu", [0.5, 1.3, 1.9])
def test_web_k2_by_iterating(mu):
    e = np.linspace(-1.9, 1.9, 40)  # 0 not among them
    found = 0
    for r2 in theory.web2_sharpness(e, mu):
        a, b = theory.from_error_sharpness(e, r2, mu)
        real = np.isfinite(a)
        once = reference.step(a[real], b[real], mu)
        assert np.all(np.abs(once[0] * once[1] - mu) > 1e-6)  # not yet after one step
        twice = reference.step(*once, mu)
        np.testing.assert_allclose(twice[0] * twice[1], mu, atol=1e-9)
        found += int(real.sum())
    assert found > 20


@pytest.mark.parametrize("mu", [0.5, 1.5])
def test_web_on_the_balanced_line(mu):
    errors = theory.web1_balanced(mu)
    hits = [e for e in errors if e + mu > 0]
    assert hits
    for e in hits:
        x = math.sqrt(e + mu)
        after, _ = reference.step(x, x, mu)
        assert after * after == pytest.approx(mu, abs=1e-12)
    assert sum(errors) == pytest.approx(2 - mu)  # the roots of e^2 + (mu - 2) e + 1 - 2 mu


def test_escape_count_is_smooth_and_counts_steps():
    a = np.linspace(1.77, 3.5, 40_001)
    counts = []
    for radius2 in (1e8, 1e12):
        end_a, end_b, k, label = reference.loop(a, 0.95 * a, 0.9, 200, radius2)
        assert np.all(label == -1)
        counts.append(theory.escape_count(k, end_a**2 + end_b**2, radius2))
        assert np.ptp(k) >= 2  # several bands
        assert np.all(counts[-1] <= k) and np.all(counts[-1] > k - 1.1)
    # a jump at a band's edge is log 2/log R^2 at most; nothing else jumps
    assert np.abs(np.diff(counts[0])).max() < 0.05 and np.abs(np.diff(counts[1])).max() < 0.035
    # R enters as log(log R_2^2/log R_1^2)/log 3
    np.testing.assert_allclose(counts[1] - counts[0], math.log(12 / 8) / math.log(3), atol=0.04)


# --- mini-batches ---


@pytest.mark.parametrize(("nu", "level"), [(-1.5, 0.4174), (2.5, 6.162), (0.5, -2.8543)])
def test_one_batch_across_the_ellipse(nu, level):
    """mu = 0.5, (a, b) = (1.2, 0.6), D = -2.464."""
    assert theory.ellipse_level(1.2, 0.6, 0.5) == pytest.approx(-2.464, abs=1e-12)
    assert theory.level_after_batch(1.2, 0.6, 0.5, nu) == pytest.approx(level, abs=6e-5)
    assert theory.crosses(1.2, 0.6, 0.5, nu) == (level > 0)


coordinate = st.floats(-2, 2, allow_nan=False)


@given(coordinate, coordinate, st.floats(-1.8, 1.8, allow_nan=False), st.floats(-3, 3, allow_nan=False))
@settings(max_examples=200, deadline=None)
def test_level_after_batch_is_the_level_of_the_image(a, b, mu, nu):
    """D_mu(Phi_nu(a, b)) = D (1 + mu f + f^2) + 4 f (mu - nu), f = a b - nu."""
    image = reference.step(a, b, nu)
    assert theory.level_after_batch(a, b, mu, nu) == pytest.approx(theory.ellipse_level(*image, mu), abs=1e-9)


def test_mean_level_by_quadrature():
    """E D' = (1 + mu e + e^2) D + (4 + D) Var(nu): normal by quadrature, two-point by its two values."""
    a, b, mu, deviation = 1.2, 0.6, 0.5, 0.8

    def weighted(z):
        return theory.level_after_batch(a, b, mu, mu + deviation * z) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    assert quad(weighted, -12, 12)[0] == pytest.approx(theory.mean_level(a, b, mu, deviation**2), abs=1e-9)
    both = [theory.level_after_batch(a, b, mu, mu + sign * deviation) for sign in (1, -1)]
    assert sum(both) / 2 == pytest.approx(theory.mean_level(a, b, mu, deviation**2), abs=1e-12)
    assert theory.batch_deviation(2.0, 16) == 0.5


def test_collapse_to_the_origin():
    """E log|1 + nu| < 0 and E log|1 - nu| < 0: near the origin both s and w then shrink."""
    values, weights = np.array([-0.9, 0.9]), np.array([0.5, 0.5])
    assert theory.collapses(values, weights) and not theory.collapses(np.array([0.5]), np.array([1.0]))
    rng = np.random.default_rng(7)
    a, b = np.full(500, 1e-3), np.full(500, 4e-4)
    for _ in range(300):
        a, b = reference.step(a, b, rng.choice(values, 500))
    assert np.median(np.hypot(a, b)) < 1e-30


@given(st.floats(0.05, 3), st.floats(0.01, 2), st.floats(-2, 2), coordinate, coordinate)
@settings(max_examples=100, deadline=None)
def test_reduction(g, eta, y, a, b):
    """Gradient descent on (1/2)(a b g - y)^2, the gradient by central differences, against one step of Phi_mu."""
    c, mu = theory.reduction(g, eta, y)

    def loss(p, q):
        return (p * q * g - y) ** 2 / 2

    h = 1e-5
    down_a = a - eta * (loss(a + h, b) - loss(a - h, b)) / (2 * h)
    down_b = b - eta * (loss(a, b + h) - loss(a, b - h)) / (2 * h)
    assert reference.step(c * a, c * b, mu) == pytest.approx((c * down_a, c * down_b), abs=1e-6 * (1 + g) ** 4)
    with pytest.raises(ValueError, match="eta > 0"):
        theory.reduction(g, 0.0, y)

"""The balanced line: thresholds found by bisection, orbits by iteration, exponents by long averages, beside the closed forms."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

from sim.two_factor import theory
from tests.sim.two_factor import reference


def iterate(x, mu, steps):
    """The line's map from its definition, a = b = x."""
    for _ in range(steps):
        x, _ = reference.step(x, x, mu)
    return x


def slope(x, mu, steps, h=1e-6):
    """Numerical derivative of the iterated line map."""
    return (iterate(x + h, mu, steps) - iterate(x - h, mu, steps)) / (2 * h)


def test_scalar_maps_are_phi_on_the_line():
    x = np.linspace(-1.5, 1.5, 31)
    after, _ = reference.step(x, x, 0.8)
    np.testing.assert_allclose(theory.balanced_step(x, 0.8), after, atol=1e-14)
    np.testing.assert_allclose(theory.error_step(x * x - 0.8, 0.8), after * after - 0.8, atol=1e-13)
    np.testing.assert_allclose(theory.balanced_multiplier(x, 0.8), slope(x, 0.8, 1), atol=1e-8)
    assert slope(theory.critical_point(0.8), 0.8, 1) == pytest.approx(0, abs=1e-8)


def test_phases():
    found = [theory.phase(mu) for mu in (0.3, 0.9, 1.1, 1.5, 2.1, -1.1)]
    assert found == ["monotone", "catapult", "period 2", "bounded chaos", "divergence", "period 2"]


def test_monotone_threshold_by_bisection():
    """max over the bounded range of |F(e)|/|e| exceeds 1 exactly beyond 2 sqrt2 - 2."""

    def excess(mu):
        e = np.linspace(-mu, 2, 200_001)
        return np.max(np.abs((e + mu - 2) * e + 1 - 2 * mu)[1:-1]) - 1

    assert brentq(lambda mu: -1 - np.min(np.polyval([1, mu - 2, 1 - 2 * mu], np.linspace(-mu, 2, 400_001))), 0.5, 0.95) == (
        pytest.approx(theory.MU_MONOTONE, abs=1e-8)
    )
    assert excess(theory.MU_MONOTONE - 1e-3) <= 1e-12 < excess(theory.MU_MONOTONE + 1e-3)


def test_catapult_threshold():
    """The least a^2 + b^2 on the curve is 2 mu, at a = b: its multiplier is -1 at mu = 1."""
    for mu in (0.4, 1.0, 1.3):
        least = minimize_scalar(
            lambda a, mu=mu: a * a + (mu / a) ** 2, bounds=(0.05, 5), method="bounded", options={"xatol": 1e-10}
        )
        assert least.fun == pytest.approx(2 * mu, abs=1e-8)
    assert brentq(lambda mu: slope(math.sqrt(mu), mu, 1) + 1, 0.5, 1.5) == pytest.approx(theory.MU_CATAPULT, abs=1e-6)


@pytest.mark.parametrize("mu", [1.0 + 1e-9, 1.05, 1.2, 1.24, 1.9])
def test_period_2(mu):
    x1, x2 = theory.period2_points(mu)
    assert x1 * x2 == pytest.approx(1, abs=1e-15) and x1 * x1 + x2 * x2 == pytest.approx(1 + mu, abs=1e-14)
    assert iterate(x1, mu, 1) == pytest.approx(x2, abs=1e-13) and iterate(x2, mu, 1) == pytest.approx(x1, abs=1e-13)
    assert theory.period2_multiplier(mu) == pytest.approx(slope(x1, mu, 2), abs=1e-6)
    across = [(1 + x * x - mu) for x in (x1, x2)]  # w'/w = 1 + e
    assert theory.period2_transverse(mu) == pytest.approx(math.prod(across), abs=1e-12)


def test_period_2_ends_by_bisection():
    start = 1.05

    def multiplier(mu):
        x = 0.9
        for _ in range(20000):  # the orbit itself, found by iteration where it attracts, then continued by Newton
            x = iterate(x, min(mu, start), 1)
        for m in np.linspace(start, mu, 40):
            for _ in range(8):
                x -= (iterate(x, m, 2) - x) / (slope(x, m, 2) - 1)
        return slope(x, mu, 2)

    assert brentq(lambda mu: multiplier(mu) + 1, 1.1, 1.4, xtol=1e-9) == pytest.approx(theory.MU_PERIOD2, abs=1e-6)
    with pytest.raises(ValueError, match="mu = 1 on"):
        theory.period2_points(0.9)


@pytest.mark.parametrize("mu", [1.829, 1.833, 1.8376])
def test_orbit_x_y_minus_x_minus_y(mu):
    x, y = theory.period4_points(mu)
    assert iterate(x, mu, 1) == pytest.approx(y, abs=1e-12) and iterate(y, mu, 1) == pytest.approx(-x, abs=1e-12)
    # the multiplier of e over two steps is that of x over two, times x_2/x_0 = -1
    assert theory.period4_multiplier(mu) == pytest.approx(-slope(x, mu, 2), abs=1e-6)
    assert abs(theory.period4_multiplier(mu)) < 1


def test_ends_of_the_period_4_window():
    low, high = theory.MU_PERIOD4
    assert (low, high) == (pytest.approx(1.8284271, abs=5e-8), pytest.approx(1.8376651, abs=5e-8))
    assert theory.period4_multiplier(low + 1e-12) == pytest.approx(1, abs=1e-4)
    assert theory.period4_multiplier(high) == pytest.approx(-1, abs=1e-9)
    with pytest.raises(ValueError, match="2 sqrt2 - 1"):
        theory.period4_points(1.8)


def test_superstable_doublings():
    """MATHS: 1.1213203, 1.2629897, 1.2938433, 1.3004747, 1.3018960; zero derivative and exactly that period."""
    found = theory.superstable_doublings(6)
    assert found[0] == pytest.approx(3 / math.sqrt(2) - 1, abs=1e-15)
    assert found[:5] == pytest.approx([1.1213203, 1.2629897, 1.2938433, 1.3004747, 1.3018960], abs=6e-8)
    for n, mu in enumerate(found[:5], start=1):
        x = theory.critical_point(mu)
        assert iterate(x, mu, 2**n) == pytest.approx(x, abs=1e-9)
        assert abs(iterate(x, mu, 2 ** (n - 1)) - x) > 1e-3
        assert slope(x, mu, 2**n, 1e-7) == pytest.approx(0, abs=1e-4)
    gaps = np.diff(found)
    limit = found[-1] + gaps[-1] / (4.669201609 - 1)
    assert limit == pytest.approx(theory.MU_DOUBLINGS, abs=1e-6)


def test_period_3_window_holds_1_70():
    mu = theory.window3()
    x = theory.critical_point(mu)
    assert iterate(x, mu, 3) == pytest.approx(-x, abs=1e-12)
    x = iterate(0.3, 1.70, 20_000)
    assert iterate(x, 1.70, 3) == pytest.approx(-x, abs=1e-12)  # 1.70 itself lies in the window
    with pytest.raises(ArithmeticError, match="found near mu"):
        theory.superstable(3, 1.7)  # with this sign there is none nearby


def test_crisis():
    """The critical value's image reaches 0 (then the other sign) where f(x_c) = sqrt(1 + mu)."""

    def image(mu):
        return iterate(math.sqrt((1 + mu) / 3), mu, 2)

    assert brentq(image, 1.4, 1.7) == pytest.approx(theory.MU_CRISIS, abs=1e-9)
    below, above = (iterate(np.full(1, 0.3), theory.MU_CRISIS + d, 1) for d in (-0.01, 0.01))
    signs = []
    for start, mu in ((below, theory.MU_CRISIS - 0.01), (above, theory.MU_CRISIS + 0.01)):
        x, seen = start, set()
        for _ in range(20_000):
            x = iterate(x, mu, 1)
            seen.add(float(np.sign(x[0])))
        signs.append(seen)
    assert signs == [{1.0}, {1.0, -1.0}]


def test_bounded_range():
    for mu in (0.5, 1.5, 2.0):
        bound = theory.balanced_bound(mu)
        assert iterate(bound, mu, 1) == pytest.approx(-bound, abs=1e-13)  # the unstable orbit of period 2 at the edge
        inside = iterate(np.linspace(-bound, bound, 1001)[1:-1], mu, 300)
        assert np.all(np.abs(inside) <= bound + 1e-9)
        with np.errstate(over="ignore", invalid="ignore"):
            assert not np.isfinite(iterate(bound * 1.001, mu, 60))


TABLE = [  # mu, along, across: MATHS, long average from x = 0.3
    (1.05, -0.2596, -0.0527),
    (1.1, -0.8574, -0.1116),
    (1.2, -0.1928, -0.2554),
    (1.5, 0.4913, -0.7437),
    (1.8, 0.8067, -0.3500),
    (2.0, 1.0986, 0.0),
]


@pytest.mark.parametrize(("mu", "along", "across"), TABLE)
def test_lyapunov_exponents_on_the_balanced_attractor(mu, along, across):
    x = 0.3 + 1e-3 * np.arange(400) / 400
    for _ in range(2000):
        x = x * (1 + mu - x * x)
    sums = np.zeros((2, x.size))
    steps = 2000
    for _ in range(steps):
        sums += np.log(np.abs([theory.balanced_multiplier(x, mu), theory.transverse_multiplier(x, mu)]) + 1e-300)
        x = x * (1 + mu - x * x)
    assert sums.mean(axis=1) / steps == pytest.approx([along, across], abs=1.5e-3)

"""Periods, growth across, the first rise and the landing web, against plain NumPy orbits and closed forms."""

import math

import numpy as np
import pytest

from sim.two_factor import theory
from sim.two_factor.cycles import MAX_PERIOD
from sim.two_factor.plane import ESCAPED, LANDED, Plane
from tests.sim.two_factor import reference


@pytest.fixture
def plane():
    made = []

    def make(**options):
        made.append(Plane(**{"size": (48, 32), "iterations": 400, **options}))
        return made[-1]

    yield make
    for one in made:
        one.release()


def read(one, name):
    return one.channel(name).to_numpy()


def column(plane, mu, **options):
    """Starts x along the balanced line at one mu (a window of the (mu, x) plane, one point wide)."""
    options = {"size": (1, 64), "width": 0.01, "center": (mu, 0.9), "iterations": 3000, "precision": "f64", **options}
    return plane(mu=0.0, axes=("mu", "x"), **options)


# --- periods ---


@pytest.mark.parametrize("precision", ["f32", "f64"])
@pytest.mark.parametrize(
    ("mu", "period"),
    [
        (0.5, 1), (0.9, 1), (1.05, 2), (1.2, 2), (1.24, 4), *zip(theory.superstable_doublings(5), (2, 4, 8, 16, 32), strict=True),
        (theory.window3(), 6), (1.7, 6), (1.83, 4),
    ],
)  # fmt: skip
def test_periods_are_the_known_ones(plane, mu, period, precision):
    """Superstable parameters by Newton's method; the period-3 window of e is of period 6 in (a, b); x, y, -x, -y at 1.83."""
    values = read(column(plane, mu, precision=precision), "period")
    assert np.mean(values == period) > 0.97


@pytest.mark.parametrize("iterations", [300, 3000])
@pytest.mark.parametrize("mu", [1.0, theory.MU_PERIOD2, 1.5, 1.9, 2.0])
def test_no_false_period_at_bifurcations_or_in_chaos(plane, mu, iterations):
    values = read(column(plane, mu, iterations=iterations), "period")
    assert np.all((values == 0) | np.isnan(values))


def test_periods_of_a_whole_plane(plane):
    one = plane(mu=1.24, size=(64, 63), iterations=1500)
    label, period = one.outcome().to_numpy(), read(one, "period")
    inside = label > ESCAPED
    assert np.array_equal(np.isnan(period), ~inside) and np.mean(period[inside] == 4) > 0.97


@pytest.mark.parametrize(("mu", "period"), [(1.1, 2), (1.24, 4), (1.7, 6)])
def test_the_phase_moves_on_by_one_step_of_the_orbit(plane, mu, period):
    """The phase of Phi(x), counted from there, is that of x less one, modulo the period."""
    one = plane(mu=mu, size=(6, 5), iterations=1000, precision="f64", center=(0.4, 0.5), width=1.0)
    x, y = one.points()
    a, b = np.broadcast_arrays(x[None, :], y[:, None])
    phase, found = read(one, "cycle_phase") * period, read(one, "period")
    assert np.all(found == period) and len(np.unique(phase)) > 1
    for i, j in ((0, 0), (2, 3), (4, 5)):
        next_a, next_b = reference.step(a[i, j], b[i, j], mu)
        image = plane(mu=mu, center=(next_a, next_b), width=1e-12, size=(1, 1), precision="f64", iterations=1000)
        assert round(float(read(image, "cycle_phase")[0, 0]) * period) == (round(float(phase[i, j])) - 1) % period


def test_the_phase_is_the_time_of_the_largest_s(plane):
    one = plane(mu=1.24, size=(8, 8), iterations=1000, precision="f64", center=(0.5, 0.6), width=1.0)
    x, y = one.points()
    a, b = (grid.copy() for grid in np.broadcast_arrays(x[None, :], y[:, None]))
    for _ in range(1000):
        a, b = reference.step(a, b, 1.24)
    s = []
    for _ in range(4):
        s.append(a + b)
        a, b = reference.step(a, b, 1.24)
    s = np.where(np.max(s, axis=0) > 0, s, -np.array(s))
    np.testing.assert_array_equal(np.round(read(one, "cycle_phase") * 4), s.argmax(axis=0))


def test_periods_stay_in_their_range(plane):
    for mu in (0.2, 1.3, 1.31, 1.99, -1.24):
        values = read(plane(mu=mu), "period")
        finite = values[~np.isnan(values)]
        assert np.all((finite >= 0) & (finite <= MAX_PERIOD) & (finite == np.round(finite)))


# --- exponents ---


@pytest.mark.parametrize(("mu", "exponent"), [(1.05, -0.0527), (1.1, -0.1116), (1.5, -0.7437), (1.8, -0.3500)])
def test_growth_across_tends_to_the_exponent(plane, mu, exponent):
    """MATHS's table: <log|1 + e|> on the balanced attractor."""
    values = read(column(plane, mu, lyapunov_steps=20_000, size=(1, 16), width=0.1), "across")
    assert values.mean() == pytest.approx(exponent, abs=0.01)


@pytest.mark.parametrize("mu", [0.6, -0.6, 1.4])
def test_growth_across_is_that_of_the_imbalance(plane, mu):
    """w_n/w_0 itself, w = a - b (a + b for mu < 0)."""
    one = plane(mu=mu, lyapunov_steps=12, precision="f64", size=(13, 9), width=1.7)
    x, y = one.points()
    a, b = np.broadcast_arrays(x[None, :], y[:, None])
    sign = math.copysign(1, mu)
    first = a - sign * b
    for _ in range(12):
        a, b = reference.step(a, b, mu)
    off = np.abs(first) > 1e-9
    expected = np.log(np.abs((a - sign * b)[off] / first[off])) / 12
    np.testing.assert_allclose(read(one, "across")[off], expected, atol=1e-6)


def test_a_start_that_loses_its_imbalance_at_once_has_a_finite_exponent(plane):
    """e = -1: w_1 = 0 exactly. The floor of the logarithm, not -inf."""
    one = plane(mu=1.0, center=(0.0, 0.0), width=1e-30, size=(1, 1), lyapunov_steps=4)
    assert np.isfinite(read(one, "across")).all() and read(one, "across").max() < -3


# --- the first rise of the loss ---


@pytest.mark.parametrize("mu", [0.5, 0.8, 0.95, 1.1, 1.6, -0.9])
def test_first_rise_is_that_of_the_orbit(plane, mu):
    one = plane(mu=mu, iterations=60, precision="f64", width=5.2, size=(41, 29))
    x, y = one.points()
    a, b = (grid.copy() for grid in np.broadcast_arrays(x[None, :], y[:, None]))
    expected = np.full(a.shape, -1)
    done = np.zeros(a.shape, bool)
    for k in range(one.iterations):
        e, r2 = a * b - mu, a * a + b * b
        done |= (np.abs(e) < 1e-4) & (r2 > 8e-4) & (r2 < 2 - 8e-4)
        next_a, next_b = reference.step(a, b, mu)
        rises = ~done & (np.abs(next_a * next_b - mu) > np.abs(e))
        expected[rises] = k
        done |= rises
        a, b = np.where(done, 0, next_a), np.where(done, 0, next_b)
    found = read(one, "first_rise")
    assert np.mean(found != expected) < 2e-3  # a rounding on |e'| = |e|


def test_the_loss_never_rises_on_the_line_up_to_the_monotone_threshold(plane):
    """mu <= 2 sqrt2 - 2: no bounded start with a = b > 0 ever sees |e| rise; just beyond it some do."""
    for mu, rising in ((0.8, False), (0.828, False), (0.84, True), (0.95, True)):
        one = column(plane, mu, size=(1, 400), center=(mu, 0.82), width=0.0041, iterations=2000)
        values, label = read(one, "first_rise"), one.outcome().to_numpy()
        assert np.any(values[label == LANDED] >= 0) == rising


def test_far_starts_raise_the_loss_at_once(plane):
    assert np.all(read(plane(mu=0.5, center=(1e9, 2e9), width=10.0), "first_rise") == 0)


# --- the landing web ---


def test_distances_to_the_first_line_are_euclidean(plane):
    """k = 1: (1 - a^2)(1 - b^2) = mu a b. Near the line the estimate is the distance to it in squares, to first order."""
    one = plane(mu=0.5, web_steps=1, size=(300, 300), width=3.0, precision="f64")
    x, y = one.points()
    a, b = np.broadcast_arrays(x[None, :], y[:, None])
    level = theory.web1(a, b, 0.5)
    grad = np.hypot(-2 * a * (1 - b * b) - 0.5 * b, -2 * b * (1 - a * a) - 0.5 * a)
    exact = np.abs(level) / grad / one.pixel
    near = exact < 2
    assert near.sum() > 1000
    np.testing.assert_allclose(read(one, "web")[near], exact[near], rtol=0.02, atol=0.02)
    assert np.all(read(one, "web_step")[near] == 1)


@pytest.mark.parametrize("axes", [("a", "b"), ("e", "w"), ("X", "Y"), ("mu", "x"), ("mu", "w"), ("eta", "scale")])
def test_the_web_is_where_the_error_changes_sign(plane, axes):
    """Between neighbours where e_k/e_{k-1} changes sign the line of k passes: the distance there is below one square."""
    one = plane(mu=0.8, axes=axes, web_steps=2, size=(240, 160), width=1.2, center=(0.6, 0.5), precision="f64", start=(0.7, 0.2))
    a, b, mu = one.starts()
    with np.errstate(invalid="ignore"):
        e = [a * b - mu]
        for _ in range(2):
            a, b = reference.step(a, b, mu)
            e.append(a * b - mu)
        factors = [e[1] / e[0], e[2] / e[1]]
    distance = read(one, "web")
    crossings = 0
    for factor in factors:
        # a change of sign by zero, not by a pole
        cross = (factor[:, 1:] * factor[:, :-1] < 0) & (np.abs(factor[:, 1:]) < 1) & (np.abs(factor[:, :-1]) < 1)
        nearer = np.minimum(distance[:, 1:], distance[:, :-1])[cross]
        crossings += cross.sum()
        assert np.all(nearer[np.isfinite(nearer)] < 1.0)
    assert crossings > 20


def test_points_of_the_closed_forms_lie_on_the_web(plane):
    """One-point windows on the k = 1 and k = 2 lines of MATHS.md."""
    mu, e = 0.6, -0.35
    for k, r2 in ((1, theory.web1_sharpness(e, mu)), (2, theory.web2_sharpness(e, mu)[0])):
        a, b = (float(c) for c in theory.from_error_sharpness(e, r2, mu))
        one = plane(mu=mu, center=(a, b), width=3e-6, size=(3, 3), precision="f64", web_steps=4)
        assert read(one, "web")[1, 1] < 1e-3 and read(one, "web_step")[1, 1] == k


def test_final_imbalance_of_landed_starts(plane):
    """On the curve w^2 = a^2 + b^2 - 2 mu; odd under a <-> b, even under the half turn."""
    one = plane(mu=0.5, size=(64, 64))
    label, w, r2 = one.outcome().to_numpy(), read(one, "imbalance"), read(one, "sharpness")
    landed = label == LANDED
    np.testing.assert_allclose(w[landed] ** 2, (r2 - 1.0)[landed], atol=1e-3)
    np.testing.assert_array_equal(w[landed], w[::-1, ::-1][landed])
    np.testing.assert_array_equal(w[landed], -w[::-1, ::-1].T[landed])
    x, y = one.points()
    quiet = (np.abs(x[None, :] - y[:, None]) < 0.3) & (np.abs(x[None, :] * y[:, None] - 0.5) < 0.1) & (x[None, :] > 0)
    assert np.all(np.sign(w[quiet]) == np.sign((x[None, :] - y[:, None])[quiet]))

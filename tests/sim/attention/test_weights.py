"""Schedules against their laws: closed forms, differential equations, and the exact law of the Ornstein-Uhlenbeck process."""

import numpy as np
import pytest

from sim.attention.weights import SCHEDULES, matrix, rotation
from tests.sim.attention import reference


def make(kind, heads=4, dt=0.1, seed=3, **law):
    return SCHEDULES[kind](heads=heads, rng=np.random.default_rng(seed), dt=dt, **law)


OU = {"M": (1.0, 2.0, 3.0), "theta0": 0.0, "kappa": 0.7, "sigma": 1.3}
ALL = {
    "static": {"theta": "random"},
    "ou": OU,
    "decaying": {"M": (1.0, 2.0, 3.0), "kappa": 0.7},
    "oscillating": {"A": (1.0, 2.0, 3.0)},
    "rotating": {"eigenvalues": (2.0, 0.5, 1.0)},
    "paper_oscillating": {"phase": "shifted"},
}


@pytest.mark.parametrize("kind", ALL)
def test_symmetric_repeatable_and_scaled_by_beta(kind):
    law, doubled = make(kind, **ALL[kind]), make(kind, beta=2.0, **ALL[kind])
    path = [law.theta(half) for half in range(12)]
    for half, theta in enumerate(path):
        assert theta.shape == (4, 3, 3)
        assert np.array_equal(theta, theta.transpose(0, 2, 1))
        assert np.array_equal(doubled.theta(half), 2 * theta)
    law.reset()
    assert np.array_equal([law.theta(half) for half in range(12)], path)


def test_random_start_is_z_plus_z_transposed():
    """Variance 4 on the diagonal and 2 off it (MATHS.md: theta_h(0) = Z + Z^T)."""
    theta = make("static", heads=20_000, theta="random").theta(0)
    assert theta[:, 0, 0].var() == pytest.approx(4, rel=0.05)
    assert theta[:, 0, 1].var() == pytest.approx(2, rel=0.05)


@pytest.mark.parametrize("dt", [0.05, 2.0])
def test_ou_is_sampled_exactly(dt):
    """Mean M + (theta0 - M) e^{-kappa t}; variance sigma^2 (1 - e^{-2 kappa t}) / (2 kappa), half of it off the diagonal."""
    heads, halves = 40_000, 4
    theta = make("ou", heads=heads, dt=dt, **OU).theta(halves)
    t = halves * dt / 2
    mean = np.diag([1.0, 2.0, 3.0]) * (1 - np.exp(-0.7 * t))
    variance = 1.3**2 * (1 - np.exp(-1.4 * t)) / 1.4
    error = 5 * np.sqrt(variance / heads)
    assert np.abs(theta.mean(axis=0) - mean).max() < error
    assert theta[:, 1, 1].var() == pytest.approx(variance, rel=5 * np.sqrt(2 / heads))
    assert theta[:, 0, 2].var() == pytest.approx(variance / 2, rel=5 * np.sqrt(2 / heads))


def test_ou_increments_have_the_right_correlation():
    heads, dt = 40_000, 0.5
    law = make("ou", heads=heads, dt=dt, **{**OU, "M": 0.0})
    late = law.theta(40)[:, 0, 0].copy()
    later = law.theta(41)[:, 0, 0]
    assert np.corrcoef(late, later)[0, 1] == pytest.approx(np.exp(-0.7 * dt / 2), abs=5 / np.sqrt(heads))


def test_ou_keeps_the_three_samples_of_a_step():
    law = make("ou", **OU)
    end = law.theta(8)
    assert np.array_equal(law.theta(8), end)
    law.theta(6)
    with pytest.raises(ValueError, match="half step"):
        law.theta(5)


def test_ou_is_its_recursion_with_the_same_draws():
    """theta0 first, then a matrix of normal numbers every half step, from one stream; kappa and sigma differ by head."""
    kappa, sigma = [0.5, 1.0, 2.0], [1.0, 0.0, 0.3]
    law = make("ou", heads=3, M=(1.0, 2.0, 3.0), theta0="random", kappa=kappa, sigma=sigma)
    rng = np.random.default_rng(3)
    z = rng.standard_normal((3, 3, 3))
    path = reference.ou_path(z + z.transpose(0, 2, 1), np.diag([1.0, 2.0, 3.0]), kappa, sigma, 0.1, 20, rng)
    assert np.abs([law.theta(half) for half in range(21)] - path).max() < 1e-12


def test_decaying_closed_form():
    theta0 = np.array([np.diag([1.0, 2.0, 3.0]), [[0, 1, 0], [1, 0, 0], [0, 0, 5]]])
    law = make("decaying", heads=2, M=0.5, theta0=theta0, kappa=[0.3, 2.0])
    for half in (0, 1, 9):
        for h, kappa in enumerate([0.3, 2.0]):
            exact = 0.5 * np.eye(3) + (theta0[h] - 0.5 * np.eye(3)) * np.exp(-kappa * half * 0.05)
            assert np.abs(law.theta(half)[h] - exact).max() < 1e-14


def test_changing_kappa_does_not_move_decaying_weights():
    law = make("decaying", M=0.0, theta0=1.0, kappa=1.0)
    before = law.theta(10)
    law.set_parameters({"kappa": 3.0})
    assert np.array_equal(law.theta(10), before)
    assert law.theta(12)[0, 0, 0] == pytest.approx(np.exp(-0.5 - 3 * 0.1))
    law.reset()
    assert np.array_equal(law.theta(10), before)


def test_oscillating_closed_form():
    law = make("oscillating", heads=2, M=0.5, A=(1.0, 2.0, 3.0), omega=[1.0, 2.0], phases=[0.1, 0.2])
    t = 7 * 0.1 / 2
    for h, (omega, phase) in enumerate([(1.0, 0.1), (2.0, 0.2)]):
        exact = 0.5 * np.eye(3) + np.diag([1.0, 2.0, 3.0]) * np.cos(omega * t + phase)
        assert np.abs(law.theta(7)[h] - exact).max() < 1e-14


def test_rotating_keeps_its_eigenvalues_and_turns_about_its_axis():
    law = make("rotating", eigenvalues=(2.0, 0.5, 1.0), axis="z", omega=1.0, phases="spread")
    theta = law.theta(9)
    assert np.abs(np.linalg.eigvalsh(theta) - [0.5, 1.0, 2.0]).max() < 1e-13
    angle = 9 * 0.1 / 2 + 2 * np.pi / 4
    top = np.array([np.cos(angle), np.sin(angle), 0.0])
    assert np.abs(theta[1] @ top - 2 * top).max() < 1e-13


def test_rotation_matrices_are_rotations():
    axis = np.array([1.0, 2.0, 2.0]) / 3
    R = rotation(axis, np.array([0.3, 2.0]))
    assert np.abs(R @ R.transpose(0, 2, 1) - np.eye(3)).max() < 1e-14
    assert np.abs(R @ axis - axis).max() < 1e-14
    assert np.trace(R[0]) == pytest.approx(1 + 2 * np.cos(0.3))


def test_changing_omega_keeps_the_phase():
    law = make("rotating", eigenvalues=(2.0, 0.5, 1.0), omega=1.0)
    before = law.theta(10)
    law.set_parameters({"omega": 3.0})
    assert np.abs(law.theta(10) - before).max() < 1e-14
    assert law.phase(12)[0] == pytest.approx(10 * 0.05 + 2 * 0.05 * 3)
    law.reset()
    assert law.phase(10)[0] == pytest.approx(0.5)


def target(t, h, H, phase):
    """The paper's target matrix, entry by entry as printed in MATHS.md."""
    shift = 2 * np.pi * h / H
    u = t if phase == "in_phase" else t + shift
    fast_sin, fast_cos = np.sin(2 * u), np.cos(2 * u)
    if phase == "detuned":
        fast_sin, fast_cos = np.sin(2 * t + shift), np.cos(2 * t + shift)
    return np.array(
        [
            [2 + 1.5 * np.cos(u), fast_sin, np.sin(u)],
            [fast_sin, 2 + 1.5 * np.sin(u), fast_cos],
            [np.sin(u), fast_cos, 2 + 1.5 * np.cos(u + np.pi / 4)],
        ]
    )


@pytest.mark.parametrize("phase", ["in_phase", "shifted", "detuned"])
def test_paper_oscillating_solves_its_equation(phase):
    """d theta/dt = target - theta, by central differences, whose error is about h^2/6 |theta'''| < 1e-6."""
    H, dt = 5, 1e-3
    law = make("paper_oscillating", heads=H, dt=dt, phase=phase)
    for half in (1, 700, 4001):
        before, here, after = (law.theta(half + d) for d in (-1, 0, 1))
        rate = (after - before) / dt
        exact = np.array([target(half * dt / 2, h, H, phase) for h in range(H)])
        assert np.abs(law.target(half * dt / 2) - exact).max() < 1e-12
        assert np.abs(rate - (exact - here)).max() < 1e-5


def test_numbers_per_head_are_listed_or_drawn_and_stay():
    H = 20_000
    drawn = make("oscillating", heads=H, omega={"normal": (2.0, 0.5)}, phases={"uniform": (1.0, 3.0)})
    rates, phases = (drawn.phase(2) - drawn.phase(0)) / 0.1, drawn.phase(0)
    assert rates.mean() == pytest.approx(2, abs=5 * 0.5 / np.sqrt(H)) and rates.std() == pytest.approx(0.5, rel=0.03)
    assert phases.mean() == pytest.approx(2, abs=0.03) and 1 <= phases.min() < 1.01 and 2.99 < phases.max() <= 3
    drawn.theta(7)
    drawn.reset()
    assert np.array_equal(drawn.phase(0), phases) and np.array_equal((drawn.phase(2) - phases) / 0.1, rates)
    again = make("oscillating", heads=H, omega={"normal": (2.0, 0.5)}, phases={"uniform": (1.0, 3.0)})
    assert np.array_equal(again.phase(5), drawn.phase(5))
    ou = make("ou", heads=3, kappa={"uniform": (0.5, 1.0)}, sigma={"uniform": (0.5, 1.0)})
    path = [ou.theta(half) for half in range(6)]
    ou.set_parameters({"kappa": 5.0})
    ou.theta(7)
    ou.reset()
    assert np.array_equal([ou.theta(half) for half in range(6)], path)


@pytest.mark.parametrize(
    ("kind", "law", "words"),
    [
        ("ou", {"kappa": {"normal": (-5.0, 0.1)}, "sigma": 1.0}, "kappa of head 0"),
        ("ou", {"kappa": 1.0, "sigma": [1.0, -1.0, 1.0, 1.0]}, "sigma of head 1"),
        ("oscillating", {"omega": {"cauchy": (0, 1)}}, "normal, uniform"),
        ("oscillating", {"omega": [1.0, 2.0]}, "2 numbers for 4 heads"),
        ("static", {"theta": np.zeros((2, 3, 3))}, r"\(4, 3, 3\)"),
        ("static", {"value": np.zeros((2, 3, 3))}, r"\(4, 3, 3\)"),
    ],
)
def test_what_does_not_fit_is_refused(kind, law, words):
    with pytest.raises(ValueError, match=words):
        make(kind, **law)


@pytest.mark.parametrize("kind", ["static", "ou", "decaying", "oscillating"])
def test_one_matrix_that_is_not_symmetric_leaves_no_energy_law(kind):
    key = {"static": "theta", "ou": "M", "decaying": "theta0", "oscillating": "A"}[kind]
    skew = np.triu(np.ones((3, 3)))
    assert "not symmetric" in make(kind, **{**ALL[kind], key: skew}).why_no_energy
    assert make(kind, **{**ALL[kind], key: skew + skew.T}).why_no_energy is None
    assert "value matrix" in make(kind, **{**ALL[kind], "value": 1.0}).why_no_energy


def test_unlike_matrices_per_head():
    theta = np.random.default_rng(0).normal(size=(4, 3, 3))
    law = make("static", theta=theta, value=2 * theta, beta=3.0)
    assert np.array_equal(law.theta(0), 3 * theta) and np.array_equal(law.value, 2 * theta)


def test_matrices_as_written_in_scenes():
    assert np.array_equal(matrix(2.0), 2 * np.eye(3))
    assert np.array_equal(matrix((1, 2, 3)), np.diag([1, 2, 3]))
    assert np.array_equal(matrix(np.ones((3, 3))), np.ones((3, 3)))
    with pytest.raises(ValueError, match="shape"):
        matrix([1.0, 2.0])


def test_unknown_parameters_are_named():
    with pytest.raises(KeyError, match=r"kappa.*beta"):
        make("static").set_parameters({"kappa": 1.0})

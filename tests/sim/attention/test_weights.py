"""Schedules against their laws: closed forms, differential equations, and the exact law of the Ornstein-Uhlenbeck process."""

import numpy as np
import pytest

from sim.attention.weights import SCHEDULES, matrix, rotation


def make(kind, heads=4, dt=0.1, seed=3, **law):
    return SCHEDULES[kind](heads=heads, rng=np.random.default_rng(seed), dt=dt, **law)


OU = {"M": (1.0, 2.0, 3.0), "theta0": 0.0, "kappa": 0.7, "sigma": 1.3}
ALL = {
    "static": {"theta": "random"},
    "ou": OU,
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


def test_matrices_as_written_in_scenes():
    assert np.array_equal(matrix(2.0), 2 * np.eye(3))
    assert np.array_equal(matrix((1, 2, 3)), np.diag([1, 2, 3]))
    assert np.array_equal(matrix(np.ones((3, 3))), np.ones((3, 3)))
    with pytest.raises(ValueError, match="shape"):
        matrix([1.0, 2.0])


def test_unknown_parameters_are_named():
    with pytest.raises(KeyError, match=r"kappa.*beta"):
        make("static").set_parameters({"kappa": 1.0})

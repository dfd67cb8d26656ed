"""Noise on top of any law: its exact moments, its own stream, its independence of the law, and what of it is a martingale."""

import numpy as np
import pytest

from sim.attention.noise import OUPath
from sim.attention.weights import SCHEDULES

KAPPA, SIGMA = 0.7, 1.3
NOISE = {"kappa": KAPPA, "sigma": SIGMA}
ALL = {
    "static": {"theta": "random"},
    "ou": {"kappa": 1.0, "sigma": 0.5},
    "decaying": {"kappa": 1.0},
    "oscillating": {"A": (1.0, 2.0, 3.0), "phases": "random"},
    "rotating": {"eigenvalues": (2.0, 0.5, 1.0)},
    "paper_oscillating": {"phase": "shifted"},
}


def make(kind, heads=4, dt=0.1, seed=3, **law):
    return SCHEDULES[kind](heads=heads, rng=np.random.default_rng(seed), dt=dt, **{**ALL[kind], **law})


def path(heads, dt, **rates):
    return OUPath(lambda: np.zeros((heads, 3, 3)), dt=dt, rng=np.random.default_rng(5), **{**NOISE, **rates})


@pytest.mark.parametrize("kind", ALL)
def test_noise_lies_on_top_of_the_law_and_does_not_change_it(kind):
    plain, silent, noisy = (
        make(kind, beta=2.0),
        make(kind, beta=2.0, noise={**NOISE, "sigma": 0.0}),
        make(kind, beta=2.0, noise=NOISE),
    )
    first = []
    for half in range(9):
        theta = plain.theta(half)
        assert np.abs(silent.theta(half) - theta).max() < 1e-14
        difference = noisy.theta(half) - theta
        assert np.abs(difference - 2 * noisy.noise.at(half)).max() < 1e-13
        assert (np.abs(difference).min() > 0) == (half > 0)
        assert np.array_equal(noisy.noise.at(half), noisy.noise.at(half).transpose(0, 2, 1))
        first.append(noisy.theta(half))
    noisy.set_parameters({"noise.sigma": 9.0, "beta": 1.0})
    noisy.reset()
    assert np.array_equal([noisy.theta(half) for half in range(9)], first)


@pytest.mark.parametrize("dt", [0.05, 3.0])
def test_moments_are_exact_for_any_step(dt):
    """Mean 0, variance sigma^2 (1 - e^{-2 kappa t})/(2 kappa) on the diagonal, half of it off; correlation e^{-kappa s}."""
    heads, halves = 40_000, 3
    d = path(heads, dt)
    samples = [d.at(half).copy() for half in range(halves + 1)]
    t = halves * dt / 2
    variance = SIGMA**2 * (1 - np.exp(-2 * KAPPA * t)) / (2 * KAPPA)
    assert np.abs(samples[-1].mean(axis=0)).max() < 5 * np.sqrt(variance / heads)
    assert samples[-1][:, 1, 1].var() == pytest.approx(variance, rel=5 * np.sqrt(2 / heads))
    assert samples[-1][:, 0, 2].var() == pytest.approx(variance / 2, rel=5 * np.sqrt(2 / heads))
    earlier, now = samples[-2][:, 0, 0], samples[-1][:, 0, 0]
    before = SIGMA**2 * (1 - np.exp(-2 * KAPPA * (t - dt / 2))) / (2 * KAPPA)
    error = 5 * np.sqrt(2 * variance * before / heads)
    assert (earlier * now).mean() == pytest.approx(before * np.exp(-KAPPA * dt / 2), abs=error)


def test_one_rate_per_head():
    d = OUPath(
        lambda: np.ones((2, 3, 3)), kappa=np.array([1.0, 2.0]), sigma=np.array([0.0, 0.0]), dt=0.2, rng=np.random.default_rng(0)
    )
    assert d.at(3)[:, 0, 0] == pytest.approx([np.exp(-0.3), np.exp(-0.6)])


def test_the_random_increments_and_the_drift_make_the_path():
    """d_{k+1} = a d_k + (S_{k+1} - S_k), S the martingale, whose increments have the stated deviation."""
    heads, dt = 40_000, 0.4
    d = path(heads, dt)
    for half in range(4):
        before, shocks = d.at(half), d.martingale(half)
        increment = d.martingale(half + 1) - shocks
        assert np.abs(d.at(half + 1) - np.exp(-KAPPA * dt / 2) * before - increment).max() < 1e-14
        assert increment[:, 2, 2].std() == pytest.approx(d.increment_deviation()[0], rel=5 / np.sqrt(2 * heads))
        assert increment[:, 0, 1].std() == pytest.approx(d.increment_deviation()[0] / np.sqrt(2), rel=5 / np.sqrt(2 * heads))


def test_between_half_steps_it_is_linear_and_the_path_is_not_disturbed():
    probed, plain = path(3, 0.1), path(3, 0.1)
    middle = probed.at(1.5)
    assert np.array_equal(middle, probed.at(1) + 0.5 * (probed.at(2) - probed.at(1)))
    assert np.array_equal(probed.at(6), plain.at(6))
    with pytest.raises(ValueError, match="half step"):
        probed.at(3.5)


def test_unknown_noise_parameters_are_named():
    with pytest.raises(KeyError, match=r"noise\.kappa.*beta"):
        make("static").set_parameters({"noise.kappa": 1.0})
    with pytest.raises(KeyError, match=r"noise\.omega.*noise\.sigma"):
        make("static", noise=NOISE).set_parameters({"noise.omega": 1.0})

"""Diagnostics against definitions: alignment, counts that do not flicker, and the three parts of the explicit energy change.

Policy: sums over pairs are written out in NumPy from the formulas; for the balance of the parts the tolerance follows from dt.
"""

import numpy as np
import pytest

from sim.attention.diagnostics import held_clusters, loose_clusters, order_parameter, second_moment
from sim.attention.flow import AttentionFlow
from sim.attention.tokens import cloud, normalised
from sim.attention.weights import SCHEDULES
from tests.sim.attention import reference

NOISY = {"M": 0.5, "theta0": "random", "kappa": [1.0, 0.5, 2.0], "sigma": [1.0, 0.5, 0.0]}


def system(kind, dt, *, count=37, precision="f64", seed=1, **law):
    schedule = SCHEDULES[kind](heads=3, rng=np.random.default_rng(seed), dt=dt, **law)
    x = cloud("uniform", count, np.random.default_rng(0))
    return AttentionFlow(x, schedule, flow="gradient_flow", integrator="heun", dt=dt, precision=precision)


def advance(flow, steps):
    for _ in range(steps):
        flow.step()
    return flow


def test_alignment_of_known_clouds():
    pole = np.array([[0.0, 0.6, 0.8]])
    circle = np.stack([np.cos(np.arange(12) * np.pi / 6), np.sin(np.arange(12) * np.pi / 6), np.zeros(12)], axis=1)
    octahedron = np.concatenate([np.eye(3), -np.eye(3)])
    for x, order, moments in (
        (np.tile(pole, (5, 1)), 1, (1, 0, 0)),
        (np.concatenate([pole, -pole]), 0, (1, 0, 0)),
        (circle, 0, (0.5, 0.5, 0)),
        (octahedron, 0, (1 / 3, 1 / 3, 1 / 3)),
    ):
        assert order_parameter(x) == pytest.approx(order, abs=1e-15)
        assert second_moment(x) == pytest.approx(moments, abs=1e-15)


def test_loose_links_are_a_quarter_longer():
    reach = np.sqrt(2 - 2 * 0.99)
    for factor, count in ((1.2, 1), (1.3, 2)):
        angle = 2 * np.arcsin(factor * reach / 2)
        x = np.array([[0.0, 0.0, 1.0], [np.sin(angle), 0.0, np.cos(angle)]])
        assert loose_clusters(x, 0.99) == count
    x = cloud("uniform", 300, np.random.default_rng(2))
    assert loose_clusters(x, 0.99) <= reference.brute_clusters(x, 0.99).max() + 1
    assert loose_clusters(x, -0.9) == 1 and loose_clusters(np.tile(x, (7, 1)), 0.99) is None


def test_a_gap_that_trembles_at_the_threshold_counts_once():
    """Two groups whose gap goes 0.9, 1.1, 0.9, ... reaches: tight counts flicker, held ones do not until it passes 1.25."""
    gaps = np.array([0.9, 1.1, 0.9, 1.1, 1.3, 1.1, 1.2, 0.9, 1.1])
    tight, loose = np.where(gaps > 1, 2.0, 1.0), np.where(gaps > 1.25, 2.0, 1.0)
    assert held_clusters(tight, loose).tolist() == [1, 1, 1, 1, 2, 2, 2, 1, 1]
    assert held_clusters(tight[:0], loose[:0]).shape == (0,)


@pytest.mark.parametrize("count", [1, 16, 37])
@pytest.mark.parametrize(("precision", "tolerance"), [("f64", 1e-13), ("f32", 1e-5)])
def test_the_sums_behind_the_parts(count, precision, tolerance):
    flow = system("ou", 0.02, count=count, precision=precision, **NOISY)
    x, theta = flow.positions(), flow.theta()
    e = np.exp(np.einsum("ni,hij,mj->hnm", x, theta, x)) / count**2
    A, curvature = flow._balances._parts.moments(flow._x, theta)
    assert np.abs(A - np.einsum("hnm,ni,mj->hij", e, x, x)).max() < tolerance * e.sum()
    assert np.abs(curvature - (e * (1 + (x @ x.T) ** 2) / 2).sum(axis=(1, 2))).max() < tolerance * e.sum()


def test_the_ito_term_is_the_mean_of_the_second_order():
    """E[E(theta + S) - E(theta)] - its first order, over symmetric normal S of variance s^2, is the correction up to s^4."""
    flow = system("ou", 0.02, **NOISY)
    x, theta, s = flow.positions(), flow.theta(), 0.05
    _, curvature = flow._balances._parts.moments(flow._x, theta)
    rng = np.random.default_rng(3)
    changes = []
    for _ in range(4000):
        S = s * reference.symmetric_noise(rng, 3)
        both = (reference.energy(x, theta + S) + reference.energy(x, theta - S)) / 2  # antithetic: the first order is gone
        changes.append(both - reference.energy(x, theta))
    error = 5 * np.std(changes) / np.sqrt(len(changes))
    assert np.mean(changes) == pytest.approx(s**2 * curvature.sum() / 12, abs=error + s**4 * reference.energy(x, theta))


@pytest.mark.parametrize("kind", ["ou", "rotating"])
def test_one_step_of_the_parts_is_their_formula(kind):
    """The random increment over a step is theta' minus what the weights would have become without noise after `theta`, up to
    the decay of the first half step's noise; it is rebuilt here from the same draws.
    """
    dt, beta, kappa, sigma = 0.02, 1.5, 0.7, 1.2
    law = {"M": 0.5, "theta0": 1.0, "kappa": kappa, "sigma": sigma} if kind == "ou" else {"eigenvalues": (2.0, 0.5, 1.0)}
    noise = {} if kind == "ou" else {"noise": {"kappa": kappa, "sigma": sigma}}
    flow = advance(system(kind, dt, beta=beta, **law, **noise), 0)
    x, before = flow.positions(), flow.theta()
    row = advance(flow, 1).diagnostics()
    now = flow.theta()
    rng = np.random.default_rng(1) if kind == "ou" else np.random.default_rng(1).spawn(1)[0]
    spread = sigma * np.sqrt((1 - np.exp(-kappa * dt)) / (2 * kappa))
    shock = beta * spread * (reference.symmetric_noise(rng, 3) + reference.symmetric_noise(rng, 3))
    e = np.exp(np.einsum("ni,hij,mj->hnm", x, before, x)) / len(x) ** 2
    A = np.einsum("hnm,ni,mj->hij", e, x, x)
    curvature = (e * (1 + (x @ x.T) ** 2) / 2).sum()
    assert row["martingale"] == pytest.approx((A * shock).sum() / 6, rel=1e-10)
    assert row["drift"] == pytest.approx((A * (now - before - shock)).sum() / 6, rel=1e-10)
    assert row["ito"] == pytest.approx(2 * (beta * spread) ** 2 * curvature / 12, rel=1e-10)


def test_the_parts_add_up_to_the_explicit_change_as_dt_falls():
    """Their sum misses the explicit change by O(dt^(1/2)) in the mean over paths; the Ito part is no part of that."""
    misses, corrections = [], []
    for dt in (0.02, 0.0025):
        rows = [
            advance(system("ou", dt, seed=seed, M=0.5, theta0=0.5, kappa=1.0, sigma=1.0), round(0.5 / dt)).diagnostics()
            for seed in range(4)
        ]
        misses.append(np.mean([abs(row["explicit"] - row["drift"] - row["ito"] - row["martingale"]) for row in rows]))
        corrections.append(np.mean([row["ito"] for row in rows]))
    assert misses[1] < misses[0] / 2 and misses[1] < 0.1 * corrections[1]
    assert corrections[0] == pytest.approx(corrections[1], rel=0.1)


def test_parts_stand_only_where_they_mean_something():
    def parts(kind, **law):
        row = advance(system(kind, 0.02, **law), 2).diagnostics()
        return [row[name] is not None for name in ("explicit", "drift", "ito", "martingale")]

    assert parts("ou", **NOISY) == [True] * 4
    assert parts("static", theta=1.0, noise={"kappa": 1.0, "sigma": 1.0}) == [True] * 4
    assert parts("rotating", eigenvalues=(2.0, 0.5, 1.0)) == [True, False, False, False]
    assert parts("ou", **NOISY, value=1.0) == [False] * 4


def test_what_a_hand_does_to_noisy_weights_is_drift():
    flow = advance(system("ou", 0.02, **NOISY), 3)
    before = flow.diagnostics()
    flow.set_parameters({"weights.beta": 1.2})
    after = flow.diagnostics()
    change = after["energy"] - before["energy"]
    assert change != 0 and after["explicit"] - before["explicit"] == pytest.approx(change)
    assert after["drift"] - before["drift"] == pytest.approx(change)
    assert (after["ito"], after["martingale"]) == (before["ito"], before["martingale"])


def test_reset_and_rows_between():
    """The parts do not depend on how often a row is taken, and start again at 0."""
    flow = system("ou", 0.02, **NOISY)
    for _ in range(6):
        flow.step()
        flow.diagnostics()
    assert flow.diagnostics() == advance(system("ou", 0.02, **NOISY), 6).diagnostics()
    flow.reset()
    assert flow.diagnostics()["ito"] == 0


def test_the_row_of_a_cloud():
    flow = system("static", 0.02, theta="random")
    row = advance(flow, 3).diagnostics()
    x = normalised(flow.positions())
    v, b, _ = reference.velocity(x, flow.theta(), "gradient_flow", -1)
    assert row["min_b"] == pytest.approx(b.min()) and row["max_b"] == pytest.approx(b.max())
    assert row["max_speed"] == pytest.approx(np.linalg.norm(v, axis=1).max())
    assert row["order_parameter"] == pytest.approx(np.linalg.norm(x.mean(axis=0)))
    assert row["moment_1"] + row["moment_2"] + row["moment_3"] == pytest.approx(1)
    assert row["clusters_loose"] <= row["clusters"] == reference.brute_clusters(x, 0.99).max() + 1

"""The flow against closed forms, conserved balances, invariances and an independent float64 implementation.

Policy: exact values from MATHS.md (arXiv 2312.10794) or from `reference.py`; a tolerance follows from the precision
(f32: 2e-6 an evaluation) or from the integrator's order and dt.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sim.attention.flow import AttentionFlow
from sim.attention.tokens import cloud, normalised
from sim.attention.weights import SCHEDULES
from sim.system import Diverged
from tests.sim.attention import reference

FLOWS = ["softmax", "gradient_flow", "unnormalised"]
LAWS = {
    "static": {"theta": "random"},
    "ou": {"M": 1.0, "theta0": "random", "kappa": 1.0, "sigma": 1.0},
    "oscillating": {"M": 0.5, "A": (1.0, -0.5, 0.25), "omega": 2.0},
    "rotating": {"eigenvalues": (2.0, 0.5, 1.0), "axis": (1.0, 1.0, 0.0), "omega": 1.5},
    "paper_oscillating": {"theta0": "random", "phase": "detuned"},
    "decaying": {"M": 0.5, "theta0": "random", "kappa": {"uniform": (0.5, 2.0)}},
    "keyframes": {"file": None, "interpolation": "cubic", "pace": 5.0, "symmetrise": True},
}


@pytest.fixture(scope="module", autouse=True)
def keyframes(tmp_path_factory):
    file = tmp_path_factory.mktemp("weights") / "w.npz"
    np.savez(file, theta=np.random.default_rng(2).normal(size=(4, 3, 3, 3)))
    LAWS["keyframes"]["file"] = file


def schedule(kind, heads=3, dt=0.02, seed=1, **law):
    return SCHEDULES[kind](heads=heads, rng=np.random.default_rng(seed), dt=dt, **(law or LAWS[kind]))


def flow(x, law, **options):
    return AttentionFlow(x, law, **{"dt": law.dt, "precision": "f64", **options})


def advance(system, steps):
    for _ in range(steps):
        system.step()
    return system


def sphere(count, seed=0):
    return cloud("uniform", count, np.random.default_rng(seed))


def random_rotation(seed):
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    q *= np.sign(np.diag(r))
    return q * np.linalg.det(q)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", FLOWS)
@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize(("precision", "tolerance"), [("f64", 1e-11), ("f32", 3e-5)])
def test_agrees_with_the_reference(kind, name, sign, precision, tolerance):
    x, steps = sphere(37), 15
    system = advance(flow(x, schedule(kind), flow=name, sign=sign, precision=precision), steps)
    law = schedule(kind)
    path = [law.theta(half) for half in range(2 * steps + 1)]
    *_, expected = reference.rk4(x, lambda half: path[half], law.dt, steps, name, sign)
    assert np.abs(system.positions() - expected).max() < tolerance
    row = system.diagnostics()
    v, b, _ = reference.velocity(expected, path[-1], name, sign)
    speed = np.linalg.norm(v, axis=1)
    assert row["t"] == steps * law.dt
    assert row["energy"] == pytest.approx(reference.energy(expected, path[-1]), rel=10 * tolerance)
    assert row["slope2"] == pytest.approx((b * speed**2).mean(), rel=50 * tolerance)
    assert row["mean_speed"] == pytest.approx(speed.mean(), rel=50 * tolerance)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", FLOWS)
@pytest.mark.parametrize("extra", ["value", "asymmetric", "noise"])
def test_general_transformers_agree_with_the_reference(extra, name, sign):
    """A value matrix per head, theta that is not symmetric, noise on a law: the same sums; only the last has an energy law."""
    rng, steps = np.random.default_rng(6), 15
    V = rng.normal(size=(3, 3, 3))
    kind, keys = {
        "value": ("decaying", {**LAWS["decaying"], "value": V, "beta": 1.5}),
        "asymmetric": ("static", {"theta": rng.normal(size=(3, 3, 3))}),
        "noise": ("rotating", {**LAWS["rotating"], "noise": {"kappa": 2.0, "sigma": 1.0}}),
    }[extra]
    system = advance(flow(sphere(37), schedule(kind, **keys), flow=name, sign=sign), steps)
    law = schedule(kind, **keys)
    path = [law.theta(half) for half in range(2 * steps + 1)]
    value = V if extra == "value" else None
    *_, expected = reference.rk4(sphere(37), lambda half: path[half], law.dt, steps, name, sign, value)
    assert np.abs(system.positions() - expected).max() < 1e-11
    row = system.diagnostics()
    speed = np.linalg.norm(reference.velocity(expected, path[-1], name, sign, value)[0], axis=1)
    assert row["mean_speed"] == pytest.approx(speed.mean(), rel=1e-9)
    without = [row[column] is None for column in ("energy", "slope2", "edi_residual", "power_residual")]
    assert without == [extra != "noise"] * 4
    assert (system.why_no_energy is not None) == (extra != "noise")
    assert [system.why_no_energy in line for line in system.notices()] == [True] * (extra != "noise")


def test_the_papers_oscillating_energy():
    """`paper_s2_oscillating` with one head over T = 2, in single precision: energy within 1e-4 of float64 NumPy."""
    x = cloud("octahedron", 200, np.random.default_rng(5), noise=0.05)
    law = schedule("paper_oscillating", heads=1, dt=0.005, theta0="random", phase="in_phase")
    system = flow(x, law, flow="softmax", sign=-1, precision="f32")
    path = [
        schedule("paper_oscillating", heads=1, dt=0.005, theta0="random", phase="in_phase").theta(half) for half in range(801)
    ]
    for k, expected in enumerate(reference.rk4(x, lambda half: path[half], 0.005, 400, "softmax", -1)):
        if k:
            system.step()
        if k % 50 == 0:
            exact = reference.energy(expected, path[2 * k])
            assert system.diagnostics()["energy"] == pytest.approx(exact, abs=1e-4 * max(1.0, exact))


@pytest.mark.parametrize(("beta", "rho"), [(1.0, 0.98434899), (4.0, 0.14564395)])
def test_equiangular_tokens(beta, rho):
    """Three orthonormal tokens stay equiangular; rho(3) is tabulated in MATHS.md for the velocity divided by beta."""
    dt = 0.01
    law = schedule("static", heads=1, dt=dt / beta, theta=beta)
    x = advance(flow(np.eye(3), law, flow="softmax", sign=1), round(3 / dt)).positions()
    cosines = (x @ x.T)[np.triu_indices(3, 1)]
    assert np.ptp(cosines) < 1e-12
    assert cosines[0] == pytest.approx(rho, abs=1e-7)


def test_equiangular_tokens_without_softmax():
    """d rho/dt = (2/n) e^{beta rho} (1 - rho) ((n-1) rho + 1) for the unnormalised flow, n = 3."""
    beta = 1.5
    solution = solve_ivp(lambda _, r: 2 / 3 * np.exp(beta * r) * (1 - r) * (2 * r + 1), (0, 1), [0.0], rtol=1e-11, atol=1e-12)
    law = schedule("static", heads=1, dt=0.01 / beta, theta=beta)
    x = advance(flow(np.eye(3), law, flow="unnormalised", sign=1), 100).positions()
    assert x[0] @ x[1] == pytest.approx(solution.y[0, -1], abs=1e-7)


@pytest.mark.parametrize("kind", ["static", "rotating", "paper_oscillating"])
@pytest.mark.parametrize("name", FLOWS)
def test_balances_close_as_dt_squared(name, kind):
    """The power balance closes for every flow, the EDI for the gradient flow; both fall by 4 when dt halves."""
    rows = []
    for dt in (0.02, 0.01):
        system = flow(sphere(60), schedule(kind, heads=3, dt=dt), flow=name, sign=-1)
        rows.append(advance(system, round(1 / dt)).diagnostics())
    columns = ["power_residual"] + ["edi_residual"] * (name == "gradient_flow")
    for column in columns:
        assert abs(rows[1][column]) < 1e-3
        assert rows[0][column] / rows[1][column] == pytest.approx(4, abs=0.5)


def test_the_softmax_average_is_not_the_gradient_flow():
    """For H > 1 the EDI residual of `softmax` stays whatever dt; for H = 1 the two flows are one."""
    residuals = {}
    for heads in (1, 4):
        for dt in (0.02, 0.01):
            system = flow(sphere(60), schedule("static", heads=heads, dt=dt), flow="softmax", sign=-1)
            residuals[heads, dt] = advance(system, round(1 / dt)).diagnostics()["edi_residual"]
    assert residuals[1, 0.02] / residuals[1, 0.01] == pytest.approx(4, abs=0.5)
    assert residuals[4, 0.02] / residuals[4, 0.01] == pytest.approx(1, abs=0.05)
    assert abs(residuals[4, 0.01]) > 1e-3


def test_one_head_softmax_is_the_gradient_flow():
    ends = [advance(flow(sphere(30), schedule("rotating", heads=1), flow=name), 20).positions() for name in FLOWS[:2]]
    assert np.abs(ends[0] - ends[1]).max() < 1e-13


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", ["gradient_flow", "unnormalised"])
def test_energy_is_monotone_under_fixed_weights(name, sign):
    system = flow(sphere(40), schedule("static", heads=4, dt=0.005), flow=name, sign=sign)
    energies = [system.diagnostics()["energy"]]
    for _ in range(60):
        system.step()
        energies.append(system.diagnostics()["energy"])
    assert (sign * np.diff(energies) > 0).all()


def test_turning_tokens_and_weights_together_turns_the_flow():
    x, R = sphere(25), random_rotation(3)
    theta = schedule("static").theta(0)
    ends = []
    for cloud_, weights in ((x, theta), (x @ R.T, R @ theta @ R.T)):
        law = schedule("static", heads=3)
        law._fixed = weights
        ends.append(advance(flow(cloud_, law), 20).positions())
    assert np.abs(ends[0] @ R.T - ends[1]).max() < 1e-12


def test_order_of_tokens_and_heads_is_irrelevant():
    x, tokens, heads = sphere(33), np.random.default_rng(1).permutation(33), [2, 0, 1]
    plain = advance(flow(x, schedule("static")), 10).positions()
    law = schedule("static")
    law._fixed = law._fixed[heads]
    shuffled = advance(flow(x[tokens], law), 10).positions()
    assert np.abs(plain[tokens] - shuffled).max() < 1e-13


def test_velocity_is_tangent_and_tokens_stay_on_the_sphere():
    system = advance(flow(sphere(100), schedule("ou"), precision="f32", sign=-1), 200)
    system.diagnostics()
    v = system._first.v.to_numpy()
    assert np.abs((v * system.positions()).sum(axis=1)).max() < 1e-6
    assert system.radius_error() < 1e-6


@pytest.mark.parametrize("precision", ["f32", "f64"])
@pytest.mark.parametrize("beta", [1000.0, -1000.0])
def test_beta_of_a_thousand_stays_finite(beta, precision):
    law = schedule("static", heads=2, dt=1e-3, theta="random", beta=beta)
    system = advance(flow(sphere(64), law, flow="softmax", precision=precision), 30)
    assert np.isfinite(system.positions()).all()
    assert system.radius_error() < 1e-6


def test_an_overflowing_velocity_is_said_in_words():
    law = schedule("static", heads=1, dt=1e-3, theta=1000.0)
    with pytest.raises(Diverged, match=r"unnormalised.*softmax"):
        advance(flow(sphere(64), law, flow="unnormalised", precision="f32"), 2)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", FLOWS)
def test_tokens_that_cannot_move(name, sign):
    """One token, coincident tokens and an antipodal pair under theta = I feel no tangent force."""
    pole = np.array([[0.0, 0.6, 0.8]])
    for x in (pole, np.tile(pole, (20, 1)), np.concatenate([pole, -pole])):
        law = schedule("static", heads=2, theta=1.0)
        system = advance(flow(x, law, flow=name, sign=sign), 20)
        assert np.abs(system.positions() - x).max() < 1e-12


def test_never_settles_keeps_its_speed():
    """Two heads rotating about z (MATHS.md): late mean speed 0.179-0.180, slope^2 0.0476-0.0477, N = 64 as well as 256.

    The tabulated means are over five sixths of T = 200; half a turn of the weights is the period, so the mean over whole
    periods after t = 30 settles it within the last digits.
    """
    law = schedule("rotating", heads=2, dt=0.02, eigenvalues=(2.0, 0.5, 1.0), omega=1.0, phases=[0.0, 0.6])
    system = advance(flow(sphere(64), law, flow="gradient_flow", sign=-1, precision="f32", track_balance=False), 1500)
    rows = []
    for _ in range(round(8 * np.pi / 0.02)):
        system.step()
        rows.append([system._summary().mean_speed, system._summary().slope2])
    speed, slope2 = np.mean(rows, axis=0)
    assert speed == pytest.approx(0.1795, abs=0.003)
    assert slope2 == pytest.approx(0.04765, abs=0.001)


def test_same_seed_same_path_and_reset_repeats_it():
    runs = []
    for _ in range(2):
        system = advance(flow(sphere(50), schedule("ou"), precision="f32"), 30)
        runs.append(system.positions())
    system.reset()
    assert system.time == 0 and np.abs(system.positions() - sphere(50)).max() < 1e-7
    runs.append(advance(system, 30).positions())
    assert np.array_equal(runs[0], runs[1]) and np.array_equal(runs[0], runs[2])


def test_time_is_a_product_not_a_sum():
    system = advance(flow(sphere(1), schedule("static", heads=1, dt=0.1)), 3)
    assert system.time == 3 * 0.1


def test_shown_clouds_lie_on_great_circles():
    system = advance(flow(sphere(40), schedule("static"), sign=1), 5)
    before, after = system._previous.to_numpy(), system.positions()
    system.diagnostics()
    for fraction in (0.0, 0.25, 1.0):
        shown = system.shown(system.time - (1 - fraction) * system.dt).to_numpy()
        angle = np.arccos(np.clip((before * after).sum(axis=1), -1, 1))[:, None]
        exact = (np.sin((1 - fraction) * angle) * before + np.sin(fraction * angle) * after) / np.sin(angle)
        assert np.abs(shown - exact).max() < 2e-6


def test_changing_beta_by_hand_keeps_the_balance():
    """What a slider does to the energy is explicit change of the weights: the power balance stays closed."""
    system = advance(flow(sphere(60), schedule("static", dt=0.005), flow="gradient_flow", sign=-1), 40)
    system.diagnostics()
    system.set_parameters({"weights.beta": 1.3})
    row = advance(system, 40).diagnostics()
    assert abs(row["power_residual"]) < 1e-4 * row["energy"]


def test_unknown_live_parameters_are_named():
    system = flow(sphere(4), schedule("static"))
    with pytest.raises(KeyError, match="kappa"):
        system.set_parameters({"weights.kappa": 1.0})
    with pytest.raises(KeyError, match="tokens"):
        system.set_parameters({"tokens.count": 5.0})


def test_clusters_of_two_groups():
    x = normalised(np.array([[0, 0, 1.0]] * 5 + [[1.0, 0, 0]] * 3) + 1e-3 * sphere(8))
    assert flow(x, schedule("static")).diagnostics()["clusters"] == 2

"""The integrators: their orders against a fine RK4 run in float64, what each promises within a step, and the step probe.

Policy: an order is the slope of log error on log dt, within 0.2; what a step minimises is written out here again in NumPy.
"""

import numpy as np
import pytest

from sim.attention.flow import AttentionFlow
from sim.attention.integrators import INTEGRATORS
from sim.attention.stepping import exponential, logarithm
from sim.attention.tokens import cloud, normalised
from sim.attention.weights import SCHEDULES
from tests.sim.attention import reference

ROTATING = {"eigenvalues": (2.0, 0.5, 1.0), "axis": (1.0, 1.0, 0.0), "omega": 1.5}


def system(integrator, dt, *, law=("rotating", ROTATING), heads=3, count=20, **options):
    kind, keys = law
    schedule = SCHEDULES[kind](heads=heads, rng=np.random.default_rng(1), dt=dt, **keys)
    x = cloud("uniform", count, np.random.default_rng(0))
    return AttentionFlow(x, schedule, **{"integrator": integrator, "dt": dt, "precision": "f64", **options})


def advance(flow, steps):
    for _ in range(steps):
        flow.step()
    return flow


def sum_of_a_movement(y, x, theta, tau, sign, weighted):
    """-sign E(y) + (1/(2 tau)) (1/N) sum b(x_i) dist(y_i, x_i)^2 from MATHS.md."""
    b = reference.velocity(x, theta, "gradient_flow", sign)[1] if weighted else 1.0
    distance = np.arccos(np.clip((x * y).sum(axis=1), -1, 1))
    return -sign * reference.energy(y, theta) + (b * distance**2).mean() / (2 * tau)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", INTEGRATORS)
def test_declared_order(name, sign):
    T, flow = 0.5, "gradient_flow"
    x = cloud("uniform", 20, np.random.default_rng(0))
    law = SCHEDULES["rotating"](heads=3, rng=np.random.default_rng(1), dt=T / 200, **ROTATING)
    *_, exact = reference.rk4(x, law.theta, T / 200, 200, flow, sign)
    steps = np.array([8, 16, 32])
    ends = [advance(system(name, T / n, flow=flow, sign=sign, track_balance=False), n).positions() for n in steps]
    slope = np.polyfit(np.log(1 / steps), np.log([np.abs(end - exact).max() for end in ends]), 1)[0]
    assert slope == pytest.approx(INTEGRATORS[name].order, abs=0.2)


def test_the_orders_are_1_2_4_2_1():
    assert {name: method.order for name, method in INTEGRATORS.items()} == {"euler": 1, "heun": 2, "rk4": 4, "ab2": 2, "jko": 1}


def test_ab2_evaluates_once_a_step_after_a_first_step_by_heun():
    flow = system("ab2", 0.02)
    calls = []
    evaluate = flow._engine.evaluate
    flow._engine.evaluate = lambda *given: calls.append(1) or evaluate(*given)
    heun = advance(system("heun", 0.02), 1)
    assert np.array_equal(advance(flow, 1).positions(), heun.positions()) and len(calls) == 2
    advance(flow, 5)
    assert len(calls) == 2 + 5


def test_ab2_is_its_formula():
    dt, steps = 0.03, 4
    law = SCHEDULES["rotating"](heads=3, rng=np.random.default_rng(1), dt=dt, **ROTATING)
    x = cloud("uniform", 20, np.random.default_rng(0))
    past = reference.velocity(x, law.theta(0), "softmax", -1)[0]
    after = reference.velocity(normalised(x + dt * past), law.theta(2), "softmax", -1)[0]
    x = normalised(x + dt / 2 * (past + after))
    for k in range(1, steps):
        now = reference.velocity(x, law.theta(2 * k), "softmax", -1)[0]
        x, past = normalised(x + dt * (1.5 * now - 0.5 * past)), now
    assert np.abs(advance(system("ab2", dt), steps).positions() - x).max() < 1e-12


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_reset_repeats_to_the_bit_and_probing_changes_nothing(integrator):
    law = ("ou", {"M": 1.0, "kappa": 1.0, "sigma": 1.0})
    flow = system(integrator, 0.02, law=law, flow="gradient_flow", probe_every=3)
    first = advance(flow, 7).positions()
    flow.reset()
    assert np.array_equal(advance(flow, 7).positions(), first)
    plain = advance(system(integrator, 0.02, law=law, flow="gradient_flow"), 7)
    assert np.array_equal(plain.positions(), first)
    assert plain.diagnostics() == flow.diagnostics()


@pytest.mark.parametrize("flow", ["gradient_flow", "unnormalised"])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("dt", [0.02, 1.0])
def test_a_minimizing_movement_never_raises_its_sum_and_ends_at_a_minimum(flow, sign, dt):
    movement = system("jko", dt, flow=flow, sign=sign)
    x, theta = movement.positions(), movement.schedule.theta(2)
    movement.step()
    y, stepper = movement.positions(), movement._stepper
    assert len(stepper.sums) > 2 and (np.diff(stepper.sums) <= 0).all()
    assert stepper.reach <= INTEGRATORS["jko"].tolerance["f64"] and movement.notices() == []

    def total(z):
        return sum_of_a_movement(z, x, theta, dt, sign, flow == "gradient_flow")

    assert stepper.sums[0] == pytest.approx(total(x), rel=1e-12) and stepper.sums[-1] == pytest.approx(total(y), rel=1e-12)
    rng = np.random.default_rng(2)
    for _ in range(20):
        assert total(normalised(y + 1e-3 * rng.normal(size=y.shape))) > total(y)


def test_a_minimizing_movement_in_single_precision_stays_close():
    double, single = (advance(system("jko", 0.02, flow="gradient_flow", precision=p), 10).positions() for p in ("f64", "f32"))
    assert np.abs(double - single).max() < 10 * INTEGRATORS["jko"].tolerance["f32"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"flow": "softmax"}, "softmax"),
        ({"flow": "gradient_flow", "law": ("static", {"theta": np.triu(np.ones((3, 3)))})}, "not symmetric"),
        ({"flow": "gradient_flow", "law": ("static", {"theta": 1.0, "value": 2.0})}, "value matrix"),
    ],
)
def test_without_an_energy_there_is_nothing_to_minimise(options, words):
    with pytest.raises(ValueError, match=words):
        system("jko", 0.02, **options)


@pytest.mark.parametrize("name", ["euler", "heun", "rk4", "jko"])
def test_the_probe_estimates_the_error_of_a_step(name):
    """Against 20 RK4 steps over the same dt; the estimate is exact up to the next order in dt."""
    dt = 0.05
    flow = system(name, dt, flow="gradient_flow", sign=1)
    law = SCHEDULES["rotating"](heads=3, rng=np.random.default_rng(1), dt=dt / 20, **ROTATING)
    *_, exact = reference.rk4(flow.positions(), law.theta, dt / 20, 20, "gradient_flow", 1)
    estimate = flow.step_error()
    true = np.linalg.norm(advance(flow, 1).positions() - exact, axis=1).max()
    assert estimate == pytest.approx(true, rel=0.25)


def test_the_probe_of_ab2_falls_with_the_cube_of_dt():
    estimates = [advance(system("ab2", dt, sign=1), round(0.2 / dt)).step_error() for dt in (0.04, 0.02)]
    assert estimates[0] / estimates[1] == pytest.approx(8, rel=0.2)


def test_a_coarse_step_is_said_and_a_fine_one_is_not():
    law = ("static", {"theta": "random", "beta": 3.0})
    coarse, fine = (advance(system("euler", dt, law=law, sign=1, probe_every=1), 3) for dt in (0.3, 1e-4))
    assert any("too coarse" in line and "0.3" in line for line in coarse.notices())
    assert fine.notices() == []
    coarse.reset()
    assert coarse.notices() == []


def test_great_circles():
    """Log of Exp is the identity below an angle of pi, Exp keeps to the sphere, and antipodes have no direction."""
    rng = np.random.default_rng(4)
    y = normalised(rng.normal(size=(50, 3)))
    w = reference.tangent(y, rng.normal(size=(50, 3)))
    w *= (rng.uniform(0, 3, 50) / np.linalg.norm(w, axis=1))[:, None]
    w = reference.tangent(y, w)
    z = exponential(y, w)
    assert np.abs(np.linalg.norm(z, axis=1) - 1).max() < 1e-14
    assert np.abs((y * z).sum(axis=1) - np.cos(np.linalg.norm(w, axis=1))).max() < 1e-14
    assert np.abs(logarithm(y, z) - w).max() < 1e-11
    assert np.array_equal(exponential(y, 0 * w), y / np.linalg.norm(y, axis=1, keepdims=True))
    pole = np.array([[0.0, 0.0, 1.0]])
    assert np.abs(logarithm(pole, -pole)).max() == 0

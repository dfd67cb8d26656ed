"""The lane-packed sums: against float64, at every count around a vector's width, shifted or not, with any number of threads."""

import subprocess
import sys

import numpy as np
import pytest
import taichi as ti

from sim import runtime
from sim.attention import pairs
from sim.attention.exponential import REACH, small_exp, vector_exp
from sim.attention.pairs import GV, B, Fields, Pairs, U
from sim.attention.tokens import cloud
from tests.sim.attention import reference

DTYPE = {"f32": np.float32, "f64": np.float64}


def evaluate(x, theta, flow, precision, value=None):
    engine, out = Pairs(len(x), len(theta), precision), Fields(len(x), precision)
    device = ti.ndarray(ti.types.vector(3, runtime.real_type(precision)), (len(x),))
    device.from_numpy(x.astype(DTYPE[precision]))
    shifted = engine.evaluate(device, theta, flow, -1, out, value)
    scalars, log = out.scalars.to_numpy().astype(float), out.reference.to_numpy().astype(float)
    return shifted, out.v.to_numpy(), scalars[U] * np.exp(log[0]), scalars[B] * np.exp(log[1]), scalars[GV] * np.exp(log[0])


def heads(count, size, seed=0):
    theta = np.random.default_rng(seed).normal(size=(count, 3, 3))
    theta = theta + theta.transpose(0, 2, 1)
    return size * theta / np.linalg.norm(theta, axis=(1, 2))[:, None, None]


@pytest.mark.parametrize(("precision", "tolerance"), [("f32", 2e-6), ("f64", 2e-14)])
@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 50])
def test_fields_at_every_width(count, precision, tolerance):
    x = cloud("uniform", count, np.random.default_rng(count)).astype(DTYPE[precision]).astype(float)
    theta = heads(3, 2.0).astype(DTYPE[precision]).astype(float)
    for flow in pairs.FLOWS:
        v, b, g = reference.velocity(x, theta, flow, -1)
        shifted, v_, U_, b_, gv = evaluate(x, theta, flow, precision)
        assert not shifted
        assert np.abs(v_ - v).max() < tolerance
        assert np.abs(b_ / b - 1).max() < tolerance
        assert np.abs(U_ / reference.head_fields(x, theta)[0].mean(axis=0) - 1).max() < tolerance
        assert np.abs(gv - (g * v).sum(axis=1)).max() < tolerance


@pytest.mark.parametrize("flow", pairs.FLOWS)
def test_shifted_sums_are_the_same_sums(flow):
    """|theta| = 60 is past the f32 limit, within float64's range for the reference: relative 2e-5 (60 times f32's last bit)."""
    x = cloud("uniform", 40, np.random.default_rng(1)).astype(np.float32).astype(float)
    theta = heads(3, 60.0).astype(np.float32).astype(float)
    v, b, g = reference.velocity(x, theta, flow, -1)
    shifted, v_, _, b_, gv = evaluate(x, theta, flow, "f32")
    assert shifted
    assert np.abs(v_ - v).max() < 2e-5 * np.abs(v).max()
    assert np.abs(b_ / b - 1).max() < 2e-5
    assert np.abs(gv - (g * v).sum(axis=1)).max() < 4e-5 * np.abs(g * v).max()


def test_a_value_matrix_replaces_the_leading_theta():
    x, theta, value = cloud("uniform", 20, np.random.default_rng(1)), heads(2, 2.0), heads(2, 1.0, seed=5)
    G, dG = reference.head_fields(x, theta)
    exact = -reference.tangent(x, np.einsum("hij,hnj->hni", value, dG / G[..., None]).mean(axis=0))
    assert np.abs(evaluate(x, theta, "softmax", "f64", value)[1] - exact).max() < 1e-14


def test_slices_change_nothing(monkeypatch):
    x, theta = cloud("uniform", 100, np.random.default_rng(1)), heads(2, 2.0)
    whole = evaluate(x, theta, "gradient_flow", "f32")
    monkeypatch.setattr(pairs, "SLICE", 100 * 2 * 40)  # slices of 32 tokens
    for a, b in zip(whole, evaluate(x, theta, "gradient_flow", "f32"), strict=True):
        assert np.array_equal(a, b)


def applied(function, precision, x):
    """A ti.func of 16 lanes at every entry of x, whose length is a multiple of 16."""
    real = runtime.real_type(precision)

    @ti.kernel
    def apply(x: ti.types.ndarray(dtype=real, ndim=1), out: ti.types.ndarray(dtype=real, ndim=1)):
        for block in range(x.shape[0] // 16):
            v = ti.types.vector(16, real)(0)
            for lane in ti.static(range(16)):
                v[lane] = x[block * 16 + lane]
            w = function(v)
            for lane in ti.static(range(16)):
                out[block * 16 + lane] = w[lane]

    out = np.zeros_like(x)
    apply(x, out)
    return out


@pytest.mark.parametrize("precision", DTYPE)
@pytest.mark.parametrize("squarings", pairs.SQUARINGS)
def test_small_exponential(precision, squarings):
    """Against long double, in half units of the last place."""
    y = np.linspace(-REACH, REACH, 4096).astype(DTYPE[precision])
    exponent = y.astype(np.longdouble) * 2**squarings
    off = np.abs(applied(small_exp(precision, 16, squarings), precision, y) / np.exp(exponent) - 1)
    half_units = off / (np.finfo(DTYPE[precision]).eps / 2)
    assert half_units.max() < 10 * 2**squarings
    assert half_units[np.abs(exponent) < 0.1].max() < 8


@pytest.mark.parametrize(("precision", "extent"), [("f32", 40), ("f64", 300)])
def test_vector_exponential(precision, extent):
    """Against long double: |x| and a few half units in the last place; beyond the range it stays at the ends of the range."""
    x = np.concatenate([np.linspace(-extent, extent, 4092), [0, 1, -2000, 2000]]).astype(DTYPE[precision])
    out = applied(vector_exp(precision, 16), precision, x)
    exact = np.exp(x[:-2].astype(np.longdouble))
    allowed = np.finfo(DTYPE[precision]).eps / 2 * 1.5 * (np.abs(x[:-2]) + 6)
    assert (np.abs(out[:-2] / exact - 1) < allowed).all()
    assert 0 < out[-2] < 1e-37 and out[-1] > 1e37 and np.isfinite(out[-1])
    assert out[-4] == 1


BITS = """
import sys, hashlib, numpy as np
from sim import runtime
runtime.start("cpu", threads=int(sys.argv[1]))
from sim.attention.flow import AttentionFlow
from sim.attention.tokens import cloud
from sim.attention.weights import SCHEDULES
law = SCHEDULES["ou"](heads=3, rng=np.random.default_rng(1), dt=0.02, kappa=1.0, sigma=1.0)
system = AttentionFlow(cloud("uniform", 333, np.random.default_rng(0)), law, flow="gradient_flow")
for _ in range(10): system.step()
row = system.diagnostics()
print(hashlib.sha256(system.positions().tobytes() + np.array(list(row.values())).tobytes()).hexdigest())
"""


def test_same_bits_for_any_number_of_threads():
    outputs = {subprocess.run([sys.executable, "-c", BITS, n], capture_output=True, text=True, check=True).stdout for n in "12"}
    assert len(outputs) == 1 and len(outputs.pop().strip()) == 64

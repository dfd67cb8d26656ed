"""Phi_mu's identities, for the NumPy functions and for the same text compiled by Taichi, in both precisions.

Policy: every equation stands beside its test; tolerances are a few roundings of the largest term.
"""

import functools

import numpy as np
import pytest
import taichi as ti
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.two_factor import charts, phi
from tests.sim.two_factor import reference

coordinates = st.floats(-4, 4, allow_nan=False)
parameters = st.floats(-3, 3, allow_nan=False)
within = st.floats(-1.99, 1.99, allow_nan=False)


@functools.cache
def compiled(precision, lanes):
    """Phi_mu and its tangent map in a kernel of this precision, on `lanes` points packed in a vector."""
    real = {"f32": ti.f32, "f64": ti.f64}[precision]
    packed = ti.types.vector(lanes, real)

    @ti.kernel
    def run(state: ti.types.ndarray(dtype=real, ndim=2), mu: real):
        for group in range(state.shape[1] // lanes):
            a, b, va, vb = packed(0), packed(0), packed(0), packed(0)
            for lane in ti.static(range(lanes)):
                a[lane] = state[0, group * lanes + lane]
                b[lane] = state[1, group * lanes + lane]
                va[lane] = state[2, group * lanes + lane]
                vb[lane] = state[3, group * lanes + lane]
            next_a, next_b = phi.ti_phi(a, b, mu)
            next_va, next_vb = phi.ti_tangent(a, b, va, vb, mu)
            for lane in ti.static(range(lanes)):
                state[0, group * lanes + lane] = next_a[lane]
                state[1, group * lanes + lane] = next_b[lane]
                state[2, group * lanes + lane] = next_va[lane]
                state[3, group * lanes + lane] = next_vb[lane]

    return run


@pytest.mark.parametrize(("precision", "tolerance"), [("f32", 2e-6), ("f64", 4e-15)])
@pytest.mark.parametrize("lanes", [1, 16])
def test_compiled_map_is_the_formula(precision, tolerance, lanes):
    rng = np.random.default_rng(1)
    state = rng.uniform(-2, 2, (4, 64)).astype(np.float32).astype({"f32": np.float32, "f64": np.float64}[precision])
    a, b, va, vb = state.astype(float)
    mu = 0.7300000190734863  # a number that f32 holds exactly
    compiled(precision, lanes)(state, mu)
    # J = [[1 - b^2, -(e + a b)], [-(e + a b), 1 - a^2]]
    off = -(2 * a * b - mu)
    expected = [*reference.step(a, b, mu), (1 - b * b) * va + off * vb, off * va + (1 - a * a) * vb]
    np.testing.assert_allclose(state, expected, rtol=0, atol=16 * tolerance)


def test_f64_kernels_keep_all_digits_though_the_default_is_f32():
    state = np.array([[0.1], [0.3], [1.0], [0.0]])
    compiled("f64", 1)(state, 0.7)
    assert state[0, 0] == pytest.approx(0.1 - (0.1 * 0.3 - 0.7) * 0.3, abs=1e-16)


@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_symmetries_hold_to_the_bit_in_kernels(precision):
    """(a, b) -> (b, a), -(a, b), and (a, b, mu) -> (a, -b, -mu); w = 0 and s = 0 are kept."""
    rng = np.random.default_rng(2)
    kind = {"f32": np.float32, "f64": np.float64}[precision]
    points = rng.uniform(-2, 2, (4, 16)).astype(kind)

    def run(a, b, mu):
        state = np.stack([a, b, points[2], points[3]])
        compiled(precision, 16)(state, mu)
        return state[0], state[1]

    a, b = points[0], points[1]
    next_a, next_b = run(a, b, 0.9)
    swapped = run(b, a, 0.9)
    assert np.array_equal(swapped[0], next_b) and np.array_equal(swapped[1], next_a)
    turned = run(-a, -b, 0.9)
    assert np.array_equal(turned[0], -next_a) and np.array_equal(turned[1], -next_b)
    mirrored = run(a, -b, -0.9)
    assert np.array_equal(mirrored[0], next_a) and np.array_equal(mirrored[1], -next_b)
    balanced, antibalanced = run(a, a, 0.9), run(a, -a, 0.9)
    assert np.array_equal(*balanced) and np.array_equal(antibalanced[0], -antibalanced[1])


@given(coordinates, coordinates, parameters)
@settings(max_examples=200, deadline=None)
def test_chart_s_w(a, b, mu):
    """s' = (1 - e) s, w' = (1 + e) w, e' = e (1 + mu e + e^2 - (a^2 + b^2)), s^2 - w^2 = 4 (e + mu)."""
    s, w = charts.to_sw(a, b)
    e = phi.error(a, b, mu)
    next_a, next_b = phi.phi(a, b, mu)
    next_s, next_w = charts.to_sw(next_a, next_b)
    assert next_s == pytest.approx((1 - e) * s, abs=1e-12)
    assert next_w == pytest.approx((1 + e) * w, abs=1e-12)
    size = 1 + (1 + abs(e)) ** 3 * (1 + a * a + b * b)
    assert phi.error(next_a, next_b, mu) == pytest.approx(e * (1 + mu * e + e * e - phi.sharpness(a, b)), abs=1e-13 * size)
    assert s * s - w * w == pytest.approx(4 * (e + mu), abs=1e-12)
    assert charts.from_sw(s, w) == pytest.approx((a, b), abs=1e-14)


@given(coordinates, coordinates, within)
@settings(max_examples=200, deadline=None)
def test_ellipse_level_and_barycentric_chart(a, b, mu):
    """D' = (1 + mu e + e^2) D with a positive factor; X + Y + Z = 1, e = 2 (X - Y) - mu Z, and the step in the chart."""
    e = a * b - mu
    level, factor = charts.ellipse_level(a, b, mu), 1 + mu * e + e * e
    after = reference.step(a, b, mu)
    size = (1 + a * a + b * b) ** 3 / (2 - abs(mu))
    assert factor > 0
    assert charts.ellipse_level(*after, mu) == pytest.approx(factor * level, abs=1e-12 * size)
    x, y, z = charts.barycentric(a, b, mu)
    assert x + y + z == pytest.approx(1, abs=1e-12) and z == pytest.approx(-level / 4, abs=1e-12 * size)
    assert 2 * (x - y) - mu * z == pytest.approx(e, abs=1e-12 * size)
    assert charts.barycentric_step(x, y, z, mu) == pytest.approx(charts.barycentric(*after, mu), abs=1e-12 * size)


def test_charts_invert():
    rng = np.random.default_rng(3)
    s, w = rng.uniform(0.1, 3, (2, 50))
    a, b = charts.from_sw(s, w)
    x, y, _ = charts.barycentric(a, b, 1.3)
    np.testing.assert_allclose(charts.from_barycentric(x, y, 1.3), (a, b), atol=1e-12)
    np.testing.assert_allclose(charts.from_ew(a * b - 1.3, w, 1.3), (a, b), atol=1e-12)
    assert np.isnan(charts.from_ew(-9.0, 0.0, 1.0)).all() and np.isnan(charts.from_barycentric(-0.1, 0.2, 1.0)).all()
    assert charts.mirror(1.0, 2.0, 0.5) == (1.0, -2.0, -0.5)


@pytest.mark.parametrize("mu", [2.0, -2.0, 2.5])
def test_no_ellipse_from_two_on(mu):
    with pytest.raises(ValueError, match=r"\|mu\| < 2"):
        charts.ellipse_level(1.0, 1.0, mu)

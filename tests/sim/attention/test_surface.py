"""Fields away from the tokens, against float64 NumPy written from MATHS.md, and densities against their integrals."""

import numpy as np
import pytest
import taichi as ti
from scipy.integrate import quad

from sim import runtime
from sim.attention.pairs import FLOWS
from sim.attention.surface import Surface
from sim.attention.tokens import cloud
from tests.sim.attention import reference
from tests.sim.attention.test_pairs import DTYPE, heads


class Still:
    """A cloud under fixed weights, as `Surface` reads it."""

    def __init__(self, x, theta, flow="softmax", sign=-1, precision="f64") -> None:
        self.count, self.heads, self.flow, self.sign, self.precision = len(x), len(theta), flow, sign, precision
        self.cloud = ti.ndarray(ti.types.vector(3, runtime.real_type(precision)), (len(x),))
        self.cloud.from_numpy(np.asarray(x, DTYPE[precision]))
        self._theta = theta

    def theta(self):
        return self._theta


X = cloud("uniform", 70, np.random.default_rng(1))
POINTS = cloud("uniform", 37, np.random.default_rng(2))


def at_points(theta, flow, sign):
    """v, b and U at POINTS with X as the source, from the definitions."""
    q = np.einsum("hji,nj->hni", theta, POINTS)
    e = np.exp(q @ X.T)
    G, dG = e.mean(axis=2), e @ X / len(X)
    b = 1 / (1 / G).mean(axis=0)
    scale = {"softmax": 1 / G, "gradient_flow": 1 / np.broadcast_to(b, G.shape), "unnormalised": np.ones_like(G)}[flow]
    pull = np.einsum("hij,hnj->hni", theta, dG * scale[..., None])
    each = sign * np.array([reference.tangent(POINTS, part) for part in pull])
    return each, b, G.mean(axis=0)


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("sign", [-1, 1])
def test_fields_at_other_points_than_the_tokens(flow, sign):
    theta = heads(3, 2.5)
    surface = Surface(Still(X, theta, flow, sign), POINTS)
    each, b, potential = at_points(theta, flow, sign)
    np.testing.assert_allclose(surface.drift(), each.mean(axis=0), atol=1e-13)
    np.testing.assert_allclose(surface.speed(), np.linalg.norm(each.mean(axis=0), axis=1), atol=1e-13)
    np.testing.assert_allclose(surface.log_b(), np.log(b), atol=1e-13)
    np.testing.assert_allclose(surface.log_potential(), np.log(potential), atol=1e-13)


@pytest.mark.parametrize("flow", FLOWS)
def test_heads_by_themselves_and_the_one_that_pulls_hardest(flow):
    theta = heads(4, 2.5)
    surface = Surface(Still(X, theta, flow), POINTS)
    each, b, _ = at_points(theta, flow, -1)
    common = b[:, None] if flow == "gradient_flow" else 1.0
    for h in range(4):
        np.testing.assert_allclose(surface.drift(h), each[h] * common, atol=1e-12)
    np.testing.assert_array_equal(surface.strongest_head(), np.linalg.norm(each, axis=2).argmax(axis=0))
    np.testing.assert_array_equal(surface.strongest_head([2]), 2)


def test_without_points_the_tokens_themselves():
    theta = heads(2, 1.5)
    v, b, _ = reference.velocity(X, theta, "gradient_flow", -1)
    surface = Surface(Still(X, theta, "gradient_flow"))
    np.testing.assert_allclose(surface.drift(), v, atol=1e-13)
    np.testing.assert_allclose(surface.log_b(), np.log(b), atol=1e-13)


@pytest.mark.parametrize("precision", ["f32", "f64"])
@pytest.mark.parametrize("kappa", [3.0, 200.0])
def test_a_density_is_one_on_average_and_falls_off_as_the_kernel(kappa, precision):
    """Of one token: kappa/sinh(kappa) exp(kappa cos a), whose mean over the sphere is 1; shifted sums included."""
    z = np.linspace(-1, 1, 41)
    points = np.stack([np.sqrt(1 - z * z), 0 * z, z], axis=1)
    surface = Surface(Still([[0.0, 0.0, 1.0]], np.eye(3)[None], precision=precision), points)
    expected = np.log(kappa / np.sinh(kappa)) + kappa * z
    assert quad(lambda c: kappa / np.sinh(kappa) * np.exp(kappa * c), -1, 1)[0] / 2 == pytest.approx(1)
    np.testing.assert_allclose(surface.log_density(kappa), expected, atol=3e-4 if precision == "f32" else 1e-11)


def test_large_weights_stay_finite():
    theta = 1000 * np.eye(3)[None]
    surface = Surface(Still(X, theta, precision="f32"), POINTS)
    largest = 1000 * (POINTS @ X.T).max(axis=1)
    assert np.isfinite(surface.log_b()).all() and np.isfinite(surface.speed()).all()
    assert (np.abs(surface.log_b() - largest) <= np.log(len(X)) + 0.1).all()


def test_beyond_the_budget_a_sample_stands_for_the_cloud():
    x = cloud("uniform", 20_000, np.random.default_rng(3))
    still = Still(x, np.eye(3)[None], precision="f32")
    exact, sampled = Surface(still, POINTS, budget=10**9), Surface(still, POINTS, budget=37 * 2000)
    assert (exact.sample, sampled.sample) == (20_000, 2000)
    deviation = np.exp(POINTS @ x.T).std(axis=1) / np.exp(exact.log_potential()) / np.sqrt(2000)
    difference = sampled.log_potential() - exact.log_potential()
    assert (np.abs(difference) < 5 * deviation).all() and np.abs(difference).max() > 0
    np.testing.assert_array_equal(sampled.log_potential(), Surface(still, POINTS, budget=37 * 2000).log_potential())

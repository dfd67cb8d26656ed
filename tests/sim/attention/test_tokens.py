"""Initial clouds: where their tokens lie, by geometry; and the clusters of a cloud, by brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.attention import clusters
from sim.attention.clusters import cluster_labels
from sim.attention.tokens import OCTAHEDRON, cloud, from_file, normalised
from tests.sim.attention.reference import brute_clusters


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("start", ["uniform", "octahedron", "cap", "ring"])
@pytest.mark.parametrize("count", [1, 7, 200])
def test_tokens_are_unit_vectors_and_repeat(start, count):
    x = cloud(start, count, rng())
    assert x.shape == (count, 3)
    assert np.abs(np.linalg.norm(x, axis=1) - 1).max() < 1e-15
    assert np.array_equal(x, cloud(start, count, rng()))


def test_uniform_cloud_has_the_moments_of_the_sphere():
    x = cloud("uniform", 100_000, rng())
    assert np.abs(x.mean(axis=0)).max() < 5 / np.sqrt(3 * 100_000)
    assert np.abs(x.T @ x / len(x) - np.eye(3) / 3).max() < 0.01


def test_octahedron_visits_its_vertices_in_turn():
    x = cloud("octahedron", 600, rng(), noise=0.05)
    nearest = np.argmax(x @ OCTAHEDRON.T, axis=1)
    assert np.array_equal(nearest, np.arange(600) % 6)
    # two tangent components of deviation 0.05: the mean squared distance is 2 * 0.05^2
    assert ((x - OCTAHEDRON[nearest]) ** 2).sum(axis=1).mean() == pytest.approx(2 * 0.05**2, rel=0.15)


def test_cap_is_uniform_in_height():
    axis = np.array([1.0, 2.0, -2.0]) / 3
    height = cloud("cap", 50_000, rng(), angle=60.0, axis=(1.0, 2.0, -2.0)) @ axis
    assert height.min() >= 0.5 - 1e-12
    assert height.mean() == pytest.approx(0.75, abs=0.003)
    assert height.var() == pytest.approx(0.5**2 / 12, rel=0.03)


def test_ring_lies_in_its_plane_evenly():
    x = cloud("ring", 12, rng(), noise=0.0, axis=(1.0, 1.0, 1.0))
    assert np.abs(x.sum(axis=1)).max() < 1e-14
    assert np.abs((x * np.roll(x, 1, axis=0)).sum(axis=1) - np.cos(np.pi / 6)).max() < 1e-14


def test_unknown_start():
    with pytest.raises(ValueError, match="choose from uniform"):
        cloud("cube", 3, rng())


def test_tokens_from_a_file(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.array([[2.0, 0, 0], [0, 3, 4]]))
    assert np.allclose(from_file(path), [[1, 0, 0], [0, 0.6, 0.8]])
    for bad, reason in (
        (np.zeros((2, 3)), "row 0"),
        (np.array([[1, 0, 0], [np.nan, 0, 1]]), "row 1"),
        (np.ones((3, 2)), "shape"),
    ):
        np.save(path, bad)
        with pytest.raises(ValueError, match=reason):
            from_file(path)
    path.write_text("not numpy")
    with pytest.raises(ValueError, match="readable"):
        from_file(path)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 60), spread=st.floats(0.001, 3), cosine=st.floats(-0.5, 0.9999))
def test_clusters_against_brute_force(seed, count, spread, cosine):
    """Both ways of counting agree with repeated merging, on clouds from one tight group to uniform."""
    x = normalised(np.array([0, 0, 1.0]) + spread * rng(seed).normal(size=(count, 3)))
    expected = brute_clusters(x, cosine)
    assert np.array_equal(cluster_labels(x, cosine), expected)
    by_cells = clusters._by_cells(x, float(np.sqrt(2 - 2 * cosine)))
    assert np.array_equal(np.unique(by_cells, return_inverse=True)[1], np.unique(expected, return_inverse=True)[1]) or len(
        set(zip(by_cells.tolist(), expected.tolist(), strict=True))
    ) == len(set(expected.tolist())) == len(set(by_cells.tolist()))


def test_crowded_clusters_do_not_list_every_link():
    """20 000 tokens in two tight groups are 10^8 links; the count is 2 and comes from the cells."""
    x = normalised(np.repeat([[0, 0, 1.0], [1.0, 0, 0]], 10_000, axis=0) + 1e-3 * rng().normal(size=(20_000, 3)))
    labels = cluster_labels(x, 0.99)
    assert labels.max() == 1 and (labels[:10_000] == 0).all()

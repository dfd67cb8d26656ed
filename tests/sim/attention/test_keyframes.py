"""Weights from files: interpolation in depth, what is wrong with a file, and the projection of d x d heads to 3 x 3."""

import numpy as np
import pytest

from sim.attention.keyframes import Keyframes, project_heads, read_keyframes

RNG = np.random.default_rng(8)
THETA = RNG.normal(size=(5, 2, 3, 3))
TIMES = np.array([0.5, 1.0, 2.0, 2.5, 4.0])


def saved(path, **arrays):
    np.savez(path / "w.npz", **arrays)
    return path / "w.npz"


def law(file, dt=0.1, heads=2, **options):
    return Keyframes(file=file, heads=heads, dt=dt, rng=np.random.default_rng(0), **options)


def by_hand(t, times, theta, interpolation):
    """Matrix entry by matrix entry, from the definition."""
    t = min(max(t, times[0]), times[-1])
    if interpolation == "hold":
        return theta[np.flatnonzero(times <= t)[-1]]
    flat = theta.reshape(len(theta), -1)
    return np.array([np.interp(t, times, column) for column in flat.T]).reshape(theta.shape[1:])


@pytest.mark.parametrize("interpolation", ["hold", "linear"])
@pytest.mark.parametrize("pace", [1.0, 0.5])
def test_hold_and_linear(tmp_path, interpolation, pace):
    weights = law(saved(tmp_path, theta=THETA, times=TIMES), interpolation=interpolation, pace=pace)
    for half in (0, 3, 15, 39, 51, 77, 200):
        exact = by_hand(half * 0.05 * pace, TIMES, THETA, interpolation)
        assert np.abs(weights.theta(half) - exact).max() < 1e-14


def test_cubic_reproduces_cubics_and_passes_through_the_matrices(tmp_path):
    coefficients = RNG.normal(size=(4, 2, 3, 3))

    def exact(t):
        return sum(c * t**n for n, c in enumerate(coefficients))

    weights = law(saved(tmp_path, theta=np.array([exact(t) for t in TIMES]), times=TIMES), interpolation="cubic")
    for half in range(10, 80, 7):
        assert np.abs(weights.theta(half) - exact(half * 0.05)).max() < 1e-10
    rough = law(saved(tmp_path, theta=THETA, times=TIMES), interpolation="cubic")
    assert np.abs([rough.theta(20 * t) - key for t, key in zip(TIMES, THETA, strict=True)]).max() < 1e-13
    assert np.abs(rough.theta(1000) - THETA[-1]).max() < 1e-13


@pytest.mark.parametrize("interpolation", ["hold", "linear", "cubic"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_matrices_and_no_times(tmp_path, interpolation, count):
    """Without times the matrices stand at 0, 1, 2, ...; through two of them the cubic is a line."""
    weights = law(saved(tmp_path, theta=THETA[:count]), interpolation=interpolation)
    for i in range(count):
        assert np.abs(weights.theta(20 * i) - THETA[i]).max() < 1e-13
    if count == 2 and interpolation != "hold":
        assert np.abs(weights.theta(10) - THETA[:2].mean(axis=0)).max() < 1e-14


def test_symmetry_of_the_file_decides_about_the_energy(tmp_path):
    file = saved(tmp_path, theta=THETA)
    assert "not symmetric" in law(file).why_no_energy
    weights = law(file, symmetrise=True)
    assert weights.why_no_energy is None
    assert np.array_equal(weights.theta(0), (THETA[0] + THETA[0].transpose(0, 2, 1)) / 2)


def test_reset_repeats(tmp_path):
    weights = law(saved(tmp_path, theta=THETA), noise={"kappa": 1.0, "sigma": 1.0})
    path = [weights.theta(half) for half in range(9)]
    weights.reset()
    assert np.array_equal([weights.theta(half) for half in range(9)], path)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"weights": THETA}, "no array `theta`"),
        ({"theta": THETA[0]}, r"\(2, 3, 3\).*\(K, H, 3, 3\)"),
        ({"theta": THETA[:0]}, r"\(K, H, 3, 3\)"),
        ({"theta": THETA + 1j}, "complex128"),
        ({"theta": np.array([["a"]])}, r"\(K, H, 3, 3\)"),
        ({"theta": np.full((1, 2, 3, 3), np.nan)}, "not finite"),
        ({"theta": THETA, "times": TIMES[:3]}, "5 real numbers"),
        ({"theta": THETA, "times": TIMES * [1, 1, -1, 1, 1]}, r"times\[2\]"),
        ({"theta": THETA, "times": np.full(5, np.inf)}, "not finite"),
    ],
)
def test_a_wrong_file_is_said_to_be_wrong(tmp_path, arrays, words):
    with pytest.raises(ValueError, match=r"w\.npz: .*" + words):
        read_keyframes(saved(tmp_path, **arrays))


def test_files_of_another_kind_and_other_heads(tmp_path):
    np.save(tmp_path / "w.npy", THETA)
    (tmp_path / "w.txt").write_text("theta")
    np.savez(tmp_path / "objects.npz", theta=np.array([None]))
    whole = saved(tmp_path, theta=THETA).read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.npz").write_bytes(b"")
    for name in ("w.npy", "w.txt", "missing.npz", "objects.npz", "cut.npz", "empty.npz"):
        with pytest.raises(ValueError, match=name):
            read_keyframes(tmp_path / name)
    with pytest.raises(ValueError, match="2 heads, the system has 3"):
        law(saved(tmp_path, theta=THETA), heads=3)
    with pytest.raises(ValueError, match="hold, linear, cubic"):
        law(saved(tmp_path, theta=THETA), interpolation="quintic")


def test_heads_that_live_in_three_dimensions_are_kept_whole():
    """A = Q theta Q^T with Q (d, 3) orthonormal: nothing is lost, and the projection is theta in another basis."""
    Q = np.linalg.qr(RNG.normal(size=(12, 3)))[0]
    projected, share = project_heads(Q @ THETA @ Q.T)
    assert projected.shape == THETA.shape and share == pytest.approx(1, abs=1e-12)
    assert np.abs(np.linalg.norm(projected, axis=(2, 3)) - np.linalg.norm(THETA, axis=(2, 3))).max() < 1e-12
    assert np.trace(projected, axis1=2, axis2=3) == pytest.approx(np.trace(THETA, axis1=2, axis2=3))


def test_a_diagonal_is_cut_to_its_three_largest_entries():
    A = np.diag([1.0, 5.0, 0.1, 4.0, 3.0])[None, None]
    projected, share = project_heads(A)
    assert np.abs(projected[0, 0] - np.diag([5.0, 4.0, 3.0])).max() < 1e-14
    assert share == pytest.approx(np.sqrt(50 / 51.01))


def test_the_projection_turns_with_nothing_but_its_basis():
    """A change of basis of the model, the same for all heads, changes neither the share nor the singular values."""
    A = RNG.normal(size=(3, 2, 6, 6)) * np.linspace(3, 0.5, 6)
    Q = np.linalg.qr(RNG.normal(size=(6, 6)))[0]
    (one, share), (two, turned) = project_heads(A), project_heads(Q @ A @ Q.T)
    assert share == pytest.approx(turned) and 0 < share < 1
    assert np.linalg.svd(one, compute_uv=False) == pytest.approx(np.linalg.svd(two, compute_uv=False))


def test_projection_of_nothing_and_of_wrong_shapes():
    assert project_heads(np.zeros((1, 1, 4, 4)))[1] == 1
    for shape in ((2, 3, 3), (1, 1, 2, 2), (1, 1, 4, 3)):
        with pytest.raises(ValueError, match="d >= 3"):
            project_heads(np.zeros(shape))

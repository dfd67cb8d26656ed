"""The swept grids: packed against scalar against a plain NumPy loop, f32 against f64, and against what is exact.

Policy: outcomes must be equal wherever no boundary is within rounding's reach; the ellipse judges the rest; starts whose
fate needs no computer come first.
"""

import math
import subprocess
import sys

import numpy as np
import pytest

from sim import runtime
from sim.two_factor import orbits, theory
from sim.two_factor.plane import BOUNDED, ESCAPED, LANDED, PERIOD2, UNDECIDED, Plane
from tests.sim.two_factor import reference


@pytest.fixture
def plane():
    """Makes planes, and frees them."""
    made = []

    def make(**options):
        options = {"size": (64, 64), "iterations": 200, **options}
        made.append(Plane(**options))
        return made[-1]

    yield make
    for one in made:
        one.release()


def grid(one):
    x, y = one.points()
    return np.broadcast_arrays(x[None, :], y[:, None])


def read(one, *names):
    return [one.channel(name).to_numpy() for name in names]


# --- starts whose fate needs no computer ---


def test_balanced_line_column_of_points(plane):
    """On a = b (a row and a column through the centre of tiny windows): landed at once, period 2, escaped."""
    one = plane(mu=0.5, center=(math.sqrt(0.5), math.sqrt(0.5)), width=1e-6, size=(8, 8), precision="f64")
    assert np.all(one.outcome().to_numpy() == LANDED)
    np.testing.assert_allclose(read(one, "sharpness")[0], 1.0, atol=3e-6)  # a^2 + b^2 = 2 mu
    assert np.all(read(one, "landing")[0] == 0) and np.all(read(one, "branch")[0] == 1)
    x1, x2 = theory.period2_points(1.1)
    for x, phase in ((x1, 1), (x2, -1)):  # e > 0 at the larger point
        one = plane(mu=1.1, center=(x, x), width=1e-6, size=(8, 8), precision="f64")
        assert np.all(one.outcome().to_numpy() == PERIOD2)
        assert np.all(read(one, "phase")[0] == phase) and np.all(read(one, "branch")[0] == 1)
        one.set_window((-x, -x), 1e-6)
        assert np.all(read(one, "phase")[0] == phase) and np.all(read(one, "branch")[0] == -1)


def test_antibalanced_line(plane):
    """s = 0: w' = (1 - mu - w^2/4) w. It shrinks to the origin inside, where it stays: undecided, on neither branch."""
    one = plane(mu=0.5, size=(65, 65))
    label, branch = one.outcome().to_numpy(), read(one, "branch")[0]
    a, b = grid(one)
    diagonal = (a == -b) & theory.inside_ellipse(a, b, 0.5)
    assert diagonal.sum() > 20
    assert np.all(label[diagonal] == UNDECIDED) and np.all(branch[diagonal] == 0)
    assert np.all(read(one, "sharpness")[0][diagonal] < 1e-6)


def test_zero_mu_axes_are_fixed(plane):
    """mu = 0: (a, 0) is fixed; attracting for a^2 < 2, never escaping beyond it."""
    one = plane(mu=0.0, size=(65, 65))
    a, b = grid(one)
    label = one.outcome().to_numpy()
    inner, outer = (b == 0) & (np.abs(a) < 1.4) & (np.abs(a) > 0.1), (b == 0) & (np.abs(a) > 1.45)
    assert np.all(label[inner] == LANDED) and np.all(label[outer] == UNDECIDED)
    np.testing.assert_allclose(read(one, "sharpness")[0][inner | outer], (a * a)[inner | outer], rtol=1e-6)


def test_far_windows_escape_at_once(plane):
    one = plane(mu=0.9, center=(3e5, -2e5), width=10.0)
    assert np.all(one.outcome().to_numpy() == ESCAPED)
    assert np.all(one.sweep_ends().steps.to_numpy()[:64, :64] == 0)
    count = read(one, "escape")[0]
    assert np.all(np.isfinite(count)) and np.all(count < 0)


@pytest.mark.parametrize("mu", [10.5, 300.0, -1e6, 1e6])
def test_large_mu_escapes_everywhere_without_nan(plane, mu):
    one = plane(mu=mu, width=6.0)
    a, b = grid(one)
    *_, label = reference.loop(a, b, mu, 200)
    assert np.array_equal(one.outcome().to_numpy() == ESCAPED, label == -1)
    escaped = label == -1
    assert escaped.mean() > 0.98 and np.all(np.isfinite(read(one, "escape")[0][escaped]))


# --- three programs, one answer ---

CASES = [(0.5, 5.2), (0.9, 5.2), (1.1, 5.2), (1.9, 5.2), (2.05, 5.2), (-0.5, 5.2), (0.0, 5.2), (6.0, 8.0)]


@pytest.mark.parametrize(("mu", "width"), CASES)
def test_against_the_plain_loop(plane, mu, width):
    """f64, 40 steps, so that chaos has not used up the digits: same step, same state, same outcome, at every point."""
    one = plane(mu=mu, width=width, iterations=40, precision="f64", size=(61, 47))
    a, b = grid(one)
    end_a, end_b, k, label = reference.loop(a, b, mu, 40)
    ends = one.sweep_ends()
    rows, columns = label.shape
    steps = ends.steps.to_numpy()[:rows, :columns]
    differing = steps != k
    assert differing.mean() < 2e-3  # a rounding on an event's threshold
    found = one.outcome().to_numpy()
    for ours, theirs in ((ESCAPED, -1), (LANDED, 1)):
        assert np.array_equal(found == ours, label == theirs)
    calm = ~differing & (label != 0)
    np.testing.assert_allclose(ends.a.to_numpy()[:rows, :columns][calm], end_a[calm], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(ends.b.to_numpy()[:rows, :columns][calm], end_b[calm], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_packed_is_scalar(plane, monkeypatch, precision):
    """One lane (what GPUs run) and many: the same orbits."""
    for mu in (0.7, 1.1, 1.5):
        packed = plane(mu=mu, precision=precision, iterations=100)
        label, steps = packed.outcome().to_numpy(), packed.sweep_ends().steps.to_numpy()
        channels = read(packed, "escape", "sharpness", "branch", "phase", "lyapunov")
        with monkeypatch.context() as patch:
            patch.setattr(runtime, "LANES", 1)
            scalar = plane(mu=mu, precision=precision, iterations=100)
            assert np.array_equal(scalar.outcome().to_numpy(), label)
            assert np.mean(scalar.sweep_ends().steps.to_numpy()[:64, :64] != steps[:64, :64]) < 2e-3
            again = read(scalar, "escape", "sharpness", "branch", "phase", "lyapunov")
        for one, other in zip(channels[2:4], again[2:4], strict=True):
            assert np.array_equal(one, other)
        landed = label == LANDED
        np.testing.assert_allclose(again[0], channels[0], atol=0.02)
        np.testing.assert_allclose(again[4], channels[4], atol=5e-3)
        np.testing.assert_allclose(again[1][landed], channels[1][landed], atol=0.02)


def test_f32_and_f64_in_one_process_agree(plane):
    """Away from the ellipse the outcome does not depend on the precision, nor does the smooth count."""
    for mu in (0.5, 1.1, 1.9):
        single, double = (plane(mu=mu, precision=p, size=(128, 128), iterations=300) for p in ("f32", "f64"))
        a, b = grid(single)
        clear = np.abs(theory.ellipse_distance(a, b, mu)) > 0.02
        assert np.array_equal((single.outcome().to_numpy() == ESCAPED)[clear], (double.outcome().to_numpy() == ESCAPED)[clear])
        counts = [read(p, "escape")[0] for p in (single, double)]
        gap = np.abs(counts[0] - counts[1])
        assert np.nanmedian(gap) < 1e-5 and np.nanquantile(gap, 0.99) < 0.05
    assert single.working_precision == "f32" and double.working_precision == "f64"


@pytest.mark.parametrize("precision", ["f32", "f64"])
@pytest.mark.parametrize(("mu", "enough"), [(0.5, 30), (1.1, 30), (1.9, 60), (-1.1, 30)])
def test_the_ellipse_is_the_boundary(plane, mu, enough, precision):
    """1024^2: no grid point further than one pixel from the ellipse on its wrong side; see `plane` for the iterations."""
    one = plane(mu=mu, size=(1024, 1024), iterations=enough, precision=precision)
    row = one.diagnostics()
    assert row["misclassified"] == 0
    assert row["ellipse_area"] == pytest.approx(2 * math.pi * math.sqrt(4 - mu * mu))
    assert row["bounded_area"] == pytest.approx(row["ellipse_area"], rel=3e-3)
    assert row["bounded_fraction"] * 5.2**2 == pytest.approx(row["bounded_area"])
    few = plane(mu=mu, size=(1024, 1024), iterations=8, precision=precision)
    assert few.diagnostics()["misclassified"] > 0  # the judge does find what is wrong


# --- the smooth counts ---


@pytest.mark.parametrize("mu", [0.5, 1.5, -0.9])
def test_escape_count_is_the_limit_of_the_formula(plane, mu):
    one = plane(mu=mu, size=(24, 20), width=9.0)
    a, b = grid(one)
    count, escaped = read(one, "escape")[0], one.outcome().to_numpy() == ESCAPED
    clear = escaped & (np.abs(theory.ellipse_distance(a, b, mu)) > 0.3)
    expected = [reference.escape_limit(x, y, mu) for x, y in zip(a[clear], b[clear], strict=True)]
    np.testing.assert_allclose(count[clear], expected, atol=2e-3)
    end_a, end_b, k, _ = reference.loop(a[clear], b[clear], mu, 200)
    formula = theory.escape_count(k, end_a**2 + end_b**2, 1e8)
    assert np.nanmedian(np.abs(count[clear] - formula)) < 0.05  # at R = 1e4 itself, up to 1/log R^2
    assert np.all(np.isnan(count) == ~escaped)


def test_escape_count_has_no_bands(plane):
    """Across the lines where the number of steps changes the count goes on: second differences stay small there."""
    one = plane(mu=0.9, center=(3.0, 3.0), width=1.6, size=(512, 512))
    count, steps = read(one, "escape")[0], one.sweep_ends().steps.to_numpy()[:512, :512]
    edges = np.diff(steps, axis=1) != 0
    assert edges.sum() > 200
    jump = np.abs(np.diff(count, axis=1))
    assert jump[edges].max() < 1.2 * jump.max() and jump.max() < 0.02


def test_landing_time_is_smooth_and_right(plane):
    """Near the curve e shrinks by 1 - (a^2 + b^2) a step: the time grows by 1 when e does by the inverse of that."""
    mu, shift = 0.5, 0.02
    one = plane(mu=mu, center=(1.0, 0.5 + shift), width=0.02, size=(256, 256), precision="f64")
    time, steps = read(one, "landing")[0], one.sweep_ends().steps.to_numpy()[:256, :256]
    assert np.all(np.isfinite(time)) and np.all(time <= steps) and np.all(time >= steps - 1)
    edges = np.diff(steps, axis=0) != 0
    jump = np.abs(np.diff(time, axis=0))
    assert edges.any() and jump[edges].max() < 1.5 * jump[~edges].max()
    a, b = grid(one)
    wide = plane(mu=mu, center=(3.0, 3.0), width=12.0, size=(256, 256))
    assert np.all(np.isnan(read(wide, "landing")[0]) == (wide.outcome().to_numpy() != LANDED))
    e = a * b - mu
    # e_k = e_0 (1 - r^2)^k to first order, r^2 = a^2 + b^2 = 1.25 on the curve there
    estimate = np.log(1e-4 / np.abs(e)) / np.log(np.abs(1 - (a * a + (mu / a) ** 2)))
    assert np.median(np.abs(time - estimate)) < 0.2


# --- phase, branch, sharpness, exponents ---


def test_phase_swaps_under_one_step(plane):
    """One step of every grid point by NumPy, then its phase by sweeping that point alone: the opposite one."""
    one = plane(mu=1.15, size=(16, 16), precision="f64")
    a, b = grid(one)
    phase, label = read(one, "phase")[0], one.outcome().to_numpy()
    assert set(np.unique(phase[label == PERIOD2])) == {-1.0, 1.0} and np.all(phase[label == ESCAPED] == 0)
    inside = np.argwhere(label == PERIOD2)[::5]
    for row, column in inside:
        next_a, next_b = reference.step(a[row, column], b[row, column], 1.15)
        image = plane(mu=1.15, center=(next_a, next_b), width=1e-9, size=(1, 1), precision="f64")
        assert read(image, "phase")[0][0, 0] == -phase[row, column]


def test_mirror_image_for_negative_mu(plane):
    """mu -> -mu is b -> -b: upside down, the same numbers."""
    for mu in (0.6, 1.1):
        one, other = plane(mu=mu, size=(64, 48)), plane(mu=-mu, size=(64, 48))
        assert np.array_equal(one.outcome().to_numpy(), other.outcome().to_numpy()[::-1])
        for name in ("escape", "landing", "sharpness", "branch", "phase", "lyapunov"):
            np.testing.assert_array_equal(*(read(p, name)[0][::d] for p, d in ((one, 1), (other, -1))), err_msg=name)


def test_swap_and_half_turn_symmetry(plane):
    one = plane(mu=0.9, size=(64, 64))
    for name in ("escape", "landing", "sharpness"):
        values = read(one, name)[0]
        np.testing.assert_array_equal(values, values[::-1, ::-1], err_msg=name)
        np.testing.assert_array_equal(values, values[::-1, ::-1].T, err_msg=name)
    branch = read(one, "branch")[0]
    np.testing.assert_array_equal(branch, -branch[::-1, ::-1])


def test_landed_points_lie_on_the_attracting_curve(plane):
    one = plane(mu=0.8, size=(128, 128), iterations=1000)
    label, sharpness = one.outcome().to_numpy(), read(one, "sharpness")[0]
    landed = label == LANDED
    ends = one.sweep_ends()
    end_a, end_b = (array.to_numpy()[:128, :128] for array in (ends.a, ends.b))
    assert np.all(np.abs(end_a * end_b - 0.8)[landed] < 1.001e-4)
    assert np.all((sharpness[landed] >= 1.6 - 1e-3) & (sharpness[landed] < 2))
    assert np.mean(label == BOUNDED) == 0 and np.mean(label == UNDECIDED) < 5e-3


def test_chaos_is_bounded_and_two_bands_keep_their_phase(plane):
    merged, banded = (plane(mu=mu, size=(96, 96), iterations=400) for mu in (1.9, 1.3))
    for one in (merged, banded):
        label, (a, b) = one.outcome().to_numpy(), grid(one)
        assert np.array_equal(label == BOUNDED, theory.inside_ellipse(a, b, one.mu))
    off_line = np.abs(grid(banded)[0] + grid(banded)[1]) > 1e-6
    bounded = banded.outcome().to_numpy() == BOUNDED
    assert np.mean(read(banded, "phase")[0][bounded & off_line] != 0) > 0.97
    assert np.mean(read(merged, "phase")[0][merged.outcome().to_numpy() == BOUNDED] != 0) < 0.02


@pytest.mark.parametrize(("mu", "largest"), [(1.1, -0.1116), (1.2, -0.1928), (1.5, 0.4913), (1.8, 0.8067)])
def test_lyapunov_channel_tends_to_the_exponent_of_the_attractor(plane, mu, largest):
    """A long horizon at many starts inside: MATHS's table, across at mu = 1.1, along at the others."""
    one = plane(mu=mu, size=(48, 48), width=1.2, center=(0.7, 0.7), lyapunov_steps=3000, precision="f64")
    values, inside = read(one, "lyapunov")[0], one.outcome().to_numpy() != ESCAPED
    assert np.all(np.isnan(values) == ~inside)
    assert values[inside].mean() == pytest.approx(largest, abs=0.02)


def test_lyapunov_channel_is_the_product_of_jacobians(plane):
    one = plane(mu=1.4, size=(12, 12), width=2.0, lyapunov_steps=12, precision="f64")
    values, inside = read(one, "lyapunov")[0], one.outcome().to_numpy() != ESCAPED
    a, b = (x[inside] for x in grid(one))
    va, vb = np.full(a.shape, math.sqrt(0.5)), np.full(a.shape, math.sqrt(0.5))
    for _ in range(12):
        off = -(2 * a * b - 1.4)
        va, vb = (1 - b * b) * va + off * vb, off * va + (1 - a * a) * vb
        a, b = reference.step(a, b, 1.4)
    np.testing.assert_allclose(values[inside], np.log(np.hypot(va, vb)) / 12, atol=1e-6)


# --- running ---


def test_parameters_do_not_recompile(plane):
    """mu, window, iterations and size are arguments: no kernel is compiled a second time."""
    one = plane(mu=0.5)
    read(one, "escape", "landing", "branch", "lyapunov")
    kernels = orbits.kernels("f32", runtime.machine().lanes)
    counts = [len(kernel._primal.compiled_kernels) for kernel in (kernels.blocks, kernels.finish, kernels.settle, kernels.growth)]
    for mu in np.linspace(0.4, 2.2, 7):
        one.set_parameters({"mu": float(mu), "iterations": 100 + 10 * mu, "window.width": 4 + mu, "window.center.0": mu / 9})
        one.set_size((60, 40))
        read(one, "escape", "landing", "branch", "lyapunov")
    after = [len(kernel._primal.compiled_kernels) for kernel in (kernels.blocks, kernels.finish, kernels.settle, kernels.growth)]
    assert after == counts == [1, 1, 1, 1]


CHILD = """
import hashlib, sys
from sim import runtime
runtime.start("cpu", threads=int(sys.argv[1]))
from sim.two_factor.plane import Plane
plane = Plane(mu=0.9, size=(200, 120), iterations=200)
digest = hashlib.sha256(plane.outcome().to_numpy().tobytes())
for name in ("escape", "landing", "branch"):
    digest.update(plane.channel(name).to_numpy().tobytes())
print(digest.hexdigest())
"""


def test_same_bits_for_one_and_two_threads(tmp_path):
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    found = []
    for threads in ("1", "2"):
        done = subprocess.run(
            [sys.executable, str(script), threads],
            capture_output=True,
            text=True,
            env={**__import__("os").environ, "PYTHONPATH": "."},
        )
        assert done.returncode == 0, done.stderr
        found.append(done.stdout.split()[-1])
    assert found[0] == found[1]


def test_long_work_goes_in_slices(plane, monkeypatch):
    """Launches of the block kernel cover few enough point-steps each, and together every tile once."""
    from sim.two_factor import sweep

    seen = []
    one = plane(mu=1.5, size=(640, 480), iterations=20_000)
    kernels = orbits.kernels("f32", runtime.machine().lanes)

    def record(part, across, *rest):
        seen.append((part[0], part[1]))

    monkeypatch.setattr(sweep.orbits, "kernels", lambda *_: kernels._replace(blocks=record, finish=lambda *_: None))
    one.sweep_ends()
    points = kernels.tile[0] * kernels.tile[1]
    assert [last for _, last in seen[:-1]] == [first for first, _ in seen[1:]] and seen[0][0] == 0
    assert seen[-1][1] * points == 640 * 480
    assert all((last - first) * points * 20_000 <= sweep.SLICE_STEPS for first, last in seen)

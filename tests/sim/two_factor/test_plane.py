"""The plane as a system: geometry, parameters, laziness, refusals."""

import numpy as np
import pytest

from scenes.spec import PLANE_COLUMNS
from sim.two_factor import theory
from sim.two_factor.plane import CHANNELS, ESCAPED, LABELS, Plane


@pytest.fixture
def plane():
    one = Plane(mu=0.9, size=(96, 64), iterations=120, dt=1 / 30)
    yield one
    one.release()


def test_grid_geometry(plane):
    """x = cx + ((col + .5)/W - .5) width, y = cy + (.5 - (row + .5)/H) width H/W; squares; row 0 on top."""
    plane.set_window((0.3, -0.2), 3.0)
    x, y = plane.points()
    np.testing.assert_allclose(x, 0.3 + ((np.arange(96) + 0.5) / 96 - 0.5) * 3.0, atol=1e-15)
    np.testing.assert_allclose(y, -0.2 + (0.5 - (np.arange(64) + 0.5) / 64) * 3.0 * 64 / 96, atol=1e-15)
    assert np.allclose(np.diff(x), plane.pixel) and np.allclose(np.diff(y), -plane.pixel) and y[0] > y[-1]


def test_kernels_see_that_geometry(plane):
    """An off-centre, oblong window: what is bounded is the ellipse at those very points, y upwards."""
    plane.set_window((0.4, 1.5), 3.0)
    x, y = plane.points()
    inside = theory.inside_ellipse(x[None, :], y[:, None], 0.9)
    assert np.array_equal(plane.outcome().to_numpy() != ESCAPED, inside)
    assert inside[-1].any() and not inside[0].any()


def test_circles_stay_round():
    """At mu = 0 the bounded set is the disc of radius 2: as many points across as down, whatever the shape.

    No grid here meets the axes or a, b = +-1, where orbits outside stay too (the landing web at mu = 0).
    """
    for size in ((160, 90), (90, 160), (98, 70)):
        one = Plane(mu=0.0, size=size, width=8.0 if size[0] > size[1] else 4.5, iterations=60)
        bounded = one.outcome().to_numpy() != ESCAPED
        assert abs(int(bounded.any(axis=0).sum()) - int(bounded.any(axis=1).sum())) <= 1
        assert bounded.sum() * one.pixel**2 == pytest.approx(4 * np.pi, rel=0.02)
        one.release()


def test_clock_and_reset(plane):
    for _ in range(90):
        plane.step()
    assert plane.step_index == 90 and plane.time == 90 * (1 / 30)
    plane.set_parameters({"mu": 1.5, "iterations": 33.4})
    assert (plane.mu, plane.iterations) == (1.5, 33)
    plane.reset()
    assert (plane.time, plane.mu, plane.iterations, plane.size) == (0.0, 0.9, 120, (96, 64))


def test_diagnostics_row(plane):
    row = plane.diagnostics()
    assert tuple(row) == PLANE_COLUMNS
    assert row["misclassified"] == 0 and isinstance(row["misclassified"], int)
    for mu in (2.0, -2.0, 2.05):
        plane.set_parameters({"mu": mu})
        row = plane.diagnostics()
        assert row["ellipse_area"] is None and row["misclassified"] is None and row["mu"] == mu
    assert row["bounded_fraction"] < 0.01


def test_misclassified_counts_beyond_one_pixel_only(plane):
    """A mask grown by less than a pixel passes; one grown by three does not, nor does one with a hole."""
    x, y = plane.points()
    distance = theory.ellipse_distance(*np.broadcast_arrays(x[None, :], y[:, None]), 0.9)
    assert plane.misclassified(distance < 0.9 * plane.pixel) == 0
    grown = distance < 3 * plane.pixel
    assert plane.misclassified(grown) == np.count_nonzero(grown & (distance > plane.pixel)) > 0
    hole = (distance < 0) & (distance > -0.5)
    assert plane.misclassified(hole) == np.count_nonzero(distance <= -0.5)


def test_channels_are_lazy_and_fresh(plane):
    first = plane.channel("escape")
    assert plane.channel("escape") is first and tuple(first.shape) == (64, 96)
    before = first.to_numpy()
    plane.set_parameters({"mu": plane.mu})  # no change, nothing to do
    assert plane._results._fresh
    plane.set_parameters({"mu": 0.2})
    changed = plane.channel("escape").to_numpy()
    assert not np.array_equal(before, changed, equal_nan=True)
    plane.set_window((0.1, 0.1), 1e-3)
    plane.set_size((40, 30))
    plane.outcome()
    plane.set_size((96, 64))
    plane.set_window((0.0, 0.0), 5.2)
    plane.set_parameters({"mu": 0.9})
    assert np.array_equal(plane.channel("escape").to_numpy(), before, equal_nan=True)  # zoom in and back: as fresh
    for name in CHANNELS:
        values = plane.channel(name).to_numpy()
        assert values.dtype == np.float32 and values.shape == (64, 96) and not np.isinf(values).any()


def test_labels_are_closed(plane):
    for mu in (0.5, 1.1, 1.24, 1.9, 2.1, -1.1, 1.0, 0.0):
        plane.set_parameters({"mu": mu})
        assert set(np.unique(plane.outcome().to_numpy())) <= set(LABELS)


def test_precision_follows_the_pixel(plane):
    assert plane.working_precision == "f32" and plane.resolved
    plane.set_window((1.0, 0.4), 1e-4)
    assert plane.working_precision == "f64" and plane.resolved
    plane.set_window((1.0, 0.4), 1e-14)
    assert plane.working_precision == "f64" and not plane.resolved
    coarse = Plane(mu=0.9, size=(96, 64), iterations=10, width=1e-6, center=(1.0, 0.4), precision="f32")
    assert coarse.working_precision == "f32" and not coarse.resolved


def test_tiny_windows_in_f64(plane):
    """1e-9 wide on the ellipse: every grid point its own column of values, split where the exact test says."""
    mu = 0.9
    a, b = theory.ellipse_point(0.7, mu)
    plane.set_window((float(a), float(b)), 1e-9)
    bounded = plane.outcome().to_numpy() != ESCAPED
    x, y = plane.points()
    distance = theory.ellipse_distance(*np.broadcast_arrays(x[None, :], y[:, None]), mu)
    clear = np.abs(distance) > 1e-12
    assert np.array_equal(bounded[clear], (distance < 0)[clear]) and 0.2 < bounded.mean() < 0.8
    assert plane.diagnostics()["misclassified"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mu": float("nan")}, "mu must be a finite number, not nan"),
        ({"mu": 1e7}, "mu must be within"),
        ({"axes": ("a", "a")}, "axes must be"),
        ({"width": 0.0}, "width must be positive"),
        ({"width": float("inf")}, "window.width must be a finite number"),
        ({"center": (1e16, 0.0)}, "center must be within"),
        ({"size": (0, 5)}, "size must be positive"),
        ({"size": (2**15, 2**15)}, "at most 268435456 points"),
        ({"iterations": 0}, "iterations must be 1 to"),
        ({"precision": "f16"}, "precision must be auto, f32 or f64, not 'f16'"),
        ({"dt": 0.0}, "dt must be positive"),
        ({"lyapunov_steps": 0}, "lyapunov_steps must be"),
        ({"web_steps": 0}, "web_steps must be"),
        ({"prompt": (0.0, 1.0)}, "prompt.g must be positive"),
        ({"start": (float("nan"), 1.0)}, "start.x must be a finite number"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        Plane(**{"mu": 0.5, "size": (8, 8), "iterations": 5, **options})


def test_refusals_change_nothing(plane):
    for values, message in (
        ({"nu": 1.0}, "no parameter 'nu'"),
        ({"mu": 1.0, "iterations": -1}, "iterations"),
        ({"mu": True}, "mu"),
    ):
        with pytest.raises(ValueError, match=message):
            plane.set_parameters(values)
    assert plane.mu == 0.9
    with pytest.raises(ValueError, match="no channel 'hue'"):
        plane.channel("hue")


def test_iterations_grow_with_depth(plane):
    """Eight more for every octave below a width of 2; none above."""
    for width, more in ((5.2, 0), (2.0, 0), (1.0, 8), (2.0**-39, 320)):
        plane.set_window((0.5, 0.5), width)
        assert plane.iterations == 120 + more
    plane.set_window((0.0, 0.0), 5.2)
    assert plane.iterations == 120


def test_zoom_in_and_back_is_a_fresh_picture(plane):
    """Through f64 and back, other sizes in between: every channel is that of a plane that never moved."""
    for width, size in ((1e-3, (96, 64)), (1e-10, (40, 30)), (0.7, (96, 64)), (5.2, (96, 64))):
        plane.set_size(size)
        plane.set_window((0.31, 0.73) if width < 5 else (0.0, 0.0), width)
        for name in ("escape", "period", "web", "first_rise"):
            plane.channel(name)
    fresh = Plane(mu=0.9, size=(96, 64), iterations=120, dt=1 / 30)
    assert np.array_equal(plane.outcome().to_numpy(), fresh.outcome().to_numpy())
    for name in CHANNELS:
        assert np.array_equal(plane.channel(name).to_numpy(), fresh.channel(name).to_numpy(), equal_nan=True), name
    fresh.release()


def test_other_axes_need_f64_sooner():
    """Near mu = 0 the coordinates are small but the states are not."""
    for axes, precision in ((("a", "b"), "f32"), (("mu", "x"), "f64")):
        one = Plane(mu=0.5, axes=axes, center=(0.0, 0.0), width=1e-6, size=(64, 64), iterations=5)
        assert one.working_precision == precision and one.resolved

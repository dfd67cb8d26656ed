"""The plane view: marks at their places, exact curves on exact pixels, colours that are continuous and have no holes."""

import numpy as np
import pytest
import taichi as ti
from scipy.ndimage import binary_dilation

from render import colouring
from render.frame import Frame
from render.palette import BACKGROUND, pack
from render.plane import PlaneView, curve
from scenes import views
from sim.two_factor import theory
from sim.two_factor.channels import BOUNDED, ESCAPED, LANDED, PERIOD2, UNDECIDED
from sim.two_factor.plane import Plane


class Grid:
    """A stand-in for a Plane, with channels written by the test."""

    def __init__(self, size, mu=0.5, center=(0.0, 0.0), width=5.2):
        self.size, self.mu, self.center, self.width, self.axes = size, mu, center, width, ("a", "b")
        self.labels = np.full(size[::-1], ESCAPED, np.int32)
        self.values = {}

    def set_size(self, size):
        assert size == self.size

    def outcome(self):
        out = ti.ndarray(ti.i32, self.labels.shape)
        out.from_numpy(self.labels)
        return out

    def channel(self, name):
        out = ti.ndarray(ti.f32, self.labels.shape)
        out.from_numpy(self.values.get(name, np.full(self.labels.shape, np.nan)).astype(np.float32))
        return out


def bare(**options):
    return PlaneView(views.PlaneView(kind="plane", axes=False, colorbar=False, **options), (160, 90))


def drawn(view, system, size=(160, 90)):
    frame = Frame(*size)
    view.draw(frame, system, 0.0, 0.0)
    return frame.rgba[..., :3].astype(int)


def painted(labels, values, colour, supersample=1, mu=0.5):
    """The pixels that `colouring.paint` makes of given samples, (H, W, 3)."""
    grid = Grid(labels.shape[::-1], mu)
    grid.labels, grid.values = labels.astype(np.int32), values
    height, width = labels.shape[0] // supersample, labels.shape[1] // supersample
    pixels = np.zeros((height, width), np.uint32)
    colouring.paint(grid, colour, supersample, pixels, (0, 0))
    return pixels.view(np.uint8).reshape(height, width, 4)[..., :3].astype(int)


@pytest.mark.parametrize(("label", "row", "column"), [(LANDED, 0, 0), (UNDECIDED, -1, -1), (BOUNDED, 0, -1), (PERIOD2, -1, 0)])
def test_marks_come_out_in_their_corner(label, row, column):
    labels = np.full((9, 16), ESCAPED)
    labels[row, column] = label
    picture = painted(labels, {}, "outcome")
    color = np.array(colouring.OUTCOME_COLORS[label])
    assert np.abs(picture[row, column] - color).max() <= 1
    others = np.ones((9, 16), bool)
    others[row, column] = False
    assert (np.abs(picture[others] - colouring.OUTCOME_COLORS[ESCAPED]).max(axis=-1) <= 1).all()


def test_samples_are_averaged_in_linear_light():
    """Half white, half black is byte 188 in sRGB, not 128: here with the colours of two outcomes."""
    labels = np.array([[LANDED, UNDECIDED], [LANDED, UNDECIDED]])
    light = [(np.array(colouring.OUTCOME_COLORS[x]) / 255) for x in (LANDED, UNDECIDED)]
    linear = np.mean([np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) for c in light], axis=0)
    expected = 255 * (1.055 * linear ** (1 / 2.4) - 0.055)
    assert np.abs(painted(labels, {}, "outcome", supersample=2)[0, 0] - expected).max() <= 1


def test_escape_colours_are_continuous_and_monotone():
    """A ramp of counts gives steps of at most two levels a channel, and light that never falls."""
    counts = np.linspace(0, 60, 4000)[None, :]
    picture = painted(np.full(counts.shape, ESCAPED), {"escape": counts}, "escape")[0]
    assert np.abs(np.diff(picture, axis=0)).max() <= 2
    light = picture @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(light) >= -1).all() and light[-1] > light[0] + 100


@pytest.mark.parametrize("colour", colouring.COLOURINGS)
def test_undecided_and_nan_have_their_own_colour(colour):
    picture = painted(
        np.full((3, 3), UNDECIDED),
        {colour: np.full((3, 3), np.nan), "branch": np.zeros((3, 3)), "phase": np.zeros((3, 3))},
        colour,
    )
    if colour != "sharpness":
        assert np.abs(picture - colouring.UNDECIDED_COLOR).max() <= 1


def test_branches_keep_their_colour_at_any_mu():
    values = {"branch": np.array([[1.0, -1.0]]), "landing": np.zeros((1, 2))}
    for mu in (0.3, 0.9):
        picture = painted(np.full((1, 2), LANDED), values, "branch", mu=mu)
        assert np.abs(picture[0, 0] - colouring.POSITIVE).max() <= 2
        assert np.abs(picture[0, 1] - colouring.NEGATIVE).max() <= 2


@pytest.mark.parametrize(
    ("mu", "asked"), [(0.5, "branch"), (1.0, "branch"), (1.1, "phase"), (1.3, "lyapunov"), (1.99, "lyapunov"), (2.05, "escape")]
)
def test_auto_asks_the_question_of_the_phase(mu, asked):
    assert colouring.question(mu) == colouring.question(-mu) == asked


@pytest.mark.parametrize("size", [(160, 90), (90, 160), (120, 120)])
def test_the_disc_of_points_is_round_and_up_is_up(size):
    """A disc around (0.5, 0.5) is as wide as high, to a pixel, and lies right of and above the middle."""
    view = PlaneView(views.PlaneView(kind="plane", axes=False, colorbar=False, color="outcome", curves=[], supersample=1), size)
    area = view.area
    system = Grid(area.size)
    y, x = np.mgrid[: area.size[1], : area.size[0]]
    a, b = view.camera(system).to_plane(x + 0.5, y + 0.5)
    system.labels[(a - 0.5) ** 2 + (b - 0.5) ** 2 < 0.4**2] = LANDED
    picture = drawn(view, system, size)
    disc = np.abs(picture - colouring.OUTCOME_COLORS[LANDED]).max(axis=-1) <= 1
    rows, columns = np.nonzero(disc)
    assert abs(np.ptp(rows) - np.ptp(columns)) <= 1
    assert columns.mean() > area.corner[0] + area.size[0] / 2
    assert rows.mean() < area.corner[1] + area.size[1] / 2


@pytest.mark.parametrize("mu", [0.5, 1.9])
def test_the_drawn_ellipse_lies_on_the_exact_one(mu):
    """Bright pixels of the ellipse's line are within 1.5 pixels of D = 0, and every stretch of it is drawn."""
    view = PlaneView(views.PlaneView(kind="plane", axes=False, colorbar=False, curves=["ellipse"], supersample=1), (400, 400))
    system = Grid(view.area.size, mu)
    layer = view._draw_curves(view.camera(system), mu)
    legend_free = layer[: round(0.8 * layer.shape[0])]
    white = (legend_free.view(np.uint8).reshape(*legend_free.shape, 4)[..., :3] > 200).all(axis=-1)
    rows, columns = np.nonzero(white)
    a, b = view.camera(system).to_plane(columns + 0.5, rows + 0.5)
    assert theory.ellipse_distance(a, b, mu).max() < 1.5 * view.camera(system).scale
    exact = theory.ellipse_curve(mu)
    x, y = view.camera(system).to_pixel(exact[:, 0], exact[:, 1])
    seen = y < 0.78 * layer.shape[0]
    near = binary_dilation(white, iterations=2)
    assert near[np.floor(y[seen]).astype(int), np.floor(x[seen]).astype(int)].all()


@pytest.mark.parametrize("mu", [0.5, -0.7, 1.4])
def test_the_zero_error_curve_is_ab_equals_mu_and_bold_where_it_attracts(mu):
    view = bare()
    parts = curve("zero_error", mu, view.camera(Grid((160, 90), mu)))
    for points, share in parts:
        assert np.abs(points.prod(axis=1) - mu).max() < 1e-12
        if share > 1:
            assert (points**2).sum(axis=1).max() == pytest.approx(2, abs=1e-9)
    assert any(share > 1 for _, share in parts) == (abs(mu) < 1)


@pytest.mark.parametrize(("name", "sign"), [("balanced", 1), ("antibalanced", -1)])
def test_the_invariant_lines(name, sign):
    for points, _ in curve(name, 0.5, bare().camera(Grid((160, 90)))):
        assert np.abs(points[:, 0] - sign * points[:, 1]).max() < 1e-12


def test_a_real_plane_is_drawn_twice_alike_without_holes():
    spec = views.PlaneView(kind="plane", supersample=2)
    pictures = []
    for _ in range(2):
        view, frame = PlaneView(spec, (320, 180)), Frame(320, 180)
        view.draw(frame, Plane(mu=0.9, size=(8, 8), iterations=200), 0.0, 0.0)
        pictures.append(frame.pixels.copy())
    assert np.array_equal(pictures[0], pictures[1])
    area = view.area
    inner = pictures[0][area.corner[1] : area.corner[1] + area.size[1], area.corner[0] : area.corner[0] + area.size[0]]
    assert not (inner == pack(BACKGROUND)).any()


def test_axes_are_kept_until_the_window_moves():
    view, system = PlaneView(views.PlaneView(kind="plane"), (320, 180)), Grid((1, 1))
    first = view._axes_layer(system)
    assert view._axes_layer(system) is first
    system.width = 2.0
    assert view._axes_layer(system) is not first


def test_deep_zooms_keep_distinct_tick_labels():
    """At a width of 1e-9 matplotlib's offset notation tells ticks apart; nothing fails down to rounding."""
    view, system = PlaneView(views.PlaneView(kind="plane"), (320, 180)), Grid((1, 1), center=(1.234567891, -0.5), width=1e-9)
    assert (view._axes_layer(system) != 0).any()


def test_the_inset_keeps_its_part_free():
    view = PlaneView(views.PlaneView(kind="plane"), (320, 180))
    view.inset = (0.3, 0.0, 0.0, 0.0)
    assert view.area.corner[0] >= 0.3 * 320
    frame = Frame(320, 180)
    view.draw(frame, Plane(mu=0.9, size=(8, 8), iterations=50), 0.0, 0.0)
    assert (frame.pixels[:, : round(0.27 * 320)] == pack(BACKGROUND)).all()

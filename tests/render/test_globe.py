"""The globe view: tokens where the camera's closed form puts them, of the right size, the nearer in front, the same bytes always.

An orthographic camera at azimuth a, elevation e puts a unit vector x at pixel (cx + R <x, right>, cy - R <x, up>), with
right = (-sin a, cos a, 0), up = (-sin e cos a, -sin e sin a, cos e); a ball of radius r covers the disc of r R pixels around it.
Expected positions are computed here from these formulas. `changed` is where a picture differs from the one without tokens.
"""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from render import raster
from render.frame import Frame
from render.globe import token_radius
from render.scale import robust_max, rounded_up
from tests.render.clouds import StillCloud, digest, picture, uniform, view

SIZE = (320, 180)
RADIUS = 0.43 * 180  # of the globe on it, pixels
GONE = [[math.nan, 0, 0]]
SIDEWAYS, UP = np.array([0, 1.0, 0]), np.array([0, 0, 1.0])


def project(x: np.ndarray, azimuth: float, elevation: float, size: tuple[int, int], radius: float) -> tuple[float, float]:
    a, e = math.radians(azimuth), math.radians(elevation)
    right = np.array([-math.sin(a), math.cos(a), 0])
    up = np.array([-math.sin(e) * math.cos(a), -math.sin(e) * math.sin(a), math.cos(e)])
    return size[0] / 2 + radius * float(x @ right), size[1] / 2 - radius * float(x @ up)


def changed(image: np.ndarray, **keys) -> np.ndarray:
    empty = picture(StillCloud(GONE), (image.shape[1], image.shape[0]), **keys)
    return np.abs(image.astype(int) - empty).max(-1) > 1


def at(image: np.ndarray, x: float, y: float) -> np.ndarray:
    return image[int(y), int(x)].astype(int)


@pytest.mark.parametrize(("azimuth", "elevation"), [(0, 0), (30, 20), (-110, 65), (200, -40)])
@pytest.mark.parametrize("size", [(320, 180), (180, 320)])
def test_a_token_is_a_disc_where_and_as_large_as_the_camera_says(azimuth: float, elevation: float, size: tuple[int, int]) -> None:
    a = math.radians(azimuth + 25)
    token = np.array([0.8 * math.cos(a), 0.8 * math.sin(a), 0.6 if elevation > 0 else -0.6])
    keys = {"azimuth": azimuth, "elevation": elevation, "token_radius": 0.1}
    mask = changed(picture(StillCloud(token), size, **keys), **keys)
    rows, columns = np.nonzero(mask)
    x, y = project(token, azimuth, elevation, size, RADIUS)
    assert columns.mean() + 0.5 == pytest.approx(x, abs=0.4) and rows.mean() + 0.5 == pytest.approx(y, abs=0.4)
    r = 0.1 * RADIUS
    assert (np.ptp(columns) + 1) / 2 == pytest.approx(r, abs=1) and (np.ptp(rows) + 1) / 2 == pytest.approx(r, abs=1)
    inside = np.hypot(columns + 0.5 - x, rows + 0.5 - y)
    assert inside.max() < r + 1
    yy, xx = np.mgrid[: size[1], : size[0]]
    assert mask[np.hypot(xx + 0.5 - x, yy + 0.5 - y) < r - 1].all()


def test_marks_at_the_right_corners_in_the_right_colours() -> None:
    """Red to the upper left, blue to the lower right, by starts whose directions have those colours."""
    left, right = np.array([0.5, -0.6, 0.62]), np.array([0.5, 0.6, -0.62])
    red, blue = [math.cos(0.5), math.sin(0.5), 0], [math.cos(4.6), math.sin(4.6), 0]
    image = picture(
        StillCloud([left, right] / np.linalg.norm([left, right], axis=1)[:, None], start=[red, blue]), token_radius=0.15
    )
    assert image.shape == (180, 320, 3) and image.dtype == np.uint8
    upper_left = at(image, 160 - RADIUS * 0.6, 90 - RADIUS * 0.62)
    lower_right = at(image, 160 + RADIUS * 0.6, 90 + RADIUS * 0.62)
    assert upper_left[0] > 1.5 * upper_left[2] and lower_right[2] > 1.5 * lower_right[0]


def test_the_nearer_token_hides_the_farther_whatever_their_order() -> None:
    front, back = np.array([1.0, 0, 0]), np.array([-1.0, 0, 0])
    only = picture(StillCloud([front], start=[SIDEWAYS]), token_radius=0.2)
    for shown, start in (([front, back], [SIDEWAYS, UP]), ([back, front], [UP, SIDEWAYS])):
        np.testing.assert_array_equal(picture(StillCloud(shown, start=start), token_radius=0.2), only)


def test_where_two_near_tokens_overlap_the_nearer_is_seen() -> None:
    t = 0.12
    nearer, farther = np.array([1.0, 0, 0]), np.array([math.cos(t), math.sin(t), 0])
    keys = {"token_radius": 0.2}
    both = picture(StillCloud([farther, nearer], start=[UP, SIDEWAYS]), **keys)
    alone = picture(StillCloud([nearer], start=[SIDEWAYS]), **keys)
    np.testing.assert_array_equal(at(both, 160, 90), at(alone, 160, 90))
    assert (at(both, 160 + RADIUS * (math.sin(t) + 0.15), 90) != at(alone, 160 + RADIUS * (math.sin(t) + 0.15), 90)).any()


def test_the_smallest_id_wins_a_tie() -> None:
    x = [0.6, 0.0, 0.8]
    first = picture(StillCloud([x], start=[SIDEWAYS]), token_radius=0.2)
    np.testing.assert_array_equal(picture(StillCloud([x, x, x], start=[SIDEWAYS, UP, -UP]), token_radius=0.2), first)


def test_the_back_is_readable_but_dimmer_than_the_front() -> None:
    x, keys = math.cos(math.pi / 6), {"token_radius": 0.1, "graticule": False}
    clouds = StillCloud(GONE), StillCloud([[x, 0.5, 0]], start=[SIDEWAYS]), StillCloud([[-x, 0.5, 0]], start=[SIDEWAYS])
    empty, front, back = (at(picture(cloud, **keys), 160 + 0.5 * RADIUS, 90) for cloud in clouds)
    assert empty.sum() + 60 < back.sum() < front.sum() - 60


@pytest.mark.parametrize("turn", [17.0, 140.0])
def test_turning_the_cloud_is_turning_the_camera(turn: float) -> None:
    x, t = uniform(400), math.radians(turn)
    turned = x @ np.array([[math.cos(t), math.sin(t), 0], [-math.sin(t), math.cos(t), 0], [0, 0, 1]])
    keys = {"graticule": False, "elevation": 25.0, "token_radius": 0.05}
    one = picture(StillCloud(x), azimuth=10, **keys).astype(int)
    other = picture(StillCloud(turned, start=x), azimuth=10 + turn, **keys).astype(int)
    differing = np.abs(one - other).max(-1)
    assert (differing > 4).mean() < 0.005 and differing.mean() < 0.1  # a sixteenth of a pixel may round the other way


@pytest.mark.parametrize("size", [(320, 180), (180, 320)])
def test_the_globe_is_round(size: tuple[int, int]) -> None:
    keys = {"graticule": False}
    rows, columns = np.nonzero(
        np.abs(picture(StillCloud(GONE), size, **keys).astype(int) - picture(StillCloud(GONE), size, globe=False, **keys)).max(-1)
        > 2
    )
    assert np.ptp(columns) == pytest.approx(np.ptp(rows), abs=1) == pytest.approx(2 * RADIUS - 1, abs=1.5)
    assert columns.mean() + 0.5 == pytest.approx(size[0] / 2, abs=0.2) and rows.mean() + 0.5 == pytest.approx(
        size[1] / 2, abs=0.2
    )


def test_graticule_lines_lie_every_30_degrees_near_ones_stronger() -> None:
    size, azimuth, elevation = (640, 640), 40.0, 30.0
    keys = {"azimuth": azimuth, "elevation": elevation}
    with_lines = picture(StillCloud(GONE), size, **keys).astype(int)
    lines = (with_lines - picture(StillCloud(GONE), size, graticule=False, **keys)).sum(-1)
    radius, near, far = 0.43 * 640, [], []
    eye = np.array(
        [math.cos(math.radians(elevation)) * math.cos(math.radians(azimuth)), 0.75**0.5 * math.sin(math.radians(azimuth)), 0.5]
    )
    for longitude in np.radians(np.arange(0, 360, 5.0)):
        point = np.array([math.cos(longitude), math.sin(longitude), 0])
        x, y = project(point, azimuth, elevation, size, radius)
        patch = lines[int(y) - 1 : int(y) + 2, int(x) - 1 : int(x) + 2].max()
        if abs(point @ eye) > 0.4:
            (near if point @ eye > 0 else far).append(patch)
    assert min(near) > 150 and min(far) > 50 and min(near) > 1.3 * np.median(far)
    clear = np.array(
        [math.cos(math.radians(45)) ** 2, math.cos(math.radians(45)) * math.sin(math.radians(45)), math.sin(math.radians(45))]
    )
    clear = np.array(
        [math.cos(math.radians(15)) * math.cos(math.radians(45)), math.cos(math.radians(15)) * math.sin(math.radians(45)), 0.2588]
    )
    x, y = project(clear, azimuth, elevation, size, radius)
    assert np.abs(lines[int(y) - 2 : int(y) + 3, int(x) - 2 : int(x) + 3]).max() <= 45  # at most a far line behind


def test_the_same_scene_gives_the_same_bytes_with_one_thread_and_with_all() -> None:
    mine = digest()
    assert digest() == mine
    root = Path(__file__).parents[2]
    child = subprocess.run(
        [sys.executable, "-m", "tests.render.clouds", "1"], cwd=root, capture_output=True, text=True, check=True
    )
    assert child.stdout.strip() == mine


def test_two_passes_in_32_bits_draw_the_picture_of_one_pass_in_64(monkeypatch: pytest.MonkeyPatch) -> None:
    mine, made = digest(), raster.Raster.__init__

    def in_32_bits(self, *args) -> None:
        made(self, *args)
        self.packed = False

    monkeypatch.setattr(raster.Raster, "__init__", in_32_bits)
    assert digest() == mine


def test_tokens_that_are_not_finite_are_not_drawn_and_do_no_harm() -> None:
    x = uniform(50)
    bad = np.concatenate([x, [[math.nan, 0, 1], [0, math.inf, 0], [-math.inf, math.nan, 0]]])
    start = np.concatenate([x, [UP, UP, UP]])
    np.testing.assert_array_equal(
        picture(StillCloud(bad, start=start), token_radius=0.1), picture(StillCloud(x), token_radius=0.1)
    )
    speeds = np.full(50, math.nan)
    assert picture(StillCloud(x, speeds=speeds), color="speed", token_radius=0.1).shape == (180, 320, 3)


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (64, 1)])
def test_pictures_too_small_for_a_globe_are_still_pictures(size: tuple[int, int]) -> None:
    image = picture(StillCloud(uniform(10)), size)
    assert image.shape == (size[1], size[0], 3)


@pytest.mark.parametrize("zoom", [0.1, 100.0])
def test_extreme_zooms(zoom: float) -> None:
    image = picture(StillCloud([[1, 0, 0], [-1, 0, 0]], start=[SIDEWAYS, UP]), zoom=zoom, token_radius=0.2)
    assert changed(image, zoom=zoom)[90, 160]


def test_one_token_has_a_ball_of_readable_size_and_a_million_do_not_fill_the_globe() -> None:
    assert token_radius("auto", 1) == token_radius("auto", 100) == 0.045
    assert token_radius(0.01, 5) == 0.01
    for count in (1000, 10**6):
        assert count * token_radius("auto", count) ** 2 / 4 == pytest.approx(0.2)


def test_an_inset_moves_the_picture_of_the_globe() -> None:
    made, frame = view(), Frame(*SIZE)
    made.inset = (0.0, 0.0, 0.4, 0.0)
    made.draw(frame, StillCloud([[1, 0, 0]], start=[SIDEWAYS]), 0.0)
    moved = frame.rgb()
    middle = at(picture(StillCloud([[1, 0, 0]], start=[SIDEWAYS])), 160, 90)
    assert np.abs(at(moved, 0.3 * 320, 90) - middle).max() <= 3
    with pytest.raises(ValueError, match="320"):
        made.draw(Frame(64, 64), StillCloud(GONE), 0.0)


def test_speeds_become_colours_of_the_scale_that_the_legend_tells() -> None:
    cloud = StillCloud([[0.9, -0.4, 0], [0.9, 0.4, 0]], speeds=[0.0, 0.29])
    made = view(color="speed", token_radius=0.1)
    legend = made.legend(cloud)
    assert legend is not None and (legend.colormap, legend.low, legend.high) == ("speed", 0.0, 0.3)
    frame = Frame(*SIZE)
    made.draw(frame, cloud, 0.0)
    image = frame.rgb()
    slow, fast = at(image, 160 - 0.4 * RADIUS, 90), at(image, 160 + 0.4 * RADIUS, 90)
    assert slow[2] > slow[0] and fast[0] > fast[2] and fast.sum() > slow.sum()
    fixed = view(color="speed", speed_max=2.0)
    assert fixed.legend(cloud).high == 2.0
    assert view().legend(cloud) is None


def test_clusters_have_their_colours_and_follow_the_steps() -> None:
    cloud = StillCloud([[0.9, -0.4, 0], [0.9, 0.4, 0]], labels=[0, 1])
    made, frame = view(color="cluster", token_radius=0.1), Frame(*SIZE)
    made.draw(frame, cloud, 0.0)
    lone = at(frame.rgb(), 160 + 0.4 * RADIUS, 90)
    cloud._labels, cloud.step_index = np.zeros(2, np.int32), 1
    made.draw(frame, cloud, 0.0)
    joined = [at(frame.rgb(), 160 + side * 0.4 * RADIUS, 90) for side in (-1, 1)]
    red, green, blue = lone
    assert red < green < blue  # the grey of a token on its own
    assert np.abs(joined[1] - lone).max() > 60
    hues = [color / color.sum() for color in joined]
    np.testing.assert_allclose(hues[0], hues[1], atol=0.02)


def test_an_interrupt_between_the_passes_leaves_no_ghost(monkeypatch: pytest.MonkeyPatch) -> None:
    made, frame = view(token_radius=0.1), Frame(*SIZE)
    made.draw(frame, StillCloud(GONE), 0.0)
    expected = frame.rgb()

    def interrupted(*_) -> None:
        raise KeyboardInterrupt

    crowd = StillCloud(uniform(100))
    with monkeypatch.context() as patched:
        patched.setattr(raster, "resolve_kernel", interrupted)
        with pytest.raises(KeyboardInterrupt):
            made.draw(frame, crowd, 0.0)
    made.draw(frame, StillCloud(GONE), 0.0)
    np.testing.assert_array_equal(frame.rgb(), expected)


def test_live_parameters_move_the_camera_and_others_are_refused() -> None:
    made = view()
    made.set_parameters({"camera.azimuth": 90, "camera.zoom": 2})
    assert (made.camera.azimuth, made.camera.zoom) == (90, 2)
    with pytest.raises(KeyError, match="token_radius"):
        made.set_parameters({"token_radius": 0.1})


def test_spin_follows_the_film() -> None:
    made, frame = view(), Frame(*SIZE)
    made.camera.spin = 30.0
    made.draw(frame, StillCloud(uniform(20)), 0.0, 2.0)
    np.testing.assert_array_equal(frame.rgb(), picture(StillCloud(uniform(20)), azimuth=60))


@given(st.floats(1e-20, 1e20))
def test_scales_end_at_round_numbers_just_above(value: float) -> None:
    top = rounded_up(value)
    assert value * (1 - 1e-9) <= top <= value * 1.5 * (1 + 1e-9)
    digits = float(f"{top:.3e}".split("e")[0])
    assert digits in (1, 1.5, 2, 3, 4, 6, 8)


@pytest.mark.parametrize("nothing", [0.0, -1.0, math.nan, math.inf])
def test_no_speed_has_a_scale_too(nothing: float) -> None:
    assert rounded_up(nothing) == 1.0


def test_a_few_runaways_do_not_set_the_scale() -> None:
    speeds = np.full(5000, 0.5, np.float32)
    speeds[:20] = 1e6
    assert robust_max(speeds) == 0.5
    assert robust_max(np.full(3, np.nan, np.float32)) == 0.0

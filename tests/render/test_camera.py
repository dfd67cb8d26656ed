"""Cameras: orthonormal frames, what lies where on the picture, and that every way there has a way back.

The plane: x = cx + ((col + 1/2)/W - 1/2) width, y = cy + (1/2 - (row + 1/2)/H) width H/W at the centre of pixel [row, col].
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from render.camera import GlobeFit, OrbitCamera, PlaneCamera

angles, elevations = st.floats(-360, 360), st.floats(-90, 90)
centres = st.floats(-3, 3, allow_subnormal=False)  # Taichi's CPU runtime flushes subnormal numbers to zero
sizes = st.tuples(st.integers(1, 4000), st.integers(1, 4000))
planes = st.builds(PlaneCamera, st.tuples(centres, centres), st.floats(1e-9, 100), sizes)
pixels = st.tuples(st.floats(-100, 5000), st.floats(-100, 5000))


@given(angles, elevations)
def test_the_basis_is_a_right_handed_frame_with_z_upright(azimuth: float, elevation: float) -> None:
    basis = OrbitCamera(azimuth, elevation).basis()
    np.testing.assert_allclose(basis @ basis.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(basis) == pytest.approx(1)
    assert basis[0, 2] == 0 and basis[1, 2] >= 0
    a, e = math.radians(azimuth), math.radians(elevation)
    np.testing.assert_allclose(basis[2], [math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)], atol=1e-12)


def test_spin_turns_the_azimuth_with_the_film() -> None:
    spinning = OrbitCamera(10, 20, spin=6)
    np.testing.assert_allclose(spinning.basis(5), OrbitCamera(40, 20).basis(), atol=1e-12)


@given(st.floats(-50, 50), st.floats(-50, 50), st.sampled_from([360, 720, 1080]))
def test_dragging_takes_the_near_surface_along(dx: float, dy: float, height: int) -> None:
    camera = OrbitCamera(35, 0)
    nearest = camera.basis()[2]
    camera.drag(dx, dy, height)
    x, y, depth = camera.basis() @ nearest
    assert depth > 0
    assert x * dx >= -1e-12 and -y * dy >= -1e-12
    assert abs(x) == pytest.approx(math.sin(math.radians(0.35 * abs(dx) * 720 / height)), abs=1e-9)


def test_drag_and_zoom_stay_in_range() -> None:
    camera = OrbitCamera(175, 80)
    camera.drag(-100, 1000)
    assert camera.elevation == 90 and -180 <= camera.azimuth <= 180
    camera.zoom_by(1e9)
    assert camera.zoom == 100
    camera.set_parameters({"zoom": 2, "elevation": -5})
    assert (camera.zoom, camera.elevation) == (2, -5)
    with pytest.raises(KeyError, match="azimuth"):
        camera.set_parameters({"azimut": 1})


@pytest.mark.parametrize("size", [(1280, 720), (720, 1280), (64, 64)])
def test_the_globe_fits_the_shorter_side(size: tuple[int, int]) -> None:
    fit = GlobeFit.of(size)
    assert (fit.x, fit.y) == (size[0] / 2, size[1] / 2)
    assert 0.7 * min(size) < 2 * fit.radius < min(size)
    assert GlobeFit.of(size, zoom=3).radius == pytest.approx(3 * fit.radius)


def test_an_inset_moves_the_globe_out_of_the_way() -> None:
    fit = GlobeFit.of((1000, 500), inset=(0.0, 0.1, 0.4, 0.1))
    assert (fit.x, fit.y) == pytest.approx((300, 250))
    assert fit.radius == pytest.approx(GlobeFit.of((600, 400)).radius)
    with pytest.raises(ValueError, match="room"):
        GlobeFit.of((100, 100), inset=(0.5, 0, 0.5, 0))


def test_projection_has_y_up_and_depth_towards_the_eye() -> None:
    fit, basis = GlobeFit(100, 50, 40), OrbitCamera(0, 0).basis()
    np.testing.assert_allclose(
        fit.project([[1, 0, 0], [0, 1, 0], [0, 0, 1]], basis), [[100, 50, 1], [140, 50, 0], [100, 10, 0]], atol=1e-12
    )


@given(planes, pixels)
def test_pixels_to_the_plane_and_back(camera: PlaneCamera, pixel: tuple[float, float]) -> None:
    x, y = camera.to_pixel(*camera.to_plane(*pixel))
    slack = 1e-9 + 1e-14 * 3 / camera.scale  # what float64 leaves of the centre's digits
    assert abs(x - pixel[0]) < slack * 10 and abs(y - pixel[1]) < slack * 10


def test_pixel_centres_lie_where_the_grids_of_the_plane_have_them() -> None:
    camera = PlaneCamera((0.25, -1.0), 3.0, (4, 2))
    a, b = camera.to_plane(np.arange(4) + 0.5, np.full(4, 0.5))
    np.testing.assert_allclose(a, [0.25 + ((c + 0.5) / 4 - 0.5) * 3.0 for c in range(4)])
    np.testing.assert_allclose(b, -1.0 + (0.5 - 0.5 / 2) * 3.0 * 2 / 4)
    assert camera.extent == (-1.25, 1.75, -1.75, -0.25)
    assert camera.to_plane(0, 0)[1] > camera.to_plane(0, 2)[1]  # the top row has the largest b


@pytest.mark.parametrize("size", [(1280, 720), (720, 1280)])
def test_circles_stay_round(size: tuple[int, int]) -> None:
    camera = PlaneCamera((0, 0), 5.2, size)
    t = np.linspace(0, 2 * np.pi, 100)
    x, y = camera.to_pixel(np.cos(t), np.sin(t))
    np.testing.assert_allclose(np.hypot(x - size[0] / 2, y - size[1] / 2), size[0] / 5.2, rtol=1e-12)


@given(planes, pixels, st.floats(-500, 500), st.floats(-500, 500))
def test_panning_keeps_the_point_under_the_pointer(camera: PlaneCamera, pixel: tuple[float, float], dx: float, dy: float) -> None:
    there = camera.pan(dx, dy).to_plane(pixel[0] + dx, pixel[1] + dy)
    np.testing.assert_allclose(there, camera.to_plane(*pixel), atol=1e-12 * (3 + 10 * camera.width) + 1e-9 * camera.scale)


@given(planes, pixels, st.floats(0.05, 20))
def test_zooming_keeps_the_point_under_the_pointer(camera: PlaneCamera, pixel: tuple[float, float], factor: float) -> None:
    zoomed = camera.zoom(factor, *pixel)
    assert zoomed.width == pytest.approx(camera.width / factor)
    tolerance = 1e-14 * 3 + 1e-12 * max(camera.width, zoomed.width) * max(5000 / min(camera.size), 1)
    np.testing.assert_allclose(zoomed.to_plane(*pixel), camera.to_plane(*pixel), atol=tolerance)
    assert camera.zoom(factor).center == camera.center


def test_zooming_to_a_rectangle_shows_all_of_it_in_any_order_of_corners() -> None:
    camera = PlaneCamera((1, 2), 4.0, (800, 400))
    for corners in ((100, 50, 300, 250), (300, 250, 100, 50), (300, 50, 100, 250)):
        zoomed = camera.zoom_to(*corners)
        (a0, b0), (a1, b1) = camera.to_plane(100, 50), camera.to_plane(300, 250)
        x, y = zoomed.to_pixel([a0, a1], [b0, b1])
        np.testing.assert_allclose(x, [200, 600])
        np.testing.assert_allclose(y, [0, 400], atol=1e-9)
    with pytest.raises(ValueError, match="corners"):
        camera.zoom_to(10, 10, 10, 50)


@given(planes)
def test_a_window_survives_its_own_words(camera: PlaneCamera) -> None:
    assert eval(repr(camera)) == camera
    resized = camera.resized((720, 720))
    assert (resized.center, resized.width) == (camera.center, camera.width)


@pytest.mark.parametrize(("center", "width"), [((0, 0), 0), ((0, 0), -1), ((math.nan, 0), 1), ((0, 0), math.inf)])
def test_windows_that_are_none_are_refused(center: tuple[float, float], width: float) -> None:
    with pytest.raises(ValueError, match="not a window"):
        PlaneCamera(center, width, (10, 10))

"""Fields on the globe: exact on the cubed sphere, continuous over its edges, in the place and colour that formulas give."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from render import cube, palette
from render.frame import Frame
from render.painted import MAPS, cells, concentration, scaled
from render.scale import rounded_outwards
from scenes import views
from tests.render.clouds import uniform, view
from tests.sim.attention.test_surface import Still

SIZE, RADIUS = (320, 180), 0.43 * 180


class Shown(Still):
    """A still cloud as the globe reads it; its tokens are drawn out of sight."""

    step_index = 0

    def __init__(self, x, theta, **keys) -> None:
        super().__init__(x, theta, **keys)
        self.start = np.asarray(x)

    def shown(self, _time: float):
        import taichi as ti

        nowhere = ti.ndarray(ti.math.vec3, self.count)
        nowhere.fill(math.nan)
        return nowhere


def test_nodes_and_texture_points_lie_on_the_sphere_and_cover_it() -> None:
    for points in (cube.nodes(8), cube.directions()):
        np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, rtol=1e-14)
    nearest = (uniform(200) @ cube.directions().T).max(axis=1)
    assert nearest.min() > np.cos(np.radians(1))


@pytest.mark.parametrize(("count", "tolerance"), [(8, 2e-3), (16, 1.5e-4), (32, 1e-5)])
def test_refinement_is_fourth_order(count: int, tolerance: float) -> None:
    axis = np.array([0.3, -0.5, 0.8])

    def smooth(p):
        return np.exp(p @ axis) + p[:, 0] * p[:, 1] * p[:, 2]

    values = cube.refined(smooth(cube.nodes(count)), count)
    np.testing.assert_allclose(values.ravel(), smooth(cube.directions()), atol=tolerance)


@pytest.mark.parametrize(("azimuth", "elevation"), [(0.0, 0.0), (35.0, 30.0), (-130.0, -70.0)])
def test_a_pixel_has_the_colour_of_the_field_where_it_looks(azimuth: float, elevation: float) -> None:
    """One token at a and one head c I: U(p) = exp(c <a, p>), at any pixel known from the camera's closed form."""
    a = np.array([0.48, 0.6, 0.64])
    system = Shown([a], 1.2 * np.eye(3)[None])
    made, frame = view(SIZE, azimuth, elevation, field="potential", graticule=False), Frame(*SIZE)
    made.draw(frame, system, 0.0)
    (legend,) = made.legends(system)
    right, up, eye = made.camera.basis()
    image, table = frame.rgb().astype(float), palette.colormap(MAPS["potential"]).astype(float)
    for across, rise in [(0, 0), (0.5, 0.3), (-0.7, 0.5), (0.2, -0.85), (-0.6, -0.6), (0.9, 0.1)]:
        row, column = int(90 - rise * RADIUS), int(160 + across * RADIUS)
        u, v = (column + 0.5 - 160) / RADIUS, (90 - row - 0.5) / RADIUS
        p = u * right + v * up + math.sqrt(1 - u * u - v * v) * eye
        share = (math.exp(1.2 * a @ p) - legend.low) / (legend.high - legend.low)
        expected, seen = palette.to_linear(table[round(255 * share)]), palette.to_linear(image[row, column])
        shade = seen.sum() / expected.sum()
        assert 0.8 < shade < 1.02
        np.testing.assert_allclose(seen, shade * expected, atol=0.012)


def test_the_field_follows_states_and_weights_and_hides_the_back() -> None:
    system = Shown([[1.0, 0, 0]], np.eye(3)[None])
    made, frame = view(SIZE, field="b"), Frame(*SIZE)
    made.draw(frame, system, 0.0)
    first = frame.rgb()
    made.draw(frame, system, 0.0)
    np.testing.assert_array_equal(frame.rgb(), first)
    system._theta = 2 * np.eye(3)[None]
    made.draw(frame, system, 0.0)
    assert not np.array_equal(frame.rgb(), first) and made.legends(system)[0].high > math.e**2


@pytest.mark.parametrize("field", ["density", "b", "potential", "speed"])
def test_the_same_state_gives_the_same_bytes_in_a_new_view(field: str) -> None:
    system = Shown(uniform(500), 3 * np.eye(3)[None])
    pictures = []
    for _ in range(2):
        made, frame = view(SIZE, field=field), Frame(*SIZE)
        made.draw(frame, system, 0.0)
        pictures.append(frame.rgb())
        made.release()
    np.testing.assert_array_equal(*pictures)
    assert pictures[0].std() > 5


def test_a_field_over_orders_of_magnitude_has_a_logarithmic_scale() -> None:
    values, (low, high, log) = scaled(np.log([1e-3, 1.0, 40.0]))
    assert log and (low, high) == (-3, 2)
    np.testing.assert_allclose(values, [-3, 0, math.log10(40)])
    values, (low, high, log) = scaled(np.log([0.92, 1.0, 1.31]))
    assert not log and low <= 0.92 and high >= 1.31
    np.testing.assert_allclose(values, [0.92, 1.0, 1.31])
    assert not scaled(np.zeros(3))[1][2]


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ends_are_round_and_just_outside(low: float, width: float) -> None:
    high = low + width
    first, last = rounded_outwards(low, high)
    slack = 1e-6 * max(abs(low), abs(high), width)
    assert first <= low + slack and last >= high - slack
    assert last - first <= 2.5 * max(high - low, 1e-6 * max(abs(low), abs(high))) + slack


def test_kernels_hold_some_tokens_and_grids_stay_within_budget() -> None:
    assert [concentration(n) for n in (1, 1000, 4096, 10**6)] == [12, 12, 40, 200]
    assert views.GlobeView(kind="globe").concentration == "auto"
    for count, heads in ((200, 1), (4096, 2), (10**6, 64), (512, 1024)):
        side = cells(count, heads)
        assert 8 <= side <= 32
    assert cells(4096, 2) >= 24

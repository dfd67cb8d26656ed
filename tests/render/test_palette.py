"""Colours: maps that rise in lightness, contrast on the house background, colours that stay with their cluster.

Luminance and contrast after WCAG 2 and IEC 61966-2-1, written out here again; distances in OKLab.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from render import palette


def linear(encoded: np.ndarray) -> np.ndarray:
    c = np.asarray(encoded) / 255.0
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def oklab(encoded: np.ndarray) -> np.ndarray:
    to_lms = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    to_lab = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    return np.cbrt(linear(encoded) @ np.transpose(to_lms)) @ np.transpose(to_lab)


def unit(n: int, seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=(n, 3))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.mark.parametrize("name", palette.MAPS)
def test_maps_have_256_colours_and_do_not_jump(name: str) -> None:
    table = palette.colormap(name)
    assert table.shape == (256, 3) and table.dtype == np.uint8 and not table.flags.writeable
    assert np.linalg.norm(np.diff(oklab(table), axis=0), axis=1).max() < 0.03
    assert palette.linear_colormap(name).dtype == np.float32
    np.testing.assert_allclose(palette.linear_colormap(name), linear(table), atol=1e-6)


@pytest.mark.parametrize("name", [*palette.SEQUENTIAL, "speed"])
def test_sequential_maps_rise_in_lightness(name: str) -> None:
    lightness = oklab(palette.colormap(name))[:, 0]
    assert np.diff(lightness).min() > -0.004  # a byte's rounding
    assert np.diff(lightness[::8]).min() > 0


def test_the_speed_map_is_seen_from_its_first_colour_on() -> None:
    assert palette.contrast(palette.colormap("speed")[0], palette.BACKGROUND) > 2.8


def test_an_unknown_map_is_refused_with_the_known_ones() -> None:
    with pytest.raises(KeyError, match="viridis"):
        palette.colormap("jet")


def test_type_and_curves_stand_out_from_the_background() -> None:
    assert palette.contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert palette.contrast(palette.INK, palette.PANEL) > 12
    assert palette.contrast(palette.MUTED, palette.PANEL) > 7
    assert min(palette.contrast(color, palette.BACKGROUND) for color in palette.SERIES) > 7
    assert palette.series(10)[8:] == list(palette.SERIES[:2])


def test_cluster_colours_are_all_different_and_bright() -> None:
    colors = palette.categorical()
    lab = oklab(colors)
    apart = np.linalg.norm(lab[:, None] - lab[None], axis=-1) + np.eye(len(colors))
    assert len(colors) >= 20 and apart.min() > 0.06
    assert min(palette.contrast(color, palette.BACKGROUND) for color in colors) > 5


@given(hnp.arrays(np.int32, st.integers(1, 60), elements=st.integers(0, 8)), st.permutations(range(9)))
def test_a_cluster_keeps_its_colour_when_labels_are_renumbered(labels: np.ndarray, order: list[int]) -> None:
    renumbered = np.array(order)[labels]
    np.testing.assert_array_equal(palette.cluster_colors(labels), palette.cluster_colors(renumbered))


def test_a_cluster_keeps_its_colour_while_others_merge_and_when_it_takes_one_in() -> None:
    before = palette.cluster_colors([0, 0, 1, 1, 2, 2, 3, 3])
    after = palette.cluster_colors([0, 0, 1, 1, 2, 2, 2, 2])
    np.testing.assert_array_equal(before[:6], after[:6])
    np.testing.assert_array_equal(after[6], after[4])


def test_a_few_large_clusters_have_different_colours() -> None:
    different = 0
    for seed in range(50):
        labels = np.random.default_rng(seed).integers(0, 6, 1000)
        different += len(np.unique(palette.cluster_colors(labels), axis=0)) == 6
    assert different >= 40


def test_lone_tokens_are_grey_and_no_tokens_no_colours() -> None:
    colors = palette.cluster_colors([5, 0, 0])
    assert tuple(colors[0]) == palette.ALONE and tuple(colors[1]) != palette.ALONE
    assert palette.cluster_colors([]).shape == (0, 3)


def test_near_directions_have_near_colours_and_far_ones_do_not() -> None:
    x = unit(4000)
    near = x + 0.02 * unit(4000, seed=1)
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    moved = np.linalg.norm(oklab(palette.direction_colors(x)) - oklab(palette.direction_colors(near)), axis=1)
    opposite = np.linalg.norm(oklab(palette.direction_colors(x)) - oklab(palette.direction_colors(-x)), axis=1)
    assert moved.max() < 0.04
    assert opposite.min() > 0.15


def test_direction_colours_at_the_poles_and_across_the_seam() -> None:
    poles = oklab(palette.direction_colors([[0, 0, 1.0], [0, 0, -1.0]]))
    assert np.abs(poles[:, 1:]).max() < 0.01 and poles[0, 0] - poles[1, 0] == pytest.approx(0.32, abs=0.01)
    seam = palette.direction_colors([[1, 1e-9, 0], [1, -1e-9, 0]]).astype(int)
    assert np.abs(seam[0] - seam[1]).max() <= 1


def test_bytes_light_and_back() -> None:
    levels = np.arange(256)
    np.testing.assert_allclose(palette.to_linear(levels), linear(levels), rtol=1e-12)
    np.testing.assert_allclose(palette.to_srgb(palette.to_linear(levels)), levels, atol=1e-3)
    assert palette.to_srgb([-1.0, 2.0]) == pytest.approx([0, 255])


def test_words() -> None:
    assert palette.pack((1, 2, 3)) == 0xFF030201
    assert palette.pack((255, 0, 100), alpha=128) == 0x80320080
    np.testing.assert_array_equal(palette.pack_many([[1, 2, 3], [255, 0, 0]]), np.array([0xFF030201, 0xFF0000FF], np.uint32))
    assert palette.rgb("#0a0d14") == (10, 13, 20) and palette.hexadecimal((10, 13, 20)) == "#0a0d14"

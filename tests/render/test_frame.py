"""The frame: what lies where in memory, and the arithmetic of blending against plain NumPy integers.

Premultiplied "over" in 8 bits: out = min(255, layer + round(below (255 - alpha) / 255)) per channel. Compared exactly.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from render.frame import Frame
from render.palette import pack

RED, BLUE, WHITE = (255, 0, 0), (0, 0, 255), (255, 255, 255)


def over(below: np.ndarray, layer: np.ndarray) -> np.ndarray:
    """(h, w) words each; the definition, channel by channel in wide integers."""
    b = below.view(np.uint8).reshape(*below.shape, 4).astype(np.int64)
    t = np.ascontiguousarray(layer).view(np.uint8).reshape(*layer.shape, 4).astype(np.int64)
    seen = 255 - t[..., 3:]
    out = np.minimum(255, t + (2 * b * seen + 255) // 510)  # round half up of b seen / 255
    out[..., 3] = 255
    return out.astype(np.uint8).view(np.uint32)[..., 0]


def random_frame(rng: np.random.Generator, width: int, height: int) -> Frame:
    frame = Frame(width, height)
    frame.pixels[:] = rng.integers(0, 2**24, (height, width), dtype=np.uint32) | np.uint32(0xFF000000)
    return frame


def random_layer(rng: np.random.Generator, width: int, height: int) -> np.ndarray:
    alpha = rng.integers(0, 256, (height, width, 1)) * rng.integers(0, 2, (height, width, 1))
    color = rng.integers(0, 256, (height, width, 3)) * alpha // 255
    return np.concatenate([color, alpha], -1).astype(np.uint8).view(np.uint32)[..., 0]


def test_marks_at_the_right_corners_in_the_right_colours_on_a_wide_picture() -> None:
    frame = Frame(320, 180)
    frame.blend(np.full((10, 20), pack(RED), np.uint32), 0, 0)
    frame.blend(np.full((10, 20), pack(BLUE), np.uint32), 300, 170)
    for image in (frame.rgba[..., :3], frame.rgb()):
        assert image.shape == (180, 320, 3) and image.dtype == np.uint8
        assert tuple(image[0, 0]) == RED and tuple(image[9, 19]) == RED
        assert tuple(image[179, 319]) == BLUE and tuple(image[170, 300]) == BLUE
        assert not image[0, 319].any() and not image[179, 0].any() and not image[9, 20].any()
    assert frame.rgb().flags.c_contiguous and (frame.rgba[..., 3] == 255).all()


@pytest.mark.parametrize("size", [(1, 1), (15, 3), (16, 2), (53, 31)])
def test_blending_equals_the_definition(size: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    frame, layer = random_frame(rng, *size), random_layer(rng, *size)
    expected = over(frame.pixels, layer)
    frame.blend(layer)
    np.testing.assert_array_equal(frame.pixels, expected)


def test_every_pair_of_value_and_alpha_is_rounded_right() -> None:
    value, alpha = np.meshgrid(np.arange(256, dtype=np.uint32), np.arange(256, dtype=np.uint32))
    frame = Frame(256, 256)
    frame.pixels[:] = value | value << 8 | value << 16 | np.uint32(0xFF000000)
    layer = alpha << 24
    expected = over(frame.pixels, layer)
    frame.blend(layer)
    np.testing.assert_array_equal(frame.pixels, expected)


@settings(max_examples=30, deadline=None)
@given(x=st.integers(-60, 80), y=st.integers(-40, 60), w=st.integers(1, 50), h=st.integers(1, 30))
def test_a_layer_is_clipped_at_every_border(x: int, y: int, w: int, h: int) -> None:
    rng = np.random.default_rng(abs(x) * 1000 + abs(y))
    frame, layer = random_frame(rng, 40, 24), random_layer(rng, w, h)
    padded = np.zeros((24 + 200, 40 + 200), np.uint32)
    padded[100 + y : 100 + y + h, 100 + x : 100 + x + w] = layer
    expected = over(frame.pixels, padded[100:124, 100:140])
    frame.blend(layer, x, y)
    np.testing.assert_array_equal(frame.pixels, expected)


def test_an_empty_layer_changes_nothing_and_a_light_without_alpha_adds() -> None:
    frame = random_frame(np.random.default_rng(2), 33, 5)
    before = frame.pixels.copy()
    frame.blend(np.zeros((5, 33), np.uint32))
    frame.blend(np.zeros((0, 7), np.uint32))
    np.testing.assert_array_equal(frame.pixels, before)
    frame.fill((250, 10, 0))
    frame.blend(np.full((5, 33), 0x00141414, np.uint32))
    assert (frame.rgba == [255, 30, 20, 255]).all()


def test_a_strided_layer_is_read_as_it_looks() -> None:
    rng = np.random.default_rng(3)
    wide = random_layer(rng, 60, 20)
    one, other = Frame(20, 20), Frame(20, 20)
    one.blend(wide[::2, 1::3], 0, 5)
    other.blend(np.ascontiguousarray(wide[::2, 1::3]), 0, 5)
    np.testing.assert_array_equal(one.pixels, other.pixels)


@pytest.mark.parametrize("size", [(1, 1), (3, 1), (5, 7), (64, 36)])
def test_rgb_drops_the_alpha_of_every_pixel(size: tuple[int, int]) -> None:
    frame = random_frame(np.random.default_rng(4), *size)
    out = np.empty((size[1], size[0], 3), np.uint8)
    assert frame.rgb(out) is out
    np.testing.assert_array_equal(out, frame.rgba[..., :3])


def test_paste_and_copy() -> None:
    rng = np.random.default_rng(5)
    small, frame = random_frame(rng, 8, 6), Frame(20, 10, WHITE)
    twin = frame.copy()
    frame.paste(small, 15, -2)
    np.testing.assert_array_equal(frame.pixels[:4, 15:], small.pixels[2:, :5])
    assert (frame.pixels[4:] == pack(WHITE)).all() and (frame.pixels[:, :15] == pack(WHITE)).all()
    assert (twin.pixels == pack(WHITE)).all()
    frame.paste(small, 50, 50)


def test_refusals_name_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="0 x 5"):
        Frame(0, 5)
    with pytest.raises(ValueError, match="uint32"):
        Frame(4, 4).blend(np.zeros((2, 2, 4), np.uint8))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"\(4, 6, 3\)"):
        Frame(6, 4).rgb(np.empty((4, 6, 4), np.uint8))

"""The house look: colours, colour maps and how bytes relate to light.

Colours are (R, G, B) bytes, sRGB-encoded. Anything that averages or shades works in linear light and is encoded at the end.
The look: a dark, calm background, few strong colours that stay apart on a projector and for colour-blind eyes.
"""

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Color = tuple[int, int, int]


def rgb(hexadecimal: str) -> Color:
    """ "#rrggbb" -> (R, G, B)"""
    value = int(hexadecimal.removeprefix("#"), 16)
    return value >> 16, (value >> 8) & 255, value & 255


def hexadecimal(color: Color) -> str:
    """(R, G, B) -> "#rrggbb", as matplotlib takes it."""
    return "#{:02x}{:02x}{:02x}".format(*color)


BACKGROUND = rgb("#0a0d14")
PANEL = rgb("#10151f")  # behind plots and legends, drawn with some transparency
INK = rgb("#e8ecf4")  # titles, numbers
MUTED = rgb("#9aa6b8")  # captions, tick labels
FAINT = rgb("#39445a")  # spines, grids
WARNING = rgb("#ff9b54")
GLASS = rgb("#8fb4e8")  # the globe's own colour

SERIES: tuple[Color, ...] = tuple(
    map(rgb, ("#5cc8ff", "#ffb000", "#4fd6a0", "#ff7bac", "#c0a2ff", "#f5ec6b", "#ff7a45", "#b7c3d6"))
)
"""Curves and legend entries in order: Okabe and Ito's hues, lifted so that each has contrast >= 7 on the background."""

SEQUENTIAL = ("viridis", "magma", "inferno", "plasma", "cividis")
CYCLIC = ("twilight", "twilight_shifted")
DIVERGING = ("RdBu", "coolwarm", "PuOr")
HOUSE = ("speed",)
MAPS = (*SEQUENTIAL, *CYCLIC, *DIVERGING, *HOUSE)


@functools.cache
def colormap(name: str) -> NDArray[np.uint8]:
    """(256, 3) sRGB bytes of a matplotlib map or of the house map `speed`. Read-only. KeyError names the maps there are."""
    if name not in MAPS:
        raise KeyError(f"no colour map {name!r}; there are {', '.join(MAPS)}")
    if name == "speed":
        table = _speed_map()
    else:
        from matplotlib import colormaps  # importing it takes longer than drawing a frame

        table = (colormaps[name](np.linspace(0, 1, 256))[:, :3] * 255 + 0.5).astype(np.uint8)
    table.setflags(write=False)
    return table


def _speed_map() -> NDArray[np.uint8]:
    """(256, 3) calm blue through violet and coral to bright yellow. Lightness is linear in OKLab and starts where small dots are
    still seen on the dark background; matplotlib's maps, made for white paper, start below that."""
    t = np.linspace(0, 1, 256)
    hue = np.radians(np.interp(t, [0, 0.3, 0.55, 0.8, 1], [262, 305, 368, 415, 462]))
    lightness = 0.50 + 0.42 * t
    chroma = np.minimum(0.95 * most_chroma(lightness, hue), np.interp(t, [0, 0.5, 1], [0.15, 0.19, 0.16]))
    lab = np.stack([lightness, chroma * np.cos(hue), chroma * np.sin(hue)], -1)
    return np.asarray(to_srgb(oklab_to_linear(lab)) + 0.5, np.uint8)


@functools.cache
def linear_colormap(name: str) -> NDArray[np.float32]:
    """(256, 3) float32 in linear light, 0 to 1. Read-only."""
    table = to_linear(colormap(name)).astype(np.float32)
    table.setflags(write=False)
    return table


def pack(color: Color, alpha: int = 255) -> int:
    """The word 0xAABBGGRR of a colour, premultiplied by alpha."""
    r, g, b = ((channel * alpha + 127) // 255 for channel in color)
    return r | g << 8 | b << 16 | alpha << 24


def pack_many(colors: ArrayLike) -> NDArray[np.uint32]:
    """(..., 3) bytes -> (...) opaque words 0xFFBBGGRR."""
    c = np.asarray(colors).astype(np.uint32)
    words: NDArray[np.uint32] = c[..., 0] | c[..., 1] << np.uint32(8) | c[..., 2] << np.uint32(16) | np.uint32(0xFF000000)
    return words


def to_linear(encoded: ArrayLike) -> NDArray[np.float64]:
    """sRGB bytes 0..255 -> linear light 0..1 (IEC 61966-2-1)."""
    c = np.asarray(encoded, np.float64) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def to_srgb(linear: ArrayLike) -> NDArray[np.float64]:
    """Linear light -> sRGB on 0..255, not rounded; light outside 0..1 is cut off."""
    c = np.clip(np.asarray(linear, np.float64), 0, 1)
    return 255 * np.where(c <= 0.0031308, 12.92 * c, 1.055 * c ** (1 / 2.4) - 0.055)


def luminance(color: ArrayLike) -> NDArray[np.float64]:
    """Relative luminance 0..1 of (..., 3) sRGB bytes (Rec. 709)."""
    return np.asarray(to_linear(color) @ np.array([0.2126, 0.7152, 0.0722]))


def contrast(one: ArrayLike, other: ArrayLike) -> float:
    """WCAG contrast ratio of two colours, 1 to 21; text wants 4.5, thin lines on a projector more."""
    low, high = sorted((float(luminance(one)), float(luminance(other))))
    return (high + 0.05) / (low + 0.05)


_LMS_FROM_LAB = np.array([[1, 0.3963377774, 0.2158037573], [1, -0.1055613458, -0.0638541728], [1, -0.0894841775, -1.2914855480]])
_RGB_FROM_LMS = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)


def oklab_to_linear(lab: ArrayLike) -> NDArray[np.float64]:
    """(..., 3) OKLab -> linear sRGB, not cut off: outside 0..1 where the colour does not exist on a screen.

    B. Ottosson, https://bottosson.github.io/posts/oklab/ (2020).
    """
    return np.asarray(((np.asarray(lab, np.float64) @ _LMS_FROM_LAB.T) ** 3) @ _RGB_FROM_LMS.T)


def linear_to_oklab(linear: ArrayLike) -> NDArray[np.float64]:
    """(..., 3) linear sRGB -> OKLab, the inverse of `oklab_to_linear`."""
    lms = np.cbrt(np.asarray(linear, np.float64) @ np.linalg.inv(_RGB_FROM_LMS).T)
    return np.asarray(lms @ np.linalg.inv(_LMS_FROM_LAB).T)


def most_chroma(lightness: ArrayLike, hue: ArrayLike) -> NDArray[np.float64]:
    """Largest OKLab chroma that a screen can show at each lightness and hue (radians), by bisection to 1e-4."""
    lightness, hue = np.broadcast_arrays(np.asarray(lightness, np.float64), np.asarray(hue, np.float64))
    low, high = np.zeros(lightness.shape), np.full(lightness.shape, 0.4)
    for _ in range(12):
        chroma = (low + high) / 2
        light = oklab_to_linear(np.stack([lightness, chroma * np.cos(hue), chroma * np.sin(hue)], -1))
        shown = np.all((light >= 0) & (light <= 1), -1)
        low, high = np.where(shown, chroma, low), np.where(shown, high, chroma)
    return low


_EQUATOR, _TILT, _STRONGEST = 0.72, 0.16, 0.19  # OKLab lightness at the equator, how much the poles differ from it; chroma limit


@functools.cache
def _chroma_table() -> NDArray[np.float64]:
    """(33, 361) OKLab chroma for `direction_colors`, over z from -1 to 1 and degrees of hue: nearly the most a screen can show,
    cut off at `_STRONGEST`, and smoothed around the wheel so that no hue stands out as a ridge."""
    lightness = _EQUATOR + _TILT * np.linspace(-1, 1, 33)[:, None]
    chroma = np.minimum(0.97 * most_chroma(lightness, np.radians(np.arange(360))), _STRONGEST)
    window = np.hanning(33)[1:-1]
    rows = [np.convolve(np.tile(row, 3), window / window.sum(), "same")[360:721] for row in chroma]
    return np.array(rows)


def direction_colors(points: ArrayLike) -> NDArray[np.uint8]:
    """(N, 3) unit vectors -> (N, 3) sRGB bytes: longitude is hue, latitude lightness, the poles are pale and deep grey.

    Smooth over the sphere, with near colours for near points: OKLab with a, b along x, y and L along z.
    """
    x, y, z = np.asarray(points, np.float64).T
    z = np.clip(z, -1, 1)
    angle = np.arctan2(y, x)
    table, row, column = _chroma_table(), (z + 1) * 16, np.degrees(angle) % 360
    i, j = np.minimum(row.astype(int), 31), np.minimum(column.astype(int), 359)
    s, t = row - i, column - j
    chroma = (1 - s) * ((1 - t) * table[i, j] + t * table[i, j + 1]) + s * ((1 - t) * table[i + 1, j] + t * table[i + 1, j + 1])
    chroma *= np.sqrt(1 - z * z)
    lab = np.stack([_EQUATOR + _TILT * z, chroma * np.cos(angle), chroma * np.sin(angle)], -1)
    return np.asarray(to_srgb(oklab_to_linear(lab)) + 0.5, np.uint8)


@functools.cache
def categorical() -> NDArray[np.uint8]:
    """(24, 3) sRGB bytes for clusters: `SERIES` without its grey, then each time the colour farthest in OKLab from all before it.

    None is so deep that it could be taken for a paler one far away in the haze; lightness differs as well as hue, so that they
    stay apart for colour-blind eyes too.
    """
    lightness, hue = (axis.ravel() for axis in np.meshgrid([0.70, 0.78, 0.86], np.radians(np.arange(0, 360, 5))))
    chroma = 0.95 * np.minimum(most_chroma(lightness, hue), 0.18)
    offered = np.stack([lightness, chroma * np.cos(hue), chroma * np.sin(hue)], -1)
    taken = list(linear_to_oklab(to_linear(SERIES[:7])))
    for _ in range(17):
        distance = np.linalg.norm(offered[:, None] - np.array(taken), axis=-1).min(1)
        taken.append(offered[np.argmax(distance.round(9))])
    colors = np.asarray(to_srgb(oklab_to_linear(taken)) + 0.5, np.uint8)
    colors[:7] = SERIES[:7]
    return colors


ALONE: Color = rgb("#77839a")
"""A token that belongs to no cluster."""


def cluster_colors(labels: ArrayLike) -> NDArray[np.uint8]:
    """(N,) integer labels >= 0 -> (N, 3) sRGB bytes; lone tokens get `ALONE`.

    A cluster's colour is number i modulo the colours there are, i its smallest member, whatever its label: it stays the same when
    labels are renumbered, while others merge, and for as long as that member stays in it. Large clusters have small smallest
    members, one of the first few tokens each, so they seldom share a colour.
    """
    labels = np.asarray(labels, np.int64)
    if labels.size == 0:
        return np.empty((0, 3), np.uint8)
    sizes = np.bincount(labels)
    first = np.zeros(sizes.size, np.int64)
    first[labels[::-1]] = np.arange(labels.size - 1, -1, -1)  # the last assignment wins: the smallest member
    colors = categorical()
    table = colors[first % len(colors)]
    table[sizes <= 1] = ALONE
    colored: NDArray[np.uint8] = table[labels]
    return colored


PLAIN: Color = rgb("#dfe6f2")
"""Tokens whose colour shows nothing."""


def head_colors(heads: int) -> NDArray[np.uint8]:
    """(H, 3) sRGB bytes: `categorical`, again from the start after its last."""
    colors = categorical()
    return np.asarray(colors[np.arange(heads) % len(colors)])


def series(count: int) -> Sequence[Color]:
    """`count` curve colours, repeating after the eighth."""
    return [SERIES[i % len(SERIES)] for i in range(count)]

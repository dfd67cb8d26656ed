"""Type, through matplotlib alone: rendered once per string, size and colour, and kept as premultiplied layers.

Strings may hold mathematics between dollar signs; what matplotlib cannot read as mathematics is shown as it stands.
"""

import contextlib
import functools
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from render.frame import Frame, Layer
from render.palette import INK, Color

FAMILY = "DejaVu Sans"  # ships with matplotlib: the same picture on every machine
DIGITS = re.compile(r"[-+0-9.]+")
DPI = 72  # a point is a pixel
BOX, BASELINE, RISE = 1.9, 1.42, 0.3  # of a layer, in type sizes: its height, its baseline, and what is above a line's usual top


def text_layer(text: str, size: float, color: Color = INK, *, bold: bool = False) -> Layer:
    """`text` on one line, `size` pixels high, as a layer (h, w) with room for tall mathematics: see `draw_text`."""
    if not text.strip():
        return np.zeros((1, 1), np.uint32)
    return _rendered(readable(text), _snapped(size), color, bold)


def number_layer(text: str, size: float, color: Color = INK) -> Layer:
    """A number whose digits all have one width, put together from digits that were rendered once: cheap every frame."""
    if not DIGITS.fullmatch(text):
        return text_layer(text, size, color)
    parts = [_digit(letter, _snapped(size), color) for letter in text]
    return np.concatenate(parts, axis=1)


def width_of(text: str, size: float, *, bold: bool = False) -> float:
    """Width of one line in pixels."""
    with _boxes_allowed():
        width, _, _ = _renderer().get_text_width_height_descent(
            readable(text), _font(_snapped(size), bold), _is_math(readable(text))
        )
    return float(width)


def wrapped(text: str, size: float, width: float, *, bold: bool = False) -> list[str]:
    """Lines no wider than `width` pixels, broken at spaces outside of mathematics; a longer word stands alone."""
    lines: list[str] = []
    for word in re.findall(r"(?:\$[^$]*\$|[^\s$]|\$)+", text):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_of(longer, size, bold=bold) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def draw_text(frame: Frame, layer: Layer, x: float, y: float) -> None:
    """Blend a line of type whose own top, above which only tall mathematics reaches, is at the nearest pixel to (x, y)."""
    frame.blend(layer, round(x), round(y - layer.shape[0] * RISE / BOX))


def line_height(size: float) -> int:
    """Rows from one line to the next where lines hold mathematics; lines of words may stand at 0.9 of it."""
    return round(1.5 * size)


def readable(text: str) -> str:
    """`text` if matplotlib can parse its mathematics, otherwise the same with its dollar signs shown literally."""
    return text if _parses(text) else text.replace("$", r"\$")


def _snapped(size: float) -> float:
    """Few different sizes, so that layers are found again; measured as they are drawn, since hinting jumps with the size."""
    return round(size * 4) / 4


@functools.lru_cache(maxsize=4096)
def _parses(text: str) -> bool:
    if not _is_math(text):
        return True
    from matplotlib.mathtext import MathTextParser

    try:
        MathTextParser("agg").parse(text, DPI)
    except ValueError:
        return False
    return True


def _is_math(text: str) -> bool:
    dollars = text.replace(r"\$", "").count("$")
    return dollars > 0 and dollars % 2 == 0


@functools.lru_cache(maxsize=2048)
def _rendered(text: str, size: float, color: Color, bold: bool) -> Layer:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    width = int(np.ceil(width_of(text, size, bold=bold))) + 2
    height = round(BOX * size)
    figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI, facecolor="none")
    canvas = FigureCanvasAgg(figure)
    baseline = 1 - BASELINE * size / height
    figure.text(
        1 / width, baseline, text, fontproperties=_font(size, bold), color=_float(color), va="baseline", parse_math=_is_math(text)
    )
    with _boxes_allowed():
        canvas.draw()
    return premultiplied(np.asarray(canvas.buffer_rgba()))


@functools.lru_cache(maxsize=512)
def _digit(letter: str, size: float, color: Color) -> Layer:
    """One digit in a cell of the widest digit's width; a point or a sign in its own."""
    cell = round(width_of("0", size)) if letter.isdigit() or letter in "+-" else round(width_of(letter, size))
    glyph = _rendered(letter.replace("-", "\N{MINUS SIGN}"), size, color, False)
    out = np.zeros((glyph.shape[0], max(cell, 1)), np.uint32)
    ink = glyph[:, : out.shape[1]]
    out[:, : ink.shape[1]] = ink
    return out


def premultiplied(rgba: NDArray[np.uint8]) -> Layer:
    """(h, w, 4) straight alpha -> a layer."""
    alpha = rgba[..., 3:].astype(np.uint16)
    out = np.empty(rgba.shape, np.uint8)
    out[..., :3] = (rgba[..., :3] * alpha + 127) // 255
    out[..., 3] = rgba[..., 3]
    layer: Layer = np.ascontiguousarray(out).view(np.uint32)[..., 0]
    layer.setflags(write=False)
    return layer


def solid(width: int, height: int, color: Color, alpha: int) -> Layer:
    """A rectangle of one colour."""
    from render.palette import pack

    return np.full((max(height, 1), max(width, 1)), pack(color, alpha), np.uint32)


@contextlib.contextmanager
def _boxes_allowed() -> Iterator[None]:
    """A letter that the font lacks becomes a box, which says enough."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


@functools.lru_cache(maxsize=64)
def _font(size: float, bold: bool) -> Any:
    from matplotlib.font_manager import FontProperties

    return FontProperties(family=FAMILY, size=size, weight="bold" if bold else "normal", math_fontfamily="dejavusans")


@functools.cache
def _renderer() -> Any:
    from matplotlib.backends.backend_agg import RendererAgg

    return RendererAgg(8, 8, DPI)


def _float(color: Color) -> tuple[float, float, float]:
    return color[0] / 255, color[1] / 255, color[2] / 255

"""From what orbits did to colours: one kernel, averaging the samples of every pixel in linear light.

A sample is coloured by where its orbit went. Escaped ones by their smooth escape count, which is continuous, so there are
no bands; the others by what the colouring asks. `auto` asks, in each phase of mu, the question that has an answer there.
"""

import functools
from typing import Any

import numpy as np
import taichi as ti
from numpy.typing import NDArray

from render.palette import Color, linear_colormap, rgb, to_linear, to_srgb
from sim.two_factor import theory
from sim.two_factor.channels import BOUNDED, ESCAPED, LANDED, PERIOD2, UNDECIDED

COLOURINGS = ("escape", "outcome", "landing", "sharpness", "branch", "phase", "lyapunov")
CODE = {name: i for i, name in enumerate(COLOURINGS)}
SHADE = {"outcome": "landing", "escape": "landing", "branch": "landing", "phase": "landing"}
"""The second channel of a colouring, where it is not the one of its own name."""

UNDECIDED_COLOR = rgb("#6b7280")
POSITIVE, NEGATIVE = rgb("#58b7ff"), rgb("#ffb454")
"""The two branches of ab = mu, and the two phases of the period-2 orbit, brightest; the same at every mu and zoom."""
OUTCOME_COLORS: dict[int, Color] = {
    ESCAPED: rgb("#1a1230"),
    UNDECIDED: UNDECIDED_COLOR,
    LANDED: rgb("#58b7ff"),
    BOUNDED: rgb("#4fd6a0"),
    PERIOD2: rgb("#4fd6a0"),
}
ESCAPE_HALF = 7.0  # an escape count of this is half way up the scale
LANDING_HALF = 45.0  # likewise for landing times
LYAPUNOV_RANGE = (-1.0, 1.1)  # log 3 is the largest mean exponent on the ellipse
MAPS = {"escape": "magma", "landing": "cividis", "sharpness": "viridis", "lyapunov": "viridis"}


def question(mu: float) -> str:
    """What `auto` asks of bounded orbits: on which branch they land; else their phase; else how fast neighbours part.

    Beyond |mu| = 2 there are none to speak of.
    """
    size = abs(mu)
    if size <= 1:
        return "branch"
    if size < theory.MU_PERIOD2:
        return "phase"
    return "lyapunov" if size < 2 else "escape"


def paint(system: Any, colouring: str, supersample: int, pixels: NDArray[np.uint32], corner: tuple[int, int]) -> None:
    """Colour a `Plane` of (W s) x (H s) grid points into W x H pixels, the top left one at `corner` = (column, row)."""
    mode = question(system.mu) if colouring == "auto" else colouring
    outcome, escape = system.outcome(), system.channel("escape")
    value = system.channel(mode) if mode not in ("outcome", "escape") else escape
    shade = system.channel(SHADE[mode]) if mode in SHADE else value
    width, height = system.size[0] // supersample, system.size[1] // supersample
    _paint()(
        outcome, escape, value, shade, CODE[mode], supersample, width, height, corner[0], corner[1],
        linear_colormap("magma"), _inner_map(mode), _flat(), _encode(), pixels,
    )  # fmt: skip


@functools.cache
def _inner_map(mode: str) -> NDArray[np.float32]:
    """(256, 3) linear light for the value of a colouring; for two-coloured ones the ramps of - and + in halves of 128."""
    if mode in ("branch", "phase"):
        ramp = np.linspace(1, 0, 128)[:, None] ** 1.25
        deep = to_linear(rgb("#0d1020"))
        halves = [deep + (to_linear(color) - deep) * ramp for color in (NEGATIVE, POSITIVE)]
        return np.concatenate(halves).astype(np.float32)
    return linear_colormap(MAPS.get(mode, "cividis"))


@functools.cache
def _flat() -> NDArray[np.float32]:
    """(5, 3) linear light of the outcomes, by label + 1."""
    return np.stack([to_linear(OUTCOME_COLORS[label]) for label in sorted(OUTCOME_COLORS)]).astype(np.float32)


@functools.cache
def _encode() -> NDArray[np.uint8]:
    """(4096,) sRGB byte of a square root of linear light: even steps for the eye, so that dark tones are not banded."""
    table: NDArray[np.uint8] = (to_srgb(np.linspace(0, 1, 4096) ** 2) + 0.5).astype(np.uint8)
    return table


@functools.cache
def _paint() -> Any:
    field = ti.types.ndarray(dtype=ti.f32, ndim=2)
    table = ti.types.ndarray(dtype=ti.f32, ndim=2)
    branch, phase, lyapunov, sharpness, flat_mode, landing_mode = (
        CODE[name] for name in ("branch", "phase", "lyapunov", "sharpness", "outcome", "landing")
    )

    @ti.func
    def look(colors: ti.template(), at, first, count):
        """The colour at 0..1 of a stretch of a table, interpolated."""
        x = ti.min(ti.max(at, 0.0), 1.0) * (count - 1)
        i = ti.min(ti.cast(x, ti.i32), count - 2)
        f = x - i
        low = ti.Vector([colors[first + i, 0], colors[first + i, 1], colors[first + i, 2]])
        high = ti.Vector([colors[first + i + 1, 0], colors[first + i + 1, 1], colors[first + i + 1, 2]])
        return low + f * (high - low)

    @ti.func
    def part(value, half):
        """A count on 0..1, `half` in the middle."""
        return value / (value + half)

    @ti.kernel
    def paint_kernel(
        outcome: ti.types.ndarray(dtype=ti.i32, ndim=2),
        escape: field,
        value: field,
        shade: field,
        mode: ti.i32,
        s: ti.i32,
        width: ti.i32,
        height: ti.i32,
        left: ti.i32,
        top: ti.i32,
        outside: table,
        inside: table,
        flat: table,
        encode: ti.types.ndarray(dtype=ti.u8, ndim=1),
        pixels: ti.types.ndarray(dtype=ti.u32, ndim=2),
    ):
        for row, column in ti.ndrange(height, width):
            light = ti.Vector([0.0, 0.0, 0.0])
            for i in range(s):
                for j in range(s):
                    y, x = row * s + i, column * s + j
                    label = outcome[y, x]
                    color = ti.Vector([flat[label + 1, 0], flat[label + 1, 1], flat[label + 1, 2]])
                    if label == ESCAPED:
                        if mode != flat_mode:
                            color = look(outside, 0.03 + 0.97 * part(ti.max(escape[y, x], 0.0), ESCAPE_HALF), 0, 256)
                    elif mode == branch or mode == phase:
                        v = value[y, x]
                        depth = 0.0
                        if label == LANDED:
                            depth = part(ti.max(shade[y, x], 0.0), LANDING_HALF)
                        if v != 0:
                            color = look(inside, depth, ti.select(v > 0, 128, 0), 128)
                        else:
                            color = ti.Vector([flat[1, 0], flat[1, 1], flat[1, 2]])
                    elif mode == lyapunov:
                        v = value[y, x]
                        if not ti.math.isnan(v):
                            color = look(inside, (v - LYAPUNOV_RANGE[0]) / (LYAPUNOV_RANGE[1] - LYAPUNOV_RANGE[0]), 0, 256)
                    elif mode == sharpness:
                        color = look(inside, value[y, x] / 2.0, 0, 256)
                    elif mode == landing_mode and label == LANDED:
                        color = look(inside, 1.0 - part(ti.max(value[y, x], 0.0), LANDING_HALF), 0, 256)
                    light += color
            light /= s * s
            word = ti.u32(0xFF000000)
            for channel in ti.static(range(3)):
                step = ti.cast(ti.sqrt(ti.min(ti.max(light[channel], 0.0), 1.0)) * 4095.0 + 0.5, ti.i32)
                word |= ti.cast(encode[step], ti.u32) << (8 * channel)
            pixels[top + row, left + column] = word

    return paint_kernel

"""Fading trails behind the tokens, as light that is added up in integers: the bytes do not depend on the order of threads.

A trail runs through the cloud's kept states (`sim.attention.wake`) along great circles and fades with their age. Light of the
far half of the globe lies behind the glass; light of the near half shines in front of the tokens of the back.
"""

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np
import taichi as ti
import taichi.math as tm
from numpy.typing import NDArray

from render.camera import GlobeFit
from render.scenery import Box, Scenery, Transfer
from render.shading import decoded, encoded
from sim.attention.wake import Wake

ONE = 1024  # units of light; 2^18 stretches of full light in one pixel stay below 2^31
BRIGHT = 0.85  # of a trail where it leaves its token, of that token's light
BEHIND = 0.45  # of the light on the far side
STEP = 0.7  # pixels between the points of a trail

mat3 = ti.types.matrix(3, 3, ti.f32)


class Trails:
    """Draws the wake of a system between the scenery and the tokens of a picture of `size` pixels.

    `veil` is the scenery's with the trails' near half in it.
    """

    def __init__(self, size: tuple[int, int], transfer: Transfer) -> None:
        width, height = size
        self.size = size
        self._transfer = transfer
        self._light: Any = ti.ndarray(ti.i32, (2, height, width, 3))
        self.veil: Any = ti.ndarray(tm.vec4, (height, width))
        self._rows = np.zeros(1, np.int32)

    def draw(
        self,
        pixels: NDArray[np.uint32],
        wake: Wake,
        shown: Any,
        time: float,
        paint: tuple[Any, Any, Any, float],
        fit: GlobeFit,
        basis: NDArray[np.float64],
        scenery: Scenery,
    ) -> None:
        """Add the trails that end at the cloud `shown` at system time `time`, in the tokens' colours (`paint` as in `Raster`)."""
        past = wake.until(time)
        rows = np.array([row for row, _ in past] + [wake.slots], np.int32)
        fade = np.clip(1 - (time - np.array([t for _, t in past] + [time])) / wake.duration, 0, 1).astype(np.float32) ** 2
        box = Box.around(fit, 1.05 * fit.radius, self.size)
        colors, values, ramp, scale = paint
        thick = max(1.0, self.size[1] / 720)
        run = _kernels()
        run.moment(shown, wake.picked, wake.clouds, wake.slots)
        run.shine(
            wake.clouds, wake.picked, rows, fade, ti.Matrix(basis.tolist(), ti.f32), fit.x, fit.y, fit.radius, thick,
            colors, values, ramp, scale, self._transfer.decode, self._light,
        )  # fmt: skip
        run.lay(
            pixels, scenery.veil, self.veil, self._light, self._transfer.decode, self._transfer.encode,
            box.x0, box.y0, box.x1, box.y1,
        )  # fmt: skip

    def release(self) -> None:
        """Free device memory."""
        self._light = self.veil = None


@functools.cache
def _kernels() -> SimpleNamespace:
    words = ti.types.ndarray(dtype=ti.u32, ndim=1)
    floats = ti.types.ndarray(dtype=ti.f32, ndim=1)
    vectors = ti.types.ndarray(dtype=tm.vec3, ndim=1)
    ints = ti.types.ndarray(dtype=ti.i32, ndim=1)
    states = ti.types.ndarray(dtype=tm.vec3, ndim=2)
    veils = ti.types.ndarray(dtype=tm.vec4, ndim=2)
    lights = ti.types.ndarray(dtype=ti.i32, ndim=4)

    @ti.func
    def finite(p: tm.vec3) -> ti.i32:
        return not (any(tm.isnan(p)) or any(tm.isinf(p)))

    @ti.func
    def deposit(light: ti.template(), side: ti.i32, x: ti.f32, y: ti.f32, thick: ti.f32, color: tm.vec3):  # type: ignore[no-untyped-def]
        """Light at a point of the picture, spread as a tent `thick` pixels to each side."""
        share = 1.0 / (thick * thick)
        for row in range(ti.cast(ti.ceil(y - 0.5 - thick), ti.i32), ti.cast(ti.floor(y - 0.5 + thick), ti.i32) + 1):
            for column in range(ti.cast(ti.ceil(x - 0.5 - thick), ti.i32), ti.cast(ti.floor(x - 0.5 + thick), ti.i32) + 1):
                if 0 <= row < light.shape[1] and 0 <= column < light.shape[2]:
                    dx, dy = ti.abs(column + 0.5 - x) / thick, ti.abs(row + 0.5 - y) / thick
                    amount = share * (1.0 - dx) * (1.0 - dy) * ONE
                    for c in ti.static(range(3)):
                        ti.atomic_add(light[side, row, column, c], ti.cast(amount * color[c] + 0.5, ti.i32))

    @ti.kernel
    def moment(shown: vectors, picked: ints, clouds: states, slot: int):  # type: ignore[no-untyped-def]
        for i in picked:
            clouds[slot, i] = shown[picked[i]]

    @ti.kernel
    def shine(
        clouds: states,
        picked: ints,
        rows: ints,
        fade: floats,
        camera: mat3,
        cx: ti.f32,
        cy: ti.f32,
        radius: ti.f32,
        thick: ti.f32,
        colors: words,
        values: floats,
        ramp: vectors,
        scale: ti.f32,
        decode: floats,
        light: lights,
    ):  # type: ignore[no-untyped-def]
        for i in range(picked.shape[0]):
            color = tm.vec3(0.0)
            if scale > 0.0:
                color = ramp[ti.cast(tm.clamp(values[picked[i]] * scale, 0.0, 1.0) * 255.0 + 0.5, ti.i32)]
            else:
                color = decoded(colors[picked[i]], decode)
            for s in range(rows.shape[0] - 1):
                p, q = camera @ clouds[rows[s], i], camera @ clouds[rows[s + 1], i]
                if finite(p) and finite(q) and fade[s + 1] > 0.0:
                    long = (q - p).norm() * radius
                    n = tm.clamp(ti.cast(ti.ceil(long / STEP), ti.i32), 1, 4096)
                    for k in range(n):
                        f = (k + 0.5) / n
                        r = tm.mix(p, q, f)
                        r = r / ti.max(r.norm(), 1e-3)
                        bright = tm.mix(fade[s], fade[s + 1], f) * (long / n) * BRIGHT
                        side = 0
                        if r.z < 0.0:
                            side = 1
                            bright *= BEHIND
                        deposit(light, side, cx + r.x * radius, cy - r.y * radius, thick, color * bright)

    @ti.func
    def toned(light: ti.template(), side: ti.i32, row: ti.i32, column: ti.i32) -> tm.vec3:
        """Light as added up, held below white with its hue kept; the buffer is left empty."""
        sum_ = tm.vec3(0.0)
        for c in ti.static(range(3)):
            sum_[c] = ti.cast(light[side, row, column, c], ti.f32) / ONE
            light[side, row, column, c] = 0
        return sum_ / (1.0 + 0.8 * sum_.max())

    @ti.kernel
    def lay(
        pixels: ti.types.ndarray(dtype=ti.u32, ndim=2),
        glass: veils,
        veil: veils,
        light: lights,
        decode: floats,
        encode: floats,
        x0: int,
        y0: int,
        x1: int,
        y1: int,
    ):  # type: ignore[no-untyped-def]
        for row in range(y0, y1):
            for column in range(x0, x1):
                front, back, through = toned(light, 0, row, column), toned(light, 1, row, column), glass[row, column]
                veil[row, column] = through + tm.vec4(front, 0.0)
                if front.max() + back.max() > 0.0:
                    below = decoded(pixels[row, column], decode)
                    pixels[row, column] = encoded(below + front + back * (1.0 - through.w), 0.5, encode)

    return SimpleNamespace(moment=moment, shine=shine, lay=lay)

"""Tokens drawn as balls by a compute rasteriser: `render.splat` decides what is seen, `render.resolve` paints it.

Four samples a pixel in a rotated grid give smooth edges. The same tokens give the same bytes whatever the number of threads.
"""

from typing import Any

import numpy as np
import taichi as ti
import taichi.math as tm
from numpy.typing import NDArray

from render.camera import GlobeFit
from render.resolve import DUST, Look, resolve_kernel
from render.scenery import Box, Transfer
from render.splat import DEPTHS, FALL, LARGEST, PER_PIXEL, UNIT, splat_kernels
from sim import runtime


class Raster:
    """Buffers for drawing any number of balls on a picture of `size` pixels; grown when needed, never per frame."""

    def __init__(self, size: tuple[int, int], transfer: Transfer) -> None:
        self.size = size
        self.packed = runtime.machine().arch in ("cpu", "cuda")
        self._transfer = transfer
        self._best: Any = None
        self._ids: Any = None
        self._placed: Any = None
        self._samples = self._count = 0
        self._clean = False

    def draw(
        self,
        pixels: NDArray[np.uint32],
        tokens: Any,
        paint: tuple[Any, Any, Any, float],
        fit: GlobeFit,
        basis: NDArray[np.float64],
        radius: float,
        veil: Any,
    ) -> None:
        """Paint tokens (ti.ndarray (N,) of vec3 f32, unit vectors) as balls of `radius` sphere radii over `pixels`.

        Those of the back are seen through `veil`, see `Scenery`.

        `paint` is (colors, values, ramp, scale), ti.ndarrays (N,) u32, (N,) f32 and (256,) vec3: where scale > 0 token i has the
        linear colour ramp[255 values[i] scale], else the sRGB word colors[i]. A token that is not finite is not drawn.
        """
        ball = min(radius * fit.radius, LARGEST)
        box = Box.around(fit, fit.radius + ball, self.size)
        count, r = tokens.shape[0], round(ball * UNIT)
        if box.width <= 0 or box.height <= 0:
            return
        self._reserve(count, box.width * box.height * PER_PIXEL)
        colors, values, ramp, scale = paint
        run = splat_kernels(self.packed)
        slope = FALL * DEPTHS / (fit.radius * UNIT * max(r, 1))
        look = Look(scale, r, fit.x, fit.y, fit.radius, box.x0, box.y0, box.x1, box.y1)
        self._clean = False  # an interrupt before the samples are empty again must not leave ghosts on the next picture
        run["place"](tokens, self._placed, ti.Matrix(basis.tolist(), ti.f32), fit.x - box.x0, fit.y - box.y0, fit.radius)
        run["nearest"](self._placed, self._best, self._ids, count, r, slope, box.width, box.height)
        if not self.packed:
            run["smallest"](self._placed, self._best, self._ids, count, r, slope, box.width, box.height)
        resolve_kernel(self.packed, ball <= DUST)(
            pixels,
            self._best,
            self._ids,
            self._placed,
            colors,
            values,
            ramp,
            veil,
            self._transfer.decode,
            self._transfer.encode,
            look,
        )
        self._clean = True

    def _reserve(self, count: int, samples: int) -> None:
        if samples > self._samples:
            self._best = ti.ndarray(ti.i64 if self.packed else ti.i32, samples)
            self._ids = ti.ndarray(ti.i32, 1 if self.packed else samples)
            self._samples, self._clean = samples, False
        if count > self._count:
            self._placed = ti.ndarray(tm.ivec3, count)
            self._count = count
        if not self._clean:
            splat_kernels(self.packed)["clear"](self._best, self._ids, self._samples)

    def release(self) -> None:
        """Free the buffers; drawing again would make new ones."""
        self._best = self._ids = self._placed = None
        self._samples = self._count = 0

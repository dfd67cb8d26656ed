"""The picture being made: one opaque 8-bit image, and how layers are put over it.

Pixels are sRGB-encoded. Row 0 is the top row; a pixel is one 32-bit word 0xAABBGGRR, so that on a little-endian machine the
bytes in memory read R, G, B, A. Alpha of a frame is always 255.
"""

import functools
from typing import Any

import numpy as np
import taichi as ti
from numpy.typing import NDArray

from render.palette import Color, pack
from sim.runtime import LANES

Layer = NDArray[np.uint32]
"""(h, w) words 0xAABBGGRR with premultiplied alpha: colour channels already multiplied by alpha, in sRGB-encoded bytes."""


class Frame:
    """A picture of `width` x `height` pixels in host memory. Everything that shows or stores pictures reads this."""

    def __init__(self, width: int, height: int, color: Color = (0, 0, 0)) -> None:
        if width < 1 or height < 1:
            raise ValueError(f"a frame needs at least one pixel, got {width} x {height}")
        self.width = width
        self.height = height
        self.pixels: NDArray[np.uint32] = np.empty((height, width), np.uint32)
        self.fill(color)

    @property
    def size(self) -> tuple[int, int]:
        """(width, height)"""
        return self.width, self.height

    @property
    def rgba(self) -> NDArray[np.uint8]:
        """(H, W, 4) uint8 R, G, B, A: a view, no copy."""
        return self.pixels.view(np.uint8).reshape(self.height, self.width, 4)

    def rgb(self, out: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
        """(H, W, 3) uint8, contiguous: a copy, into `out` where given (an encoder keeps one buffer for all frames)."""
        if out is None:
            out = np.empty((self.height, self.width, 3), np.uint8)
        if out.shape != (self.height, self.width, 3) or out.dtype != np.uint8 or not out.flags.c_contiguous:
            raise ValueError(f"out must be a contiguous uint8 array of shape {(self.height, self.width, 3)}")
        words, rest = divmod(self.width * self.height, 4)
        _kernels()["drop_alpha"](self.pixels.reshape(-1), out.reshape(-1)[: 12 * words].view(np.uint32), words)
        if rest:
            out.reshape(-1, 3)[4 * words :] = self.rgba.reshape(-1, 4)[4 * words :, :3]
        return out

    def fill(self, color: Color) -> None:
        """Paint every pixel in one opaque colour."""
        self.pixels.fill(pack(color))

    def copy(self) -> "Frame":
        """An independent frame with the same pixels."""
        twin = Frame(self.width, self.height)
        twin.pixels[:] = self.pixels
        return twin

    def paste(self, other: "Frame", x: int, y: int) -> None:
        """Copy another frame so that its top left pixel lands on column x, row y; what hangs over the border is cut off."""
        here, there = self._overlap(other.height, other.width, x, y)
        self.pixels[here] = other.pixels[there]

    def blend(self, layer: Layer, x: int = 0, y: int = 0) -> None:
        """Put a premultiplied layer over the picture, its top left pixel on column x, row y, clipped at the borders.

        Per channel out = min(255, layer + round(below * (255 - alpha) / 255)); so alpha 0 with a colour adds light.
        """
        if layer.ndim != 2 or layer.dtype != np.uint32:
            raise ValueError(f"a layer is a (h, w) uint32 array, got shape {layer.shape} of {layer.dtype}")
        (rows, columns), (top, left) = self._overlap(*layer.shape, x, y)
        height, width = rows.stop - rows.start, columns.stop - columns.start
        if height > 0 and width > 0:
            part = np.ascontiguousarray(layer)
            _kernels()["blend"](self.pixels, part, rows.start, columns.start, top.start, left.start, height, width)

    def _overlap(self, height: int, width: int, x: int, y: int) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
        """Rows and columns of this frame, and of a height x width block placed at (x, y), that lie on each other."""
        top, left = max(y, 0), max(x, 0)
        bottom, right = max(min(y + height, self.height), top), max(min(x + width, self.width), left)
        return (
            (slice(top, bottom), slice(left, right)),
            (slice(top - y, bottom - y), slice(left - x, right - x)),
        )


@functools.cache
def _kernels() -> dict[str, Any]:
    """Compiled on first use, not on import: Taichi may only be started by the program's entry points."""
    words_2d = ti.types.ndarray(dtype=ti.u32, ndim=2)
    words_1d = ti.types.ndarray(dtype=ti.u32, ndim=1)
    V = ti.types.vector(LANES, ti.u32)

    @ti.func
    def scaled(pair, by):  # type: ignore[no-untyped-def]
        """round(c * by / 255) for the two bytes c of 0x00c200c1 at once; exact for c, by <= 255."""
        t = pair * by + ti.u32(0x800080)
        return ((t + ((t >> 8) & ti.u32(0xFF00FF))) >> 8) & ti.u32(0xFF00FF)

    @ti.func
    def saturated(pair):  # type: ignore[no-untyped-def]
        """Two sums of two bytes each, cut off at 255."""
        carry = pair & ti.u32(0x1000100)
        return (pair | (carry - (carry >> 8))) & ti.u32(0xFF00FF)

    @ti.func
    def over(top, pixel):  # type: ignore[no-untyped-def]
        """One pixel, or a vector of them."""
        seen = 255 - (top >> 24)
        red_blue = (top & ti.u32(0xFF00FF)) + scaled(pixel & ti.u32(0xFF00FF), seen)
        green = ((top >> 8) & ti.u32(0xFF)) + scaled((pixel >> 8) & ti.u32(0xFF), seen)
        return saturated(red_blue) | (saturated(green) << 8) | ti.u32(0xFF000000)

    @ti.kernel
    def blend(below: words_2d, layer: words_2d, y: int, x: int, from_y: int, from_x: int, height: int, width: int):  # type: ignore[no-untyped-def]
        for i in range(height):
            for block in range(width // LANES):
                j = block * LANES
                top = V(0)
                pixel = V(0)
                for k in ti.static(range(LANES)):
                    top[k] = layer[from_y + i, from_x + j + k]
                    pixel[k] = below[y + i, x + j + k]
                if any(top != 0):  # most of a layer of type is empty
                    blended = over(top, pixel)  # a new name: Taichi 1.7.4 drops `pixel = over(top, pixel)` within an `if`
                    for k in ti.static(range(LANES)):
                        below[y + i, x + j + k] = blended[k]
            for j in range(width // LANES * LANES, width):
                below[y + i, x + j] = over(layer[from_y + i, from_x + j], below[y + i, x + j])

    @ti.kernel
    def drop_alpha(rgba: words_1d, rgb: words_1d, quads: int):  # type: ignore[no-untyped-def]
        for q in range(quads):  # four pixels RGBA are three words RGB RGB RGB RGB
            a, b, c, d = rgba[4 * q], rgba[4 * q + 1], rgba[4 * q + 2], rgba[4 * q + 3]
            rgb[3 * q] = (a & ti.u32(0xFFFFFF)) | (b << 24)
            rgb[3 * q + 1] = ((b >> 8) & ti.u32(0xFFFF)) | (c << 16)
            rgb[3 * q + 2] = ((c >> 16) & ti.u32(0xFF)) | (d << 8)

    return {"blend": blend, "drop_alpha": drop_alpha}

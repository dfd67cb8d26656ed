"""Which token is seen at every sample of the picture: the nearest ball wins, the smallest id breaks ties.

Everything that decides is integer arithmetic with integer atomics, so the answer does not depend on the order of threads. Where
64-bit atomics exist (CPU, CUDA) one pass takes the minimum of depth and id packed in one word; Vulkan and Metal take two passes
in 32 bits, nearest depth first, then the smallest id that has it. Both give the same ids.

Lengths on the picture are counted in sixteenths of a pixel. A ball's surface is taken as a paraboloid,
depth(d) = tip + FALL d^2 / r, so that two balls of one size meet along a straight line, as spheres do.
"""

import functools
from typing import Any

import taichi as ti
import taichi.math as tm

UNIT = 16  # lengths per pixel
SAMPLES = ((-2, -6), (6, -2), (-6, 2), (2, 6))  # offsets from a pixel's centre: no two share a row or a column
PER_PIXEL = len(SAMPLES)
LAST = UNIT // 2 + max(max(offset) for offset in SAMPLES)  # of a pixel's samples, along a row or a column
LARGEST = 1800  # pixels of radius: the square of a distance must fit in 31 bits
DEPTHS = 2**28  # depth steps per radius of the sphere; depth 0 is 1.5 radii in front of its centre
FALL = 0.75  # a sphere's rim lies 1 r below its tip, its osculating paraboloid's 1/2 r
EMPTY = 2**31 - 1  # id and depth of a sample that no token covers
NOWHERE = -(2**24)  # where a token that is not finite is put: it covers no sample

mat3 = ti.types.matrix(3, 3, ti.f32)
triples = ti.types.ndarray(dtype=tm.ivec3, ndim=1)
vectors = ti.types.ndarray(dtype=tm.vec3, ndim=1)


@functools.cache
def splat_kernels(packed: bool) -> dict[str, Any]:
    """Compiled on first use, for all scenes. `best` holds i64 words (depth, id) where packed, else i32 depths beside `ids`."""
    Word = ti.i64 if packed else ti.i32
    words = ti.types.ndarray(dtype=Word, ndim=1)
    ints = ti.types.ndarray(dtype=ti.i32, ndim=1)

    @ti.func
    def word(depth: ti.i32, i: ti.i32) -> Word:
        result = ti.cast(depth, Word)
        if ti.static(packed):
            result = (result << 32) | ti.cast(i, Word)
        return result

    @ti.func
    def first_pixel(low: ti.i32) -> ti.i32:
        """The first pixel with a sample at or after `low`."""
        return ti.max((low + UNIT - 1 - LAST) >> 4, 0)

    @ti.func
    def visit(
        i: ti.i32,
        placed: ti.template(),
        best: ti.template(),
        ids: ti.template(),
        r: ti.i32,
        slope: ti.f32,
        width: ti.i32,
        height: ti.i32,
        name_ids: ti.template(),
    ):  # type: ignore[no-untyped-def]
        """Every sample that ball i covers: lower its depth (and id), or, in the second pass, only its id."""
        c = placed[i]
        for row in range(first_pixel(c.y - r), ti.min(((c.y + r) >> 4) + 1, height)):
            for column in range(first_pixel(c.x - r), ti.min(((c.x + r) >> 4) + 1, width)):
                for s in ti.static(range(PER_PIXEL)):
                    dx = column * UNIT + (UNIT // 2 + SAMPLES[s][0]) - c.x
                    dy = row * UNIT + (UNIT // 2 + SAMPLES[s][1]) - c.y
                    d2 = dx * dx + dy * dy
                    if d2 <= r * r:
                        mine = word(c.z + ti.cast(ti.cast(d2, ti.f32) * slope, ti.i32), i)
                        at = (row * width + column) * PER_PIXEL + s
                        if ti.static(name_ids):
                            if mine == best[at]:
                                ti.atomic_min(ids[at], i)
                        elif mine < best[at]:
                            ti.atomic_min(best[at], mine)

    @ti.kernel
    def clear(best: words, ids: ints, count: int):  # type: ignore[no-untyped-def]
        for at in range(count):
            best[at] = word(EMPTY, EMPTY)
            if ti.static(not packed):
                ids[at] = EMPTY

    @ti.kernel
    def place(tokens: vectors, placed: triples, camera: mat3, cx: ti.f32, cy: ti.f32, radius: ti.f32):  # type: ignore[no-untyped-def]
        for i in range(tokens.shape[0]):
            p = camera @ tokens[i]
            if any(tm.isnan(p)) or any(tm.isinf(p)):
                placed[i] = tm.ivec3(NOWHERE, NOWHERE, 0)
            else:
                q = tm.clamp(p, -1.3, 1.3)
                x, y = ti.floor((cx + q.x * radius) * UNIT + 0.5), ti.floor((cy - q.y * radius) * UNIT + 0.5)
                placed[i] = tm.ivec3(ti.cast(x, ti.i32), ti.cast(y, ti.i32), ti.cast((1.5 - q.z) * DEPTHS, ti.i32))

    @ti.kernel
    def nearest(placed: triples, best: words, ids: ints, count: int, r: int, slope: ti.f32, width: int, height: int):  # type: ignore[no-untyped-def]
        for i in range(count):
            visit(i, placed, best, ids, r, slope, width, height, False)

    @ti.kernel
    def smallest(placed: triples, best: words, ids: ints, count: int, r: int, slope: ti.f32, width: int, height: int):  # type: ignore[no-untyped-def]
        for i in range(count):
            visit(i, placed, best, ids, r, slope, width, height, True)

    return {"clear": clear, "place": place, "nearest": nearest, "smallest": smallest}

"""From the ids at the samples to pixels: colours, light, haze and glass, averaged in linear light.

Balls are shaded once per pixel and token. Dust, tokens so small that a ball's shape cannot be seen, has its colours averaged
first, near side and far side apart, and is shaded as part of the sphere's surface. Both kernels leave the samples empty for the
next picture.
"""

import functools
from typing import Any

import taichi as ti
import taichi.math as tm

from render.shading import ball, decoded, encoded, sunk
from render.splat import DEPTHS, EMPTY, PER_PIXEL, UNIT, triples, vectors

DUST = 0.9  # pixels of radius up to which tokens are dust

floats = ti.types.ndarray(dtype=ti.f32, ndim=1)
Look = ti.types.struct(scale=ti.f32, r=ti.i32, cx=ti.f32, cy=ti.f32, radius=ti.f32, x0=ti.i32, y0=ti.i32, x1=ti.i32, y1=ti.i32)
"""Colour scale (see `Raster.draw`), a ball's radius in units, the globe's centre and radius and the box in pixels."""


@functools.cache
def resolve_kernel(packed: bool, dust: bool) -> Any:
    """The kernel for balls or for dust, compiled on first use. `packed` as in `render.splat`."""
    Word = ti.i64 if packed else ti.i32

    @ti.func
    def id_at(best: ti.template(), ids: ti.template(), at: ti.i32) -> ti.i32:
        return ti.cast(best[at] & ti.cast(EMPTY, Word), ti.i32) if ti.static(packed) else ids[at]

    @ti.func
    def depth_at(best: ti.template(), at: ti.i32) -> ti.f32:
        """Depth towards the eye in radii of the sphere."""
        steps = best[at]
        if ti.static(packed):
            steps = steps >> 32
        return 1.5 - ti.cast(ti.cast(steps, ti.i32), ti.f32) / DEPTHS

    @ti.func
    def empty(best: ti.template(), ids: ti.template(), at: ti.i32):  # type: ignore[no-untyped-def]
        if ti.static(packed):
            best[at] = (ti.cast(EMPTY, Word) << 32) | ti.cast(EMPTY, Word)
        else:
            best[at] = EMPTY
            ids[at] = EMPTY

    @ti.func
    def color_of(
        i: ti.i32, colors: ti.template(), values: ti.template(), ramp: ti.template(), scale: ti.f32, decode: ti.template()
    ) -> tm.vec3:
        color = tm.vec3(0.0)
        if scale > 0.0:
            color = ramp[ti.cast(tm.clamp(values[i] * scale, 0.0, 1.0) * 255.0 + 0.5, ti.i32)]
        else:
            color = decoded(colors[i], decode)
        return color

    @ti.func
    def through(token: tm.vec3, z: ti.f32, veil: tm.vec4) -> tm.vec3:
        """A token's light behind the globe's front; at the rim the glass closes over it bit by bit."""
        closed = tm.smoothstep(0.0, 0.2, -z)
        return token * (1.0 - closed * veil.w) + closed * veil.xyz

    @ti.func
    def ball_at(i: ti.i32, x: ti.i32, y: ti.i32, placed: ti.template(), color: tm.vec3, veil: tm.vec4, look: Look) -> tm.vec3:
        """The light of token i at (x, y), in units within the box."""
        c, reach, pixels = placed[i], ti.cast(ti.max(look.r, 1), ti.f32), ti.cast(look.r, ti.f32) / UNIT
        b = tm.vec2(ti.cast(x - c.x, ti.f32), ti.cast(c.y - y, ti.f32)) / reach
        bump = tm.vec3(b, ti.sqrt(ti.max(1.0 - tm.dot(b, b), 0.0)))
        centre = tm.vec2(ti.cast(c.x, ti.f32) / UNIT + look.x0 - look.cx, look.cy - look.y0 - ti.cast(c.y, ti.f32) / UNIT)
        place = tm.vec3(centre / look.radius, 1.5 - ti.cast(c.z, ti.f32) / DEPTHS)
        lit = ball(color, bump, place, tm.smoothstep(DUST, 3.0, pixels), tm.smoothstep(1.5, 5.0, pixels))
        return through(sunk(lit, place.z), place.z, veil)

    @ti.func
    def surface_at(color: tm.vec3, u: ti.f32, v: ti.f32, side: ti.f32, veil: tm.vec4) -> tm.vec3:
        """The light of dust seen at (u, v) on the near (side 1) or far (-1) half of the sphere."""
        place = tm.vec3(u, v, side * ti.sqrt(ti.max(1.0 - u * u - v * v, 0.0)))
        return through(sunk(ball(color, place, place, 0.0, 0.0), place.z), place.z, veil)

    @ti.kernel
    def resolve(
        pixels: ti.types.ndarray(dtype=ti.u32, ndim=2),
        best: ti.types.ndarray(dtype=Word, ndim=1),
        ids: ti.types.ndarray(dtype=ti.i32, ndim=1),
        placed: triples,
        colors: ti.types.ndarray(dtype=ti.u32, ndim=1),
        values: floats,
        ramp: vectors,
        veil: ti.types.ndarray(dtype=tm.vec4, ndim=2),
        decode: floats,
        encode: floats,
        look: Look,
    ):  # type: ignore[no-untyped-def]
        for row in range(look.y0, look.y1):
            for column in range(look.x0, look.x1):
                at = ((row - look.y0) * (look.x1 - look.x0) + column - look.x0) * PER_PIXEL
                seen = tm.ivec4(EMPTY)
                for s in ti.static(range(PER_PIXEL)):
                    seen[s] = id_at(best, ids, at + s)
                if seen.min() != EMPTY:
                    behind, front = decoded(pixels[row, column], decode), veil[row, column]
                    total = tm.vec3(0.0)
                    if ti.static(dust):
                        near, far, sum_near, sum_far = 0.0, 0.0, tm.vec3(0.0), tm.vec3(0.0)
                        for s in ti.static(range(PER_PIXEL)):
                            if seen[s] != EMPTY:
                                color = color_of(seen[s], colors, values, ramp, look.scale, decode)
                                if depth_at(best, at + s) > 0.0:
                                    near += 1.0
                                    sum_near += color
                                else:
                                    far += 1.0
                                    sum_far += color
                                empty(best, ids, at + s)
                        u, v = (column + 0.5 - look.cx) / look.radius, (look.cy - row - 0.5) / look.radius
                        total = behind * (PER_PIXEL - near - far)
                        if near > 0.0:
                            total += near * surface_at(sum_near / near, u, v, 1.0, front)
                        if far > 0.0:
                            total += far * surface_at(sum_far / far, u, v, -1.0, front)
                    else:
                        light, last = behind, EMPTY
                        x, y = (column - look.x0) * UNIT + UNIT // 2, (row - look.y0) * UNIT + UNIT // 2
                        for s in ti.static(range(PER_PIXEL)):
                            if seen[s] != last:
                                if seen[s] == EMPTY:
                                    light = behind
                                else:
                                    color = color_of(seen[s], colors, values, ramp, look.scale, decode)
                                    light = ball_at(seen[s], x, y, placed, color, front, look)
                            if seen[s] != EMPTY:
                                empty(best, ids, at + s)
                            last = seen[s]
                            total += light
                    pixels[row, column] = encoded(total / PER_PIXEL, 0.5, encode)

    return resolve

"""The kernel behind `render.scenery`: every pixel of background, globe, graticule and axis, by closed forms.

Lines are drawn by their distance in pixels, to first order: how far a coordinate is from the line's value, over the length of its
gradient on the picture. Most pixels are near no line, and find that out without a division or a root.
"""

import functools
from typing import Any

import taichi as ti
import taichi.math as tm

from render.shading import GLASS_LIGHT, HALFWAY, LIGHT, LINE, SKY, SKY_CENTRE, encoded

REACH = 1.16  # everything lies within this many radii: the axis sticks out a little
NEAR, FAR = 0.42, 0.16  # how strongly lines are drawn in front of the globe and behind it
FINE, STRONG = 0.35, 0.65  # half widths in pixels, at 900 pixels of height; equator and prime meridian are the strong ones

mat3 = ti.types.matrix(3, 3, ti.f32)


@ti.func
def drawn(offset2: ti.f32, slope2: ti.f32, half_width: ti.f32) -> ti.f32:
    """How much of a pixel a line covers. `offset2` is the squared offset of a coordinate from the line's value, `slope2` the
    squared length of its gradient per pixel: their ratio is the squared distance to the line in pixels."""
    covered, reach = 0.0, half_width + 0.5
    if offset2 < reach * reach * slope2:
        covered = ti.min(reach - ti.sqrt(offset2 / slope2), 1.0)
    return covered


@ti.func
def graticule(u: ti.f32, v: ti.f32, z: ti.f32, camera: mat3, radius: ti.f32, width: ti.f32) -> ti.f32:
    """Coverage 0..1 by meridians and parallels, 30 degrees apart, of the point of the unit sphere seen at (u, v) with depth z.

    Gradients come times z and longitudes times powers of rho, the distance from the axis, so that nothing is divided.
    """
    px = camera[0, 0] * u + camera[1, 0] * v + camera[2, 0] * z
    py = camera[0, 1] * u + camera[1, 1] * v + camera[2, 1] * z
    height = ti.abs(camera[1, 2] * v + camera[2, 2] * z)  # the picture's right has no z
    climb_u, climb_v = camera[2, 2] * u, camera[1, 2] * z - camera[2, 2] * v
    slope2 = climb_u * climb_u + climb_v * climb_v
    scale2 = radius * radius * z * z
    turn_u = px * (camera[0, 1] * z - camera[2, 1] * u) - py * (camera[0, 0] * z - camera[2, 0] * u)
    turn_v = px * (camera[1, 1] * z - camera[2, 1] * v) - py * (camera[1, 0] * z - camera[2, 0] * v)
    turn2 = turn_u * turn_u + turn_v * turn_v  # (rho^2 z)^2 times that of the longitude
    rho2 = px * px + py * py
    cosine, sine = px * px - py * py, 2.0 * px * py
    sine6 = sine * (3.0 * cosine * cosine - sine * sine) / 6.0  # rho^6 sin(6 longitude) / 6
    fine = drawn((height - 0.5) ** 2 * scale2, slope2, FINE * width)
    fine = ti.max(fine, drawn((height - 0.8660254) ** 2 * scale2, slope2, FINE * width))
    strong = drawn(height * height * scale2, slope2, STRONG * width)
    meridian = drawn(sine6 * sine6 * scale2, turn2 * rho2 * rho2 * rho2 * rho2, FINE * width)
    prime = 0.0
    if px > 0.0:
        prime = drawn(py * py * scale2, turn2 / ti.max(rho2, 1e-9), STRONG * width)
    covered = 0.0
    if fine + strong + meridian + prime > 0.0:
        ends = tm.smoothstep(0.02, 0.2, rho2)  # meridians fade before they crowd at the poles
        covered = ti.max(0.5 * ti.max(fine, meridian * ends), ti.max(strong, prime * ends))
        covered *= tm.smoothstep(0.02, 0.3, ti.abs(z))  # and all lines before they crowd at the rim
    return covered


@ti.func
def axis(u: ti.f32, v: ti.f32, camera: mat3, radius: ti.f32, width: ti.f32) -> tm.vec2:
    """Coverage by the z axis where it sticks out of the sphere: (towards the eye, away from it).

    The pole s z, s = 1 or -1, is seen at (0, s up_z), and s eye_z is its depth towards the eye.
    """
    up_z, eye_z = camera[1, 2], camera[2, 2]
    result = tm.vec2(0.0, 0.0)
    if ti.abs(v) >= ti.abs(up_z) and ti.abs(v) <= REACH * ti.abs(up_z):
        line = drawn(u * u * radius * radius, 1.0, 0.7 * width)
        if v * up_z * eye_z > 0.0:
            result.x = line
        else:
            result.y = line
    return result


@ti.func
def glass(n: tm.vec3) -> tm.vec4:
    """The front of the empty globe, premultiplied: nearly clear in the middle, milky at the rim, lit from the upper left."""
    rim = (1.0 - n.z) ** 3
    lit = 0.5 + 0.5 * tm.dot(n, LIGHT)
    shine = ti.max(tm.dot(n, HALFWAY), 0.0) ** 16
    return tm.vec4(GLASS_LIGHT * (0.016 + lit * lit * (0.012 + 0.11 * rim) + 0.02 * shine), 0.05 + 0.30 * rim)


@ti.func
def texel(u: ti.f32, v: ti.f32, z: ti.f32, camera: mat3, texture: ti.template()) -> ti.f32:
    """A texture of `render.cube` at the point of the sphere seen at (u, v) with depth z, linear within its cells."""
    x = camera[0, 0] * u + camera[1, 0] * v + camera[2, 0] * z
    y = camera[0, 1] * u + camera[1, 1] * v + camera[2, 1] * z
    w = camera[1, 2] * v + camera[2, 2] * z
    face, along, t, r = 0, x, y, w
    if ti.abs(y) > ti.abs(x) and ti.abs(y) >= ti.abs(w):
        face, along, t, r = 2, y, w, x
    elif ti.abs(w) > ti.abs(x):
        face, along, t, r = 4, w, x, y
    if along < 0.0:
        face += 1
    cells = texture.shape[1] - 1
    at = tm.clamp((tm.vec2(t, r) / ti.abs(along) + 1.0) * (0.5 * cells), 0.0, ti.cast(cells, ti.f32))
    i = ti.min(ti.cast(at, ti.i32), cells - 1)
    f = at - ti.cast(i, ti.f32)
    near = tm.mix(texture[face, i.x, i.y], texture[face, i.x, i.y + 1], f.y)
    return tm.mix(near, tm.mix(texture[face, i.x + 1, i.y], texture[face, i.x + 1, i.y + 1], f.y), f.x)


@ti.func
def coat(n: tm.vec3, share: ti.f32, ramp: ti.template()) -> tm.vec4:
    """The painted front at `share` 0..1 of its scale, opaque, in nearly flat light, so that the colour bar can be trusted."""
    at = tm.clamp(share, 0.0, 1.0) * 255.0
    i = ti.min(ti.cast(at, ti.i32), 254)
    color = tm.mix(ramp[i], ramp[i + 1], at - ti.cast(i, ti.f32))
    lit = 0.5 + 0.5 * tm.dot(n, LIGHT)
    return tm.vec4(color * (0.82 + 0.18 * lit), 1.0)


@ti.func
def noise(x: ti.i32, y: ti.i32) -> ti.f32:
    """Interleaved gradient noise (J. Jimenez, 2014) on 0..1: dithers away the bands of slow dark gradients."""
    return tm.fract(52.9829189 * tm.fract(0.06711056 * x + 0.00583715 * y))


@functools.cache
def scenery_kernel() -> Any:
    """Compiled on first use."""

    @ti.kernel
    def scenery(
        picture: ti.types.ndarray(dtype=ti.u32, ndim=2),
        veil: ti.types.ndarray(dtype=tm.vec4, ndim=2),
        encode: ti.types.ndarray(dtype=ti.f32, ndim=1),
        camera: mat3,
        cx: ti.f32,
        cy: ti.f32,
        radius: ti.f32,
        x0: int,
        y0: int,
        x1: int,
        y1: int,
        globe: int,
        lines: int,
        width: ti.f32,
        painted: int,
        texture: ti.types.ndarray(dtype=ti.f32, ndim=3),
        ramp: ti.types.ndarray(dtype=tm.vec3, ndim=1),
        low: ti.f32,
        scale: ti.f32,
    ):  # type: ignore[no-untyped-def]
        for row in range(y0, y1):
            for column in range(x0, x1):
                u, v = (column + 0.5 - cx) / radius, (cy - row - 0.5) / radius
                r2 = u * u + v * v
                front, line, far = tm.vec4(0.0), 0.0, 0.0
                if lines != 0:
                    sticks = axis(u, v, camera, radius, width)
                    line, far = sticks.x, sticks.y
                inside = tm.clamp((1.0 - ti.sqrt(r2)) * radius + 0.5, 0.0, 1.0)
                if inside > 0.0:
                    z = ti.sqrt(ti.max(1.0 - r2, 1e-4))
                    if painted != 0:
                        share = (texel(u, v, z, camera, texture) - low) * scale
                        front = coat(tm.vec3(u, v, z), share, ramp) * inside
                    elif globe != 0:
                        front = glass(tm.vec3(u, v, z)) * inside
                    if lines != 0:
                        line = ti.max(line, inside * graticule(u, v, z, camera, radius, width))
                        far = ti.max(far, inside * graticule(u, v, -z, camera, radius, width))
                t = ti.max(1.0 - r2 / 4.4, 0.0)
                behind = tm.mix(tm.mix(SKY, SKY_CENTRE, t * t), LINE, FAR * far)
                front = front * (1.0 - NEAR * line) + tm.vec4(LINE, 1.0) * (NEAR * line)
                veil[row, column] = front
                picture[row, column] = encoded(front.xyz + behind * (1.0 - front.w), noise(column, row), encode)

    return scenery

"""What light does on the globe: Taichi functions that the rasteriser and the scenery share. Colours are linear light.

Directions are in the camera's frame: x right, y up, z towards the eye. One soft key light from the upper left, one highlight.
"""

import taichi as ti
import taichi.math as tm

from render.palette import BACKGROUND, GLASS, rgb, to_linear

LIGHT = tm.vec3(-0.42, 0.58, 0.70).normalized()
HALFWAY = (LIGHT + tm.vec3(0, 0, 1)).normalized()  # between the light and the eye: a highlight is where the normal points here

SKY = tm.vec3(*to_linear(BACKGROUND))
SKY_CENTRE = tm.vec3(*to_linear(rgb("#141a27")))  # the background is a little lighter behind the globe
HAZE = tm.vec3(*to_linear(rgb("#1c2738")))  # what far tokens sink into
LINE = tm.vec3(*to_linear(rgb("#a9bedd")))
GLASS_LIGHT = tm.vec3(*to_linear(GLASS))

VEILED = 0.26  # how far the haze has closed over a token just behind the rim
FAR = 0.60  # and over one at the very back
ENCODE_STEPS = 4095


@ti.func
def ball(color: tm.vec3, bump: tm.vec3, place: tm.vec3, detail: ti.f32, gloss: ti.f32) -> tm.vec3:
    """A token's colour at one point: `bump` is the ball's normal there, `place` where the token sits on the sphere.

    `detail` 1 shades the ball itself, 0 only the sphere it sits on, and `gloss` is how strong its highlight is: balls of a pixel
    or two would make noise of either.
    """
    n = tm.mix(place, bump, detail)
    wrapped = 0.5 + 0.5 * tm.dot(n, LIGHT)  # half-Lambert: no black side
    occluded = 1.0 - 0.45 * detail * (1.0 - bump.z) * (1.0 - bump.z)  # rims darken where balls touch
    shine = ti.max(tm.dot(bump, HALFWAY), 0.0)
    for _ in ti.static(range(5)):
        shine = shine * shine  # to the 32nd power
    across = 0.86 + 0.14 * tm.dot(place, LIGHT)  # the whole cloud is lit as one body
    return color * ((0.40 + 0.68 * wrapped * wrapped) * occluded * across) + 0.30 * gloss * shine


@ti.func
def sunk(color: tm.vec3, depth: ti.f32) -> tm.vec3:
    """Depth along the line of sight, +1 nearest, -1 farthest: the front keeps its colours, the back sinks into the haze."""
    slanted = 1.0 - ti.abs(depth)
    haze = VEILED * tm.smoothstep(0.0, 0.25, -depth) + (FAR - VEILED) * tm.smoothstep(0.0, 1.0, -depth)
    return tm.mix(color * (1.0 - 0.16 * slanted * slanted), HAZE, haze)


@ti.func
def encoded(light: tm.vec3, dither: ti.f32, encode: ti.template()) -> ti.u32:
    """Linear light -> opaque word; `dither` in 0..1 decides how fractions of a level are rounded (0.5 to the nearest)."""
    word = ti.u32(0xFF000000)
    for c in ti.static(range(3)):
        level = encode[ti.cast(tm.clamp(light[c], 0.0, 1.0) * ENCODE_STEPS + 0.5, ti.i32)]
        word |= ti.min(ti.cast(level + dither, ti.u32), ti.u32(255)) << (8 * c)
    return word


@ti.func
def decoded(word: ti.u32, decode: ti.template()) -> tm.vec3:
    """A word's colour in linear light."""
    light = tm.vec3(0.0)
    for c in ti.static(range(3)):
        light[c] = decode[ti.cast((word >> (8 * c)) & 255, ti.i32)]
    return light

"""The start of every grid point: (a, b) and mu from the place in the picture, as in `axes.py`, in the kernel's precision.

A point that has no start is given one that has escaped before the first step, with a mu that nothing else has, NOWHERE: no
orbit kernel need know of it, and no NaN enters one.
"""

import functools
import math
from typing import Any

import taichi as ti

from sim.literals import constant, pieces
from sim.runtime import real_type

NOWHERE = 2.0**40
"""The mu of a point without a start; exact in every precision, and far beyond MAX_MU."""
MAX_MU = 1e6  # beyond it the Cantor set of bounded orbits on the balanced line nears the escape radius
MAX_START = 1e15  # its square is finite in f32; a start beyond has escaped all the same
FIXED = 5  # mu, x, w, g, y of `axes.Fixed`


@functools.cache
def kernel(precision: str) -> Any:
    """The kernel that fills the grids of a, b, mu in "f32" or "f64". The kind of axes is an argument: nothing recompiles."""
    real = real_type(precision)
    reals = ti.types.ndarray(dtype=real, ndim=2)
    pair, five, shape_type = ti.types.vector(2, real), ti.types.vector(FIXED, real), ti.types.vector(2, ti.i32)
    tall = pieces(math.sqrt(3) / 2)

    @ti.kernel
    def starts(
        shape: shape_type, center: pair, half: real, code: ti.i32, fixed: five, a_of: reals, b_of: reals, mu_of: reals
    ):  # fmt: skip
        """x = cx + (2 col + 1 - W) pixel/2 and y = cy + (H - 1 - 2 row) pixel/2: symmetric to the bit about a centre at 0."""
        for row, column in a_of:
            x = center[0] + half * ti.cast(2 * column + 1 - shape[1], real)
            y = center[1] + half * ti.cast(shape[0] - 1 - 2 * row, real)
            zero, two = ti.cast(0, real), ti.cast(2, real)
            a, b, mu, exists = x, y, fixed[0], True
            if code == 1:
                s2 = 4 * (x + fixed[0]) + y * y
                exists = s2 >= zero
                s = ti.sqrt(ti.max(s2, zero))
                a, b = (s + y) / 2, (s - y) / 2
            elif code == 2:
                z = y / constant(real, tall)
                first, second = (1 - z) / 2 - x, (1 - z) / 2 + x
                exists = (first >= zero) & (second >= zero) & (ti.abs(fixed[0]) < two)
                s = ti.sqrt(ti.max(4 * (2 + fixed[0]) * first, zero))
                w = ti.sqrt(ti.max(4 * (2 - fixed[0]) * second, zero))
                a, b = (s + w) / 2, (s - w) / 2
            elif code == 3:
                a, b, mu = y + fixed[2] / 2, y - fixed[2] / 2, x
            elif code == 4:
                a, b, mu = fixed[1] + y / 2, fixed[1] - y / 2, x
            elif code == 5:
                exists = x >= zero
                c = fixed[3] * ti.sqrt(ti.max(x, zero))
                a, b, mu = c * (y + fixed[2] / 2), c * (y - fixed[2] / 2), x * fixed[3] * fixed[4]
            exists = exists & (ti.abs(mu) <= ti.cast(MAX_MU, real))
            far = ti.cast(MAX_START, real)
            a_of[row, column] = ti.select(exists, ti.min(ti.max(a, -far), far), far)
            b_of[row, column] = ti.select(exists, ti.min(ti.max(b, -far), far), zero)
            mu_of[row, column] = ti.select(exists, mu, ti.cast(NOWHERE, real))

    return starts

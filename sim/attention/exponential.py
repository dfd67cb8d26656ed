"""exp of a vector, lane by lane and without a call: `ti.exp` would keep a lane-packed loop scalar.

Two ways: `small_exp` by squaring, for exponents that stay small, and `vector_exp` for the whole range, at 0.6 of its speed.
"""

import functools
import math
from typing import Any

import numpy as np
import taichi as ti

from sim import runtime
from sim.literals import constant, pieces

SMALL = 16.0  # largest |x| of `small_exp`
EXTENT = {"f32": 87, "f64": 700}  # arguments beyond +- this count as this


@functools.cache
def vector_exp(precision: str, lanes: int) -> Any:
    """A ti.func of a ti vector: exp(x) = 2^k exp(f), f within half a binade of 0, 2^k written straight into the exponent bits.

    Relative error up to 1.5 (|x| + 6) half units in the last place, since fast math joins the two parts of ln 2. Arguments
    beyond +-EXTENT count as that.
    """
    real = runtime.real_type(precision)
    integer, mantissa, bias = (ti.i32, 23, 127) if precision == "f32" else (ti.i64, 52, 1023)
    degree, extent = (6 if precision == "f32" else 12), EXTENT[precision]
    vector = ti.types.vector(lanes, real)
    factorials = [math.factorial(n) for n in range(degree + 1)]
    # ln 2 in two parts: k times the first is exact, since it has nine bits
    coarse = 355 / 512
    inverse, fine = pieces(1 / math.log(2)), pieces(float(np.log(np.longdouble(2)) - np.longdouble(coarse)))

    @ti.func
    def exp(x):
        one = ti.cast(1, real)
        y = ti.min(ti.max(x, ti.cast(-extent, real)), ti.cast(extent, real))
        k = ti.floor(y * constant(real, inverse) + one / 2)
        f = y - k * ti.cast(coarse, real) - k * constant(real, fine)
        p = vector(one / ti.cast(factorials[degree], real))
        for n in ti.static(range(degree - 1, -1, -1)):
            p = p * f + one / ti.cast(factorials[n], real)
        binade = vector(0)
        for lane in ti.static(range(lanes)):
            binade[lane] = ti.bit_cast((ti.cast(k[lane], integer) + bias) << mantissa, real)
        return p * binade

    return exp


@functools.cache
def small_exp(precision: str, lanes: int) -> Any:
    """A ti.func of a ti vector: exp(x) for |x| <= SMALL, as the 64th power of a polynomial in x/64.

    Relative error 1e-6 (f32) and 2e-15 (f64) for |x| <= 6, four times that at SMALL. The first three of six squarings are of
    u = exp - 1, u <- u (u + 2): squaring exp itself would double the rounding of numbers near 1 six times over.
    """
    real = runtime.real_type(precision)
    vector = ti.types.vector(lanes, real)
    degree = 6 if precision == "f32" else 12
    factorials = [math.factorial(n) for n in range(degree + 1)]

    @ti.func
    def exp(x):
        one = ti.cast(1, real)
        y = x * (one / 64)
        p = vector(one / ti.cast(factorials[degree], real))
        for n in ti.static(range(degree - 1, 0, -1)):
            p = p * y + one / ti.cast(factorials[n], real)
        u = p * y
        for _ in ti.static(range(3)):
            u = u * (u + 2)
        power = u + one
        for _ in ti.static(range(3)):
            power = power * power
        return power

    return exp

"""exp of a vector, lane by lane and without a call: `ti.exp` would keep a lane-packed loop scalar.

Two ways: `small_exp` by squaring, for exponents that stay small, and `vector_exp` for the whole range, at half its speed.
"""

import functools
import math
from typing import Any

import numpy as np
import taichi as ti
from numpy.polynomial import Chebyshev, Polynomial

from sim import runtime
from sim.literals import constant, pieces

REACH = 0.5  # largest |y| of `small_exp`: a polynomial of degree 7 is exact to f32 there
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
def small_exp(precision: str, lanes: int, squarings: int) -> Any:
    """A ti.func of a ti vector y: exp(2^squarings y) for |y| <= REACH, the power of a polynomial.

    The argument comes scaled because its owner can fold the factor in for nothing. Relative error up to 10 * 2^squarings half
    units in the last place at the ends of the range, and a few half units about 0: the first squarings are of u = exp - 1,
    u <- u (u + 2), since squaring exp itself would double the rounding of numbers near 1 each time.
    """
    real = runtime.real_type(precision)
    vector = ti.types.vector(lanes, real)
    p = [pieces(c) for c in _expm1_over_y(precision)]
    gentle = (squarings + 1) // 2

    @ti.func
    def exp(y):
        polynomial = vector(constant(real, p[-1]))
        for n in ti.static(range(len(p) - 2, -1, -1)):
            polynomial = polynomial * y + constant(real, p[n])
        u = polynomial * y
        for _ in ti.static(range(gentle)):
            u = u * (u + 2)
        power = u + 1
        for _ in ti.static(range(squarings - gentle)):
            power = power * power
        return power

    return exp


def _expm1_over_y(precision: str) -> list[float]:
    """Coefficients of (exp(y) - 1)/y on |y| <= REACH, lowest power first: Taylor's, and for f32 fewer, by Chebyshev's economy."""
    taylor = [1 / math.factorial(n + 1) for n in range(14)]
    if precision == "f64":
        return taylor
    series = Polynomial(taylor).convert(kind=Chebyshev, domain=[-REACH, REACH]).truncate(7)
    return [float(c) for c in series.convert(kind=Polynomial).coef]

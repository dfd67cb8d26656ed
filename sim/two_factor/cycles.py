"""Which attracting cycle an orbit has come to, and in which phase: a Taichi kernel that goes on from where the sweep stopped.

A cycle of period p is reported when three things hold. The state returns after p steps to within 1/RETURN of where it was,
and p is the first such number for which the cycle attracts: both multipliers of the p steps, from the orbit's own Jacobians,
are below (1 - DECIDED/k)^p in size, k the steps taken so far, so that the past k steps shrank an error by e^DECIDED at least.
At a bifurcation they did not: orbits creep in like 1/sqrt(k) there, or 1/k, which is the rate 3/(2k) or 2/k a step, and the
answer is "none" rather than a false period. Last, it comes back every p steps for CHECK_STEPS more, which a chaotic orbit
that happened to pass twice does not.
"""

import functools
from typing import Any, NamedTuple

import taichi as ti

from sim.runtime import real_type
from sim.two_factor.orbits import NEAR2
from sim.two_factor.phi import ti_error, ti_phi, ti_sharpness, ti_tangent

MAX_PERIOD = 64
RETURN = 16384  # a state has returned when it is nearer than 1/RETURN: hundreds of roundings of f32
DECIDED = 6
CHECK_STEPS = 3 * MAX_PERIOD
LARGE = 1e15  # tangents are cut off there, which no attracting cycle of 64 steps comes near


class Kernels(NamedTuple):
    """The compiled kernel of one precision and packing, and the points that one turn of it covers."""

    group: tuple[int, int]
    cycle: Any


@functools.cache
def kernels(precision: str, lanes: int) -> Kernels:
    """The kernel for "f32" or "f64", `lanes` points side by side packed into one vector."""
    real = real_type(precision)
    reals, ints = ti.types.ndarray(dtype=real, ndim=2), ti.types.ndarray(dtype=ti.i32, ndim=2)
    shape_type = ti.types.vector(2, ti.i32)
    v, m = ti.types.vector(lanes, real), ti.types.vector(lanes, ti.i32)

    @ti.func
    def cut(x):
        return ti.min(ti.max(x, ti.cast(-LARGE, real)), ti.cast(LARGE, real))

    @ti.kernel
    def cycle(
        groups: shape_type, units: ti.i32, mus: reals, end_a: reals, end_b: reals, steps: ints, period: ints, phase: ints
    ):  # fmt: skip
        """The period, 0 where none up to MAX_PERIOD attracts; the phase, 0 to period - 1: the time, counted modulo the period
        from the grid point on, at which the cycle is furthest out along s = a + sgn(mu) b (along -s where s < 0 always)."""
        for group in range(groups[0], groups[1]):
            row, column0 = group // units, (group % units) * lanes
            a, b, mu, k = v(0), v(0), v(0), m(0)
            for lane in ti.static(range(lanes)):
                a[lane] = end_a[row, column0 + lane]
                b[lane] = end_b[row, column0 + lane]
                mu[lane] = mus[row, column0 + lane]
                k[lane] = steps[row, column0 + lane]
            one = ti.cast(1, real)
            slowest = 1 - DECIDED / ti.cast(ti.max(k, DECIDED), real)
            rest = v(1)
            live = ti.select(ti_sharpness(a, b) <= NEAR2, 1, m(0))
            a, b, mu = ti.select(live, a, v(0)), ti.select(live, b, v(0)), ti.select(live, mu, v(0))
            first_a, first_b = a, b
            ua, ub, va, vb, det = v(1), v(0), v(0), v(1), v(1)
            found = m(0)
            for n in range(1, MAX_PERIOD + 1):
                e = ti_error(a, b, mu)
                off = a * b + e
                det = cut(det * ((1 - a * a) * (1 - b * b) - off * off))
                next_ua, next_ub = ti_tangent(a, b, ua, ub, mu)
                next_va, next_vb = ti_tangent(a, b, va, vb, mu)
                ua, ub, va, vb = cut(next_ua), cut(next_ub), cut(next_va), cut(next_vb)
                next_a, next_b = ti_phi(a, b, mu)
                a, b = ti.select(live, next_a, a), ti.select(live, next_b, b)
                rest *= slowest
                back = ti_sharpness(a - first_a, b - first_b) * (RETURN * RETURN) < one
                # both roots of x^2 - trace x + det within `rest` (Jury)
                attracts = (ti.abs(det) < rest * rest) & (ti.abs(ua + vb) * rest < rest * rest + det)
                found = ti.select((found == 0) & back & attracts, n * live, found)
            a, b = first_a, first_b
            sign = ti.select(mu < 0, ti.cast(-1, real), v(1))
            top, low, top_at, low_at, turn = a + sign * b, a + sign * b, m(0), m(0), m(0)
            for n in range(1, CHECK_STEPS + 1):
                next_a, next_b = ti_phi(a, b, mu)
                a, b = ti.select(found > 0, next_a, a), ti.select(found > 0, next_b, b)
                turn += 1
                lost = (turn == found) & (ti_sharpness(a - first_a, b - first_b) * (RETURN * RETURN) >= one)
                found = ti.select(lost, 0, found)
                turn = ti.select(turn == found, 0, turn)
                s, early = a + sign * b, ti.select(n < found, 1, m(0))
                higher, lower = ti.select(s > top, early, 0), ti.select(s < low, early, 0)
                top_at, low_at = ti.select(higher, n, top_at), ti.select(lower, n, low_at)
                top, low = ti.select(higher, s, top), ti.select(lower, s, low)
            out_at = ti.select(top > 0, top_at, low_at)
            for lane in ti.static(range(lanes)):
                period[row, column0 + lane] = found[lane]
                phase[row, column0 + lane] = (k[lane] + out_at[lane]) % ti.max(found[lane], 1)

    return Kernels((1, lanes), cycle)

"""What happened on the way: growth of the imbalance, the first step that raised the loss, and the landing web, in Taichi.

Each kernel follows every grid point's orbit from its start, packed like those of `orbits.py`, and stops it once it is far
enough out that its fate is known, so that no inf or NaN is ever computed with.
"""

import functools
from typing import Any, NamedTuple

import taichi as ti

from sim.runtime import real_type
from sim.two_factor.orbits import FAR2
from sim.two_factor.phi import ti_error, ti_phi, ti_sharpness
from sim.two_factor.starts import NOWHERE

RISE_FAR2 = 2**18  # beyond it |e| rises at once but on strips thinner than 1/512; |e|^3 stays finite in f32 up to here
FACTOR_BIT = 1048576  # products are kept within 2^+-20 or so, and the powers of two taken out are counted
NO_LINE = 1e9
"""Distance to the web where there is none."""


class Kernels(NamedTuple):
    """The compiled kernels of one precision and packing."""

    group: tuple[int, int]
    across: Any
    rise: Any
    web: Any


@functools.cache
def kernels(precision: str, lanes: int) -> Kernels:
    """The kernels for "f32" or "f64", `lanes` points side by side packed into one vector."""
    real = real_type(precision)
    reals, ints = ti.types.ndarray(dtype=real, ndim=2), ti.types.ndarray(dtype=ti.i32, ndim=2)
    shown = ti.types.ndarray(dtype=ti.f32, ndim=2)
    shape_type = ti.types.vector(2, ti.i32)
    v, m = ti.types.vector(lanes, real), ti.types.vector(lanes, ti.i32)

    @ti.kernel
    def across(
        groups: shape_type, units: ti.i32, start_a: reals, start_b: reals, mus: reals, horizon: ti.i32, mean: shown
    ):  # fmt: skip
        """(1/horizon) log|w_horizon / w_0| = mean of log|1 + e_k|; frozen once r2 > FAR2. For mu < 0 that of s, w's mirror."""
        for group in range(groups[0], groups[1]):
            row, column0 = group // units, (group % units) * lanes
            a, b, mu = v(0), v(0), v(0)
            for lane in ti.static(range(lanes)):
                a[lane] = start_a[row, column0 + lane]
                b[lane] = start_b[row, column0 + lane]
                mu[lane] = mus[row, column0 + lane]
            sign = ti.select(mu < 0, ti.cast(-1, real), v(1))
            product, twenties = v(1), m(0)
            live = ti.select(ti_sharpness(a, b) <= FAR2, 1, m(0))
            for _ in range(horizon):
                factor = ti.abs(1 + sign * ti_error(a, b, mu))
                next_a, next_b = ti_phi(a, b, mu)
                product *= ti.select(live, factor, v(1))
                high, low = product > FACTOR_BIT, product * FACTOR_BIT < 1
                scale = ti.select(high, ti.cast(1, real) / FACTOR_BIT, v(1))
                scale = ti.select(low, ti.cast(FACTOR_BIT, real), scale)
                product *= scale
                twenties += ti.select(high, 1, m(0)) - ti.select(low, 1, m(0))
                a = ti.select(live, next_a, a)
                b = ti.select(live, next_b, b)
                live = ti.select(ti_sharpness(a, b) <= FAR2, live, 0)
            tiny = ti.cast(1, real) / FACTOR_BIT / FACTOR_BIT / FACTOR_BIT / FACTOR_BIT
            size = ti.cast(ti.max(product, tiny), ti.f32)
            for lane in ti.static(range(lanes)):
                total = ti.log(size[lane]) + ti.log(ti.cast(2, ti.f32)) * 20 * ti.cast(twenties[lane], ti.f32)
                mean[row, column0 + lane] = total / ti.cast(horizon, ti.f32)

    @ti.kernel
    def rise(
        groups: shape_type, units: ti.i32, start_a: reals, start_b: reals, mus: reals, iterations: ti.i32,
        tolerance: real, first: ints,
    ):  # fmt: skip
        """The first k with |e_{k+1}| > |e_k|, -1 where there is none before the orbit lands or time is up."""
        for group in range(groups[0], groups[1]):
            row, column0 = group // units, (group % units) * lanes
            a, b, mu = v(0), v(0), v(0)
            for lane in ti.static(range(lanes)):
                a[lane] = start_a[row, column0 + lane]
                b[lane] = start_b[row, column0 + lane]
                mu[lane] = mus[row, column0 + lane]
            far = (ti_sharpness(a, b) > RISE_FAR2) | (ti.abs(mu) > RISE_FAR2)
            found = ti.select(far, 0, m(-1))
            a, b, mu = ti.select(far, 0, a), ti.select(far, 0, b), ti.select(far, 0, mu)
            live = ti.select(far, 0, m(1))
            e = ti_error(a, b, mu)
            k = 0
            go = live.max() > 0
            while go:
                r2 = ti_sharpness(a, b)
                landed = (e * e < tolerance * tolerance) & (r2 > 8 * tolerance) & (r2 < 2 - 8 * tolerance)
                live = ti.select(landed | (e == 0), 0, live)
                next_a, next_b = ti_phi(a, b, mu)
                next_e = ti_error(next_a, next_b, mu)
                rises = ti.select(next_e * next_e > e * e, live, 0)
                found = ti.select(rises, k, found)
                live = ti.select(rises, 0, live)
                a, b, e = ti.select(live, next_a, a), ti.select(live, next_b, b), ti.select(live, next_e, e)
                k += 1
                go = (live.max() > 0) & (k < iterations)
            for lane in ti.static(range(lanes)):
                first[row, column0 + lane] = found[lane]

    @ti.func
    def slope(values: ti.template(), mus: ti.template(), row, column, down, right):
        """The change of a start's coordinate from one grid square to the next, central where both neighbours are starts."""
        r0, c0 = ti.max(row - down, 0), ti.max(column - right, 0)
        r1, c1 = ti.min(row + down, values.shape[0] - 1), ti.min(column + right, values.shape[1] - 1)
        if mus[r0, c0] == NOWHERE:
            r0, c0 = row, column
        if mus[r1, c1] == NOWHERE:
            r1, c1 = row, column
        span = ti.max((r1 - r0) + (c1 - c0), 1)
        return (values[r1, c1] - values[r0, c0]) / ti.cast(span, real)

    @ti.kernel
    def web(
        groups: shape_type, units: ti.i32, start_a: reals, start_b: reals, mus: reals, most: ti.i32,
        distance: shown, step: shown,
    ):  # fmt: skip
        """The nearest line of {e_k = 0, e_{k-1} != 0}, 1 <= k <= most: its distance in grid squares and its k.

        e_k = e_{k-1} f with f = 1 + mu e + e^2 - r2, so the line of k is {f_{k-1} = 0}, and |f|/|grad f| is the distance to
        first order. Where lines of one k crowd (f goes from about -2 to 2 between two of them) the distance is stretched,
        so that lines grow thinner before they can no longer be told apart.
        """
        for group in range(groups[0], groups[1]):
            row, column0 = group // units, (group % units) * lanes
            a, b, mu = v(0), v(0), v(0)
            xa, xb, xm, ya, yb, ym = v(0), v(0), v(0), v(0), v(0), v(0)
            for lane in ti.static(range(lanes)):
                column = column0 + lane
                a[lane], b[lane], mu[lane] = start_a[row, column], start_b[row, column], mus[row, column]
                xa[lane], ya[lane] = slope(start_a, mus, row, column, 0, 1), slope(start_a, mus, row, column, 1, 0)
                xb[lane], yb[lane] = slope(start_b, mus, row, column, 0, 1), slope(start_b, mus, row, column, 1, 0)
                xm[lane], ym[lane] = slope(mus, mus, row, column, 0, 1), slope(mus, mus, row, column, 1, 0)
            live = ti.select(ti_sharpness(a, b) <= FAR2, 1, m(0))
            nearest, found = v(NO_LINE), m(0)
            for k in range(1, most + 1):
                e = ti_error(a, b, mu)
                f = 1 + mu * e + e * e - ti_sharpness(a, b)
                xe, ye = b * xa + a * xb - xm, b * ya + a * yb - ym
                xf = (mu + 2 * e) * xe + e * xm - 2 * (a * xa + b * xb)
                yf = (mu + 2 * e) * ye + e * ym - 2 * (a * ya + b * yb)
                steep2 = xf * xf + yf * yf
                far = ti.abs(f) * (1 + steep2) / ti.sqrt(ti.max(steep2, ti.cast(1, real) / FACTOR_BIT / FACTOR_BIT))
                nearer = ti.select(far < nearest, live, 0)
                nearest = ti.select(nearer, far, nearest)
                found = ti.select(nearer, k, found)
                next_a, next_b = ti_phi(a, b, mu)
                next_xa, next_xb = xa - xe * b - e * xb, xb - xe * a - e * xa
                next_ya, next_yb = ya - ye * b - e * yb, yb - ye * a - e * ya
                big = ti.max(ti.abs(next_xa), ti.abs(next_xb), ti.abs(next_ya), ti.abs(next_yb))
                live = ti.select((ti_sharpness(next_a, next_b) <= FAR2) & (big < FACTOR_BIT), live, 0)
                a, b = ti.select(live, next_a, a), ti.select(live, next_b, b)
                xa, xb = ti.select(live, next_xa, xa), ti.select(live, next_xb, xb)
                ya, yb = ti.select(live, next_ya, ya), ti.select(live, next_yb, yb)
            for lane in ti.static(range(lanes)):
                distance[row, column0 + lane] = ti.cast(nearest[lane], ti.f32)
                step[row, column0 + lane] = ti.cast(found[lane], ti.f32)

    return Kernels((1, lanes), across, rise, web)

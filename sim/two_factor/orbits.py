"""Every grid point's orbit of Phi_mu, in Taichi: until it escapes, lands on the zero-error curve, or time is up.

Two kernels. `blocks`, on tiles of packed points: a few bare steps (three multiply-adds each), then one look; a point that
went far, or that landed, is parked at the origin, a fixed point, and keeps the state it had *before* the block. `finish`:
from there on single steps under masks, which find the exact step of the event. So the long orbits, all of them inside a
small disc, pay almost nothing for the tests; no point is ever carried on to inf or NaN (undefined under fast math); and
the outcome is that of the plain loop with a test at every step.

What is kept of an orbit, per grid point: (a, b) where it stopped, the steps k it took, and e one step earlier. Everything
shown (`channels.py`) follows from these.
"""

import functools
from typing import Any, NamedTuple

import taichi as ti

from sim.runtime import real_type
from sim.two_factor.phi import ti_error, ti_phi, ti_sharpness, ti_tangent

NEAR2 = 16  # blocks run while a^2 + b^2 <= NEAR2: for |mu| <= 2 every bounded orbit stays in a^2 + b^2 <= 8
BLOCK_MU = 10  # from there, with |mu| <= BLOCK_MU, a block's coordinates stay below 1e16 (f32) and 1e47 (f64)
BLOCK_STEPS = {"f32": 3, "f64": 4}
BLOCKS = 4  # blocks unrolled between two exit tests
BLOCK_LANES = 32  # packed points there: several registers, since one chain of dependent multiply-adds leaves units idle
FINISH_STEPS = 4  # masked steps unrolled between two exit tests
TILE_WIDTH = 8
SETTLE_STEPS = 32  # even; a 2-cycle or two-band attractor keeps its signs along them, anything else hardly does
RETURN = 1000  # two steps that move an orbit by less than |e|/RETURN: it has period 2
FAR2 = 64  # where tangent vectors stop: beyond it the orbit escapes, and one step still stretches by less than 2^9


class Kernels(NamedTuple):
    """The compiled sweeps of one precision and packing."""

    tile: tuple[int, int]
    """Rows and columns of the grid that one turn of `blocks` covers."""
    group: tuple[int, int]
    """The same of the other kernels: points side by side in a row."""
    blocks: Any
    finish: Any
    settle: Any
    growth: Any


@functools.cache
def kernels(precision: str, lanes: int) -> Kernels:
    """The sweeps for "f32" or "f64"; `lanes` > 1 packs that many points in `finish` and `growth`, 1 is for GPUs."""
    real = real_type(precision)
    reals, ints = ti.types.ndarray(dtype=real, ndim=2), ti.types.ndarray(dtype=ti.i32, ndim=2)
    shape_type = ti.types.vector(2, ti.i32)
    packed = BLOCK_LANES if lanes > 1 else 1
    width = min(packed, TILE_WIDTH)
    height = packed // width
    block_steps = BLOCK_STEPS[precision]
    V, M = ti.types.vector(packed, real), ti.types.vector(packed, ti.i32)
    v, m = ti.types.vector(lanes, real), ti.types.vector(lanes, ti.i32)

    @ti.func
    def landed(e, r2, tolerance):
        """|e| small on the attracting part of the curve, with margins that the remaining drift of r2 cannot cross."""
        return (e * e < tolerance * tolerance) & (r2 > 8 * tolerance) & (r2 < 2 - 8 * tolerance)

    @ti.kernel
    def blocks(
        tiles: shape_type, across: ti.i32, start_a: reals, start_b: reals, mus: reals, iterations: ti.i32, tolerance: real,
        end_a: reals, end_b: reals, steps: ints,
    ):  # fmt: skip
        """Tiles number tiles[0] to tiles[1] - 1, row by row, `across` in a row: state and step before the event's block."""
        for tile in range(tiles[0], tiles[1]):
            row0, column0 = (tile // across) * height, (tile % across) * width
            a, b, mu = V(0), V(0), V(0)
            for lane in ti.static(range(packed)):
                a[lane] = start_a[row0 + lane // width, column0 + lane % width]
                b[lane] = start_b[row0 + lane // width, column0 + lane % width]
                mu[lane] = mus[row0 + lane // width, column0 + lane % width]
            zero, near2 = ti.cast(0, real), ti.cast(NEAR2, real)
            kept_a, kept_b = a, b
            running = iterations + 1  # no step has this number: the mark of a point that goes on
            far = (ti_sharpness(a, b) > near2) | (ti.abs(mu) > BLOCK_MU)
            k = ti.select(far, 0, M(running))
            a = ti.select(far, zero, a)
            b = ti.select(far, zero, b)
            mu = ti.select(far, zero, mu)
            j = 0
            go = (k.max() == running) & (ti.static(BLOCKS * block_steps) <= iterations)
            while go:
                for _ in ti.static(range(BLOCKS)):
                    old_a, old_b = a, b
                    for _ in ti.static(range(block_steps)):
                        a, b = ti_phi(a, b, mu)
                    r2 = ti_sharpness(a, b)
                    stop = (r2 > near2) | landed(ti_error(a, b, mu), r2, tolerance)
                    kept_a = ti.select(stop, old_a, kept_a)
                    kept_b = ti.select(stop, old_b, kept_b)
                    k = ti.select(stop, j, k)
                    a = ti.select(stop, zero, a)
                    b = ti.select(stop, zero, b)
                    j += block_steps
                go = (k.max() == running) & (j + ti.static(BLOCKS * block_steps) <= iterations)
            goes_on = k == running
            kept_a = ti.select(goes_on, a, kept_a)
            kept_b = ti.select(goes_on, b, kept_b)
            k = ti.select(goes_on, j, k)
            for lane in ti.static(range(packed)):
                end_a[row0 + lane // width, column0 + lane % width] = kept_a[lane]
                end_b[row0 + lane // width, column0 + lane % width] = kept_b[lane]
                steps[row0 + lane // width, column0 + lane % width] = k[lane]

    @ti.kernel
    def finish(
        groups: shape_type, across: ti.i32, mus: reals, iterations: ti.i32, escape2: real, tolerance: real,
        end_a: reals, end_b: reals, steps: ints, before: reals,
    ):  # fmt: skip
        """Groups of points in a row, `across` in a row, on to the event: r2 > escape2, landed, or k = iterations."""
        for group in range(groups[0], groups[1]):
            row, column0 = group // across, (group % across) * lanes
            a, b, mu, k = v(0), v(0), v(0), m(0)
            for lane in ti.static(range(lanes)):
                a[lane] = end_a[row, column0 + lane]
                b[lane] = end_b[row, column0 + lane]
                mu[lane] = mus[row, column0 + lane]
                k[lane] = steps[row, column0 + lane]
            e, r2 = ti_error(a, b, mu), ti_sharpness(a, b)
            last = e
            live = ti.select((k < iterations) & (r2 <= escape2), 1, m(0))
            live = ti.select(landed(e, r2, tolerance), 0, live)
            go = live.max() > 0
            while go:
                for _ in ti.static(range(FINISH_STEPS)):
                    next_a, next_b = ti_phi(a, b, mu)
                    last = ti.select(live, e, last)
                    a = ti.select(live, next_a, a)
                    b = ti.select(live, next_b, b)
                    k += live
                    e, r2 = ti_error(a, b, mu), ti_sharpness(a, b)
                    live = ti.select((r2 > escape2) | landed(e, r2, tolerance), 0, live)
                    live = ti.select(k < iterations, live, 0)
                go = live.max() > 0
            for lane in ti.static(range(lanes)):
                end_a[row, column0 + lane] = a[lane]
                end_b[row, column0 + lane] = b[lane]
                steps[row, column0 + lane] = k[lane]
                before[row, column0 + lane] = last[lane]

    @ti.kernel
    def settle(
        groups: shape_type, across: ti.i32, mus: reals, end_a: reals, end_b: reals, steps: ints, code: ints
    ):  # fmt: skip
        """SETTLE_STEPS more steps: what stays the same along them? -> code = phase + 1 + 3 (branch + 1) + 9 period2.

        phase: sign of e at even times if it is the other one at odd times, branch: sign of s (e and b change sign with mu),
        0 where they do not last; period2: 1 where there is a phase and two steps move the orbit by less than |e|/RETURN, so
        that neither the origin nor passing by the zero-error curve counts.
        """
        for group in range(groups[0], groups[1]):
            row, column0 = group // across, (group % across) * lanes
            a, b, mu, k = v(0), v(0), v(0), m(0)
            for lane in ti.static(range(lanes)):
                a[lane] = end_a[row, column0 + lane]
                b[lane] = end_b[row, column0 + lane]
                mu[lane] = mus[row, column0 + lane]
                k[lane] = steps[row, column0 + lane]
            sign = ti.select(mu < 0, ti.cast(-1, real), v(1))
            parity = sign * ti.cast(1 - 2 * (k % 2), real)
            live = ti.select(ti_sharpness(a, b) <= NEAR2, 1, m(0))
            e_low, e_high = ti_error(a, b, mu) * parity, ti_error(a, b, mu) * parity
            s_low, s_high = a + sign * b, a + sign * b
            old_a, old_b = a, b
            for _ in range(ti.static(SETTLE_STEPS // 2)):
                old_a, old_b = a, b
                for odd in ti.static((1, 0)):
                    next_a, next_b = ti_phi(a, b, mu)
                    a = ti.select(live, next_a, a)
                    b = ti.select(live, next_b, b)
                    live = ti.select(ti_sharpness(a, b) <= NEAR2, live, 0)
                    e = ti_error(a, b, mu) * parity * (1 - 2 * odd)
                    e_low, e_high = ti.min(e_low, e), ti.max(e_high, e)
                    s_low, s_high = ti.min(s_low, a + sign * b), ti.max(s_high, a + sign * b)
            phase = ti.select(e_low > 0, 1, m(0)) - ti.select(e_high < 0, 1, m(0))
            branch = ti.select(s_low > 0, 1, m(0)) - ti.select(s_high < 0, 1, m(0))
            e = ti_error(a, b, mu)
            back = RETURN * RETURN * ti_sharpness(a - old_a, b - old_b) < e * e
            period2 = ti.select(back, phase * phase, m(0))
            found = ti.select(live, (phase + 1) + 3 * (branch + 1) + 9 * period2, 4)
            for lane in ti.static(range(lanes)):
                code[row, column0 + lane] = found[lane]

    @ti.kernel
    def growth(
        groups: shape_type, across: ti.i32, start_a: reals, start_b: reals, mus: reals, horizon: ti.i32,
        mean: ti.types.ndarray(dtype=ti.f32, ndim=2),
    ):  # fmt: skip
        """(1/horizon) log|J_horizon ... J_1 v| for the unit vector v along the balanced line; frozen once r2 > FAR2."""
        for group in range(groups[0], groups[1]):
            row, column0 = group // across, (group % across) * lanes
            a, b, mu = v(0), v(0), v(0)
            for lane in ti.static(range(lanes)):
                a[lane] = start_a[row, column0 + lane]
                b[lane] = start_b[row, column0 + lane]
                mu[lane] = mus[row, column0 + lane]
            va, vb = v(1), v(1)
            vb = ti.select(mu < 0, -vb, vb)
            doublings = m(0)  # |v| is kept within 2^+-10 or so, and the powers of two taken out are counted
            live = ti.select(ti_sharpness(a, b) <= FAR2, 1, m(0))
            for _ in range(horizon):
                next_va, next_vb = ti_tangent(a, b, va, vb, mu)
                next_a, next_b = ti_phi(a, b, mu)
                size = ti_sharpness(next_va, next_vb)
                scale = ti.select(size > 1048576, ti.cast(1, real) / 1024, v(1))
                scale = ti.select(size * 1048576 < 1, ti.cast(1024, real), scale)
                doublings += live * (ti.select(size > 1048576, 10, m(0)) - ti.select(size * 1048576 < 1, 10, m(0)))
                va = ti.select(live, next_va * scale, va)
                vb = ti.select(live, next_vb * scale, vb)
                a = ti.select(live, next_a, a)
                b = ti.select(live, next_b, b)
                live = ti.select(ti_sharpness(a, b) <= FAR2, live, 0)
            tiny = ti.cast(1, real) / 1048576 / 1048576 / 1048576 / 1048576 / 1048576
            size = ti.cast(ti.max(ti_sharpness(va, vb) / 2, tiny), ti.f32)
            for lane in ti.static(range(lanes)):
                two = ti.log(ti.cast(2, ti.f32))
                total = ti.log(size[lane]) / 2 + two * ti.cast(doublings[lane], ti.f32)
                mean[row, column0 + lane] = total / ti.cast(horizon, ti.f32)

    return Kernels((height, width), (1, lanes), blocks, finish, settle, growth)

"""What is shown of an orbit, from what was kept of it (see `orbits.py`): labels, smooth counts, sharpness, branch, phase.

Scalar kernels, one pass over the grid each; logarithms in f32 always (a colour needs no more, and f64 ones do not compile
on every backend). Where a channel has no meaning the output keeps the NaN it was filled with beforehand.
"""

import functools
from typing import Any, NamedTuple

import taichi as ti

from sim.runtime import real_type
from sim.two_factor.phi import ti_error, ti_sharpness
from sim.two_factor.starts import NOWHERE

NO_START, ESCAPED, UNDECIDED, LANDED, BOUNDED, PERIOD2 = -2, -1, 0, 1, 2, 3


class Kernels(NamedTuple):
    """The compiled passes of one precision."""

    outcome: Any
    escape: Any
    landing: Any
    sharpness: Any
    imbalance: Any
    branch: Any
    phase: Any
    keep: Any
    count: Any
    period: Any
    cycle_phase: Any


@functools.cache
def kernels(precision: str) -> Kernels:
    """The passes that read states in "f32" or "f64"."""
    real = real_type(precision)
    reals, ints = ti.types.ndarray(dtype=real, ndim=2), ti.types.ndarray(dtype=ti.i32, ndim=2)
    shown = ti.types.ndarray(dtype=ti.f32, ndim=2)

    @ti.func
    def log32(x):
        return ti.log(ti.cast(x, ti.f32))

    @ti.kernel
    def outcome(
        end_a: reals, end_b: reals, code: ints, mus: reals, escape2: real, tolerance: real, disc2: real, period2: real,
        label: ints,
    ):  # fmt: skip
        """One label per point. Period-2 orbits are looked for in `code` for 1 < |mu| < period2; BOUNDED, r2 <= disc2, only from
        there to |mu| = 2."""
        for row, column in label:
            a, b, mu = end_a[row, column], end_b[row, column], mus[row, column]
            e, r2, size = ti_error(a, b, mu), ti_sharpness(a, b), ti.abs(mu)
            found = UNDECIDED
            if mu == NOWHERE:
                found = NO_START
            elif r2 > escape2:
                found = ESCAPED
            elif e * e < tolerance * tolerance and r2 > 8 * tolerance and r2 < 2 - 8 * tolerance:
                found = LANDED
            elif size > 1 and size < period2 and code[row, column] >= 9:
                found = PERIOD2
            elif size >= period2 and size < 2 and r2 <= disc2:
                found = BOUNDED
            label[row, column] = found

    @ti.kernel
    def escape(end_a: reals, end_b: reals, steps: ints, label: ints, mus: reals, escape2: real, out: shown):
        """n - log(log r_n^2 / log R^2) / log 3 in the limit of late n, in which log|e_n| triples exactly.

        log|e_{k+1}| is taken as 3 log|e_k| + log|1 + (mu + (1 - r2)/e)/e|, which cannot overflow.
        """
        for row, column in out:
            if label[row, column] == ESCAPED:
                a, b, mu = end_a[row, column], end_b[row, column], mus[row, column]
                e, r2 = ti_error(a, b, mu), ti_sharpness(a, b)
                size = ti.max(ti.abs(e), ti.cast(1, real))
                e = ti.select(e < 0, -size, size)
                factor = ti.max(ti.abs(1 + (mu + (1 - r2) / e) / e), ti.cast(1, real) / 1048576)
                base = log32(escape2)
                growth = ti.max(3 * log32(size) + log32(factor), base)
                k = ti.cast(steps[row, column] + 1, ti.f32)
                out[row, column] = k - ti.log(growth / base) / log32(3)

    @ti.kernel
    def landing(end_a: reals, end_b: reals, before: reals, steps: ints, label: ints, mus: reals, tolerance: real, out: shown):
        """The moment when log|e|, linear between two steps, passes log(tolerance): no jump where the step's number jumps."""
        for row, column in out:
            if label[row, column] == LANDED:
                e = ti.abs(ti_error(end_a[row, column], end_b[row, column], mus[row, column]))
                tiny = tolerance / 1048576
                now = log32(ti.max(e, tiny) / tolerance)
                then = log32(ti.max(ti.abs(before[row, column]), tolerance) / tolerance)
                k = ti.cast(ti.max(steps[row, column] - 1, 0), ti.f32)
                out[row, column] = k + then / ti.max(then - now, log32(tiny / tolerance) / -1048576)

    @ti.kernel
    def sharpness(end_a: reals, end_b: reals, label: ints, out: shown):
        """a^2 + b^2 where the orbit stopped; escaped ones have none."""
        for row, column in out:
            if label[row, column] > ESCAPED:
                out[row, column] = ti.cast(ti_sharpness(end_a[row, column], end_b[row, column]), ti.f32)

    @ti.kernel
    def imbalance(end_a: reals, end_b: reals, mus: reals, label: ints, out: shown):
        """a - sgn(mu) b where the orbit stopped, with the sign that it has on the branch a > 0; escaped ones have none."""
        for row, column in out:
            if label[row, column] > ESCAPED:
                a, b = end_a[row, column], end_b[row, column]
                b = ti.select(mus[row, column] < 0, -b, b)
                out[row, column] = ti.cast(ti.select(a + b < 0, b - a, a - b), ti.f32)

    @ti.kernel
    def branch(code: ints, label: ints, out: shown):
        """The branch digit of `orbits.settle` where the orbit has come to rest, else 0."""
        for row, column in out:
            value = 0
            if label[row, column] >= LANDED:
                value = code[row, column] // 3 % 3 - 1
            out[row, column] = ti.cast(value, ti.f32)

    @ti.kernel
    def phase(code: ints, label: ints, mus: reals, out: shown):
        """The phase digit of `orbits.settle` for |mu| > 1, where orbits may have one, else 0."""
        for row, column in out:
            value = 0
            if label[row, column] >= LANDED and ti.abs(mus[row, column]) > 1:
                value = code[row, column] % 3 - 1
            out[row, column] = ti.cast(value, ti.f32)

    @ti.kernel
    def keep(values: shown, label: ints, least: ti.i32, out: shown):
        """`values` (padded) where the label is at least `least`."""
        for row, column in out:
            if label[row, column] >= least:
                out[row, column] = values[row, column]

    @ti.kernel
    def count(values: ints, label: ints, least: ti.i32, out: shown):
        """The same for whole numbers."""
        for row, column in out:
            if label[row, column] >= least:
                out[row, column] = ti.cast(values[row, column], ti.f32)

    @ti.kernel
    def period(periods: ints, label: ints, out: shown):
        """The period, 1 for what has landed: there the curve itself is a line of fixed points, none attracting alone."""
        for row, column in out:
            if label[row, column] > ESCAPED:
                value = periods[row, column]
                if label[row, column] == LANDED:
                    value = 1
                out[row, column] = ti.cast(value, ti.f32)

    @ti.kernel
    def cycle_phase(periods: ints, phases: ints, label: ints, out: shown):
        """phase/period, 0 for a fixed point and where there is no period."""
        for row, column in out:
            if label[row, column] > ESCAPED:
                period = ti.max(periods[row, column], 1)
                value = ti.cast(phases[row, column], ti.f32) / ti.cast(period, ti.f32)
                if label[row, column] == LANDED:
                    value = 0
                out[row, column] = value

    return Kernels(outcome, escape, landing, sharpness, imbalance, branch, phase, keep, count, period, cycle_phase)

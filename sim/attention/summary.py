"""The numbers of one state: energy, slope, power and speed, summed in float64 in a fixed order."""

import functools
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import taichi as ti
from numpy.typing import NDArray

from sim import runtime
from sim.attention.exponential import EXTENT
from sim.attention.pairs import GV, B, Fields, U
from sim.attention.schedule import Heads

BLOCKS = 64  # partial sums, whatever the number of threads: the same bits on every machine


@dataclass(frozen=True)
class Summary:
    """E, slope^2, the power (1/N) sum <g, v>, mean and largest |v|, the range of b over the tokens, and their weights."""

    energy: float
    slope2: float
    power: float
    mean_speed: float
    max_speed: float
    min_b: float
    max_b: float
    theta: Heads


def summarise(fields: Fields, shifted: bool, theta: Heads, precision: str, flow: str) -> Summary:
    """Add up what an evaluation left in `fields`. Quantities beyond double precision come out as inf."""
    count = fields.v.shape[0]
    if not shifted:
        sums = np.zeros((BLOCKS, 4))
        extremes = np.zeros((BLOCKS, 3))
        _kernels(precision).reduce(fields.v, fields.scalars, sums, extremes)
        potential, slope2, power, speed = (sums.sum(axis=0) / count).tolist()
        fastest, low, high = extremes[:, 0].max(), extremes[:, 1].min(), extremes[:, 2].max()
        return Summary(potential / 2, slope2, power, speed, float(fastest), float(low), float(high), theta)
    potential, b, power, speed = _shifted_columns(fields, precision, flow)
    with np.errstate(over="ignore", invalid="ignore"):
        return Summary(
            float(potential.mean() / 2),
            float((b * speed**2).mean()),
            float(power.mean()),
            float(speed.mean()),
            float(speed.max()),
            float(b.min()),
            float(b.max()),
            theta,
        )


def energy(fields: Fields, shifted: bool) -> float:
    """E = (1/2) mean_i U(x_i) from the potential in `fields`."""
    potential = fields.scalars.to_numpy()[U].astype(np.float64)
    if shifted:
        with np.errstate(over="ignore"):
            potential = potential * np.exp(fields.reference.to_numpy()[0].astype(np.float64))
    return float(potential.mean() / 2)


def _shifted_columns(fields: Fields, precision: str, flow: str) -> tuple[NDArray[np.float64], ...]:
    scalars = fields.scalars.to_numpy().astype(np.float64)
    reference = fields.reference.to_numpy().astype(np.float64)
    speed = np.linalg.norm(fields.v.to_numpy().astype(np.float64), axis=1)
    # the vector exponential stops at its range's ends: past them the velocity is not what it should be, so it counts as infinite
    exponent = {"softmax": 0 * reference[0], "gradient_flow": reference[0] - reference[1], "unnormalised": reference[0]}[flow]
    speed[exponent > EXTENT[precision]] = np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        up, down = np.exp(reference[0]), np.exp(reference[1])
        return scalars[U] * up, scalars[B] * down, scalars[GV] * up, speed


@functools.cache
def _kernels(precision: str) -> SimpleNamespace:
    real = runtime.real_type(precision)
    vec3 = ti.types.vector(3, real)

    @ti.kernel
    def reduce(
        v: ti.types.ndarray(dtype=vec3, ndim=1),
        scalars: ti.types.ndarray(dtype=real, ndim=2),
        sums: ti.types.ndarray(dtype=ti.f64, ndim=2),
        extremes: ti.types.ndarray(dtype=ti.f64, ndim=2),
    ):
        n = v.shape[0]
        for block in range(BLOCKS):
            first, last = ti.i64(n) * block // BLOCKS, ti.i64(n) * (block + 1) // BLOCKS
            potential = ti.cast(0, ti.f64)
            slope, power, speed = potential, potential, potential
            # an empty block borrows token 0 for its extremes
            fastest = ti.cast(0, real)
            low = scalars[B, 0]
            high = scalars[B, 0]
            for i in range(ti.i32(first), ti.i32(last)):
                size = v[i].norm()
                potential += ti.cast(scalars[U, i], ti.f64)
                slope += ti.cast(scalars[B, i] * size * size, ti.f64)
                power += ti.cast(scalars[GV, i], ti.f64)
                speed += ti.cast(size, ti.f64)
                fastest = ti.max(fastest, size)
                low = ti.min(low, scalars[B, i])
                high = ti.max(high, scalars[B, i])
            sums[block, 0] = potential
            sums[block, 1] = slope
            sums[block, 2] = power
            sums[block, 3] = speed
            extremes[block, 0] = ti.cast(fastest, ti.f64)
            extremes[block, 1] = ti.cast(low, ti.f64)
            extremes[block, 2] = ti.cast(high, ti.f64)

    return SimpleNamespace(reduce=reduce)

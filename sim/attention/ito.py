"""The explicit change of the energy under noisy weights, split into drift, Ito correction and martingale (MATHS.md, section A).

With e_ij = exp(<x_i, theta_h x_j>) and A_h = (1/N^2) sum_ij e_ij x_i x_j^T, at a fixed cloud

    dE = (1/2H) sum_h <A_h, d theta_h> + (1/4H) sum_h (1/N^2) sum_ij e_ij (1 + <x_i, x_j>^2)/2 d[theta_h]

because a symmetric noise matrix of variance d[theta] on the diagonal and half of it off gives <x_i, . x_j> the variance
|(x_i x_j^T + x_j x_i^T)/2|^2 = (1 + <x_i, x_j>^2)/2 times that. The drift part takes of d theta_h what is no random
increment, the martingale part the random increments; both, and the correction, at the cloud and weights where the step began.
"""

import functools
from types import SimpleNamespace

import numpy as np
import taichi as ti
from numpy.typing import NDArray

from sim import runtime
from sim.attention import pairs
from sim.attention.schedule import Schedule


class ExplicitParts:
    """The three parts of the explicit energy change since t = 0, for schedules that have `random_parts`.

    One more all-pairs sum a step: N^2 H terms. Beyond |theta| of `pairs.LIMIT` the sums would overflow: the parts are then nan.
    """

    def __init__(self, engine: pairs.Pairs, heads: int) -> None:
        self._engine = engine
        lanes = min(pairs.QUERIES, runtime.machine().lanes)
        self._kernel = _kernels(engine.precision, lanes).moments
        real = runtime.real_type(engine.precision)
        self._spread = pairs.kernels(engine.precision, lanes).spread
        self._columns = ti.ndarray(real, (3, engine.count))
        self._theta = ti.ndarray(real, (heads, 3, 3))
        self._rows = lanes * max(1, min(pairs.SLICE // (engine.count * heads * lanes), -(-engine.count // lanes)))
        self._sums = ti.ndarray(real, (self._rows // lanes, heads, 10))
        self.restart()

    def restart(self) -> None:
        """Back to t = 0."""
        self.drift = self.ito = self.martingale = 0.0

    def book(self, x: ti.Ndarray, before: NDArray[np.float64], now: NDArray[np.float64], schedule: Schedule, half: int) -> None:
        """Add the step from the cloud x and the weights `before` at half step `half` to the weights `now`, two half steps on."""
        A, curvature = self.moments(x, before)
        shock, variance = np.zeros_like(now), np.zeros(len(now))
        for part in schedule.random_parts():
            shock += schedule.beta * (part.martingale(half + 2) - part.martingale(half))
            variance += schedule.beta**2 * (part.variance(half + 2) - part.variance(half))
        heads = len(now)
        self.martingale += float((A * shock).sum()) / (2 * heads)
        self.drift += float((A * (now - before - shock)).sum()) / (2 * heads)
        self.ito += float((variance * curvature).sum()) / (4 * heads)

    def moments(self, x: ti.Ndarray, theta: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A_h, (H, 3, 3), and (1/N^2) sum_ij e_ij (1 + <x_i, x_j>^2)/2, (H,); nan where the sums would overflow."""
        heads, count = len(theta), self._engine.count
        mode = self._engine.mode(theta)
        if mode == pairs.SHIFTED:
            return np.full((heads, 3, 3), np.nan), np.full(heads, np.nan)
        self._theta.from_numpy(theta.astype(np.float32 if self._engine.precision == "f32" else np.float64))
        lanes = min(pairs.QUERIES, runtime.machine().lanes)
        total = np.zeros((heads, 10))
        self._spread(x, self._columns)
        for start in range(0, count, self._rows):
            stop = min(start + self._rows, count)
            self._kernel(x, self._columns, self._theta, start, stop, mode, self._sums)
            blocks = -(-(stop - start) // lanes)
            total += self._sums.to_numpy()[:blocks].astype(np.float64).sum(axis=0)
        total /= count**2
        return total[:, :9].reshape(heads, 3, 3), total[:, 9]


@functools.cache
def _kernels(precision: str, lanes: int) -> SimpleNamespace:
    real = runtime.real_type(precision)
    V = ti.types.vector(lanes, real)
    cloud = ti.types.ndarray(dtype=ti.types.vector(3, real), ndim=1)
    table = ti.types.ndarray(dtype=real, ndim=2)
    heads = ti.types.ndarray(dtype=real, ndim=3)
    common = pairs.kernels(precision, lanes)
    load, query, term = common.load, common.query, common.term

    @ti.kernel
    def moments(x: cloud, columns: table, theta: heads, start: ti.i32, stop: ti.i32, mode: ti.template(), out: heads):
        """Per block of tokens and head: sum_ij e_ij x_i x_j^T, row by row, and sum_ij e_ij (1 + <x_i, x_j>^2)/2."""
        H = theta.shape[0]
        ti.loop_config(block_dim=1)
        for task in range((stop - start + lanes - 1) // lanes * H):
            block, h = task // H, task % H
            first = start + block * lanes
            px, py, pz = load(x, first)
            qx, qy, qz = query(theta, h, px, py, pz, mode)
            z, w, sx, sy, sz = V(0), V(0), V(0), V(0), V(0)
            for j in range(x.shape[0]):
                tx, ty, tz = columns[0, j], columns[1, j], columns[2, j]
                e = term(qx * tx + qy * ty + qz * tz, V(0), mode)
                c = px * tx + py * ty + pz * tz
                z += e
                w += e * c * c
                sx += e * tx
                sy += e * ty
                sz += e * tz
            for n in range(10):
                out[block, h, n] = ti.cast(0, real)
            for lane in ti.static(range(lanes)):
                if first + lane < stop:  # the last block repeats its last token
                    p = (px[lane], py[lane], pz[lane])
                    s = (sx[lane], sy[lane], sz[lane])
                    for r in ti.static(range(3)):
                        for c in ti.static(range(3)):
                            out[block, h, 3 * r + c] += p[r] * s[c]
                    out[block, h, 9] += (z[lane] + w[lane]) / 2

    return SimpleNamespace(moments=moments)

"""The all-pairs evaluation: the velocity and everything the diagnostics need, from one and the same sum over tokens.

    G_h(x) = (1/N) sum_j exp(<q_h, x_j>),  q_h = theta_h^T x                       (MATHS.md, section A)
    g = P_x (1/H) sum_h theta_h grad G(q_h),   1/b = (1/H) sum_h 1/G_h,   U = (1/H) sum_h G_h

On the CPU a task sums for QUERIES tokens at once; LLVM packs consecutive summands into vectors by itself, given the cloud as
three rows and an exponential without a call (packing the query tokens by hand instead spills registers and is half as fast).
With one query token the same code is the scalar kernel of the GPUs. Exponents up to LIMIT are summed as they are; beyond,
every sum is shifted by the token's own maximum over the cloud, and `reference` carries the logarithms that were divided out.
"""

import functools
from types import SimpleNamespace

import numpy as np
import taichi as ti
from numpy.typing import NDArray

from sim import runtime
from sim.attention.exponential import REACH, small_exp, vector_exp

FLOWS = {"softmax": 0, "gradient_flow": 1, "unnormalised": 2}
LIMIT = {"f32": 40.0, "f64": 300.0}  # largest |theta| whose exponentials, summed over 10^7 tokens, neither overflow nor vanish
U, B, GV = 0, 1, 2  # rows of `scalars`: potential, metric weight, <g, v>
SQUARINGS = (3, 5)  # of the exponential, in the modes SMALL and PLAIN
SCALES = (*(0.5**squarings for squarings in SQUARINGS), 1, 1)  # by mode: what the exponential wants its argument multiplied by
SMALL, PLAIN, WIDE, SHIFTED = 0, 1, 2, 3  # how exponentials are taken, by the size of theta: up to 4, 16, LIMIT, and beyond
QUERIES = 8  # tokens a task sums for on the CPU: they share what is loaded, and LLVM packs the summands into vectors
SLICE = 200_000_000  # pair terms a launch: well under a second, so that Ctrl-C is heard


class Fields:
    """What an evaluation writes, token by token: v (N,) of vec3, scalars (3, N), reference (2, N); see `Pairs.evaluate`."""

    def __init__(self, count: int, precision: str) -> None:
        real = runtime.real_type(precision)
        self.v = ti.ndarray(ti.types.vector(3, real), (count,))
        self.scalars = ti.ndarray(real, (3, count))
        self.reference = ti.ndarray(real, (2, count))


class Pairs:
    """All-pairs sums over a cloud of `count` tokens and H heads. Cost per evaluation: N^2 H pair terms.

    With `targets` the sums are taken at that many other points of the sphere, `at` of the methods, instead of at the tokens.
    """

    def __init__(self, count: int, heads: int, precision: str, targets: int | None = None) -> None:
        self.count = count
        self.targets = count if targets is None else targets
        self.precision = precision
        lanes = min(QUERIES, runtime.machine().lanes)
        self._kernels = kernels(precision, lanes)
        real = runtime.real_type(precision)
        self._columns = ti.ndarray(real, (3, count))
        self._theta = ti.ndarray(real, (heads, 3, 3))
        self._value = ti.ndarray(real, (heads, 3, 3))
        # whole vectors: which lane a token sits in decides its last bit
        self._rows = lanes * max(1, min(SLICE // (count * heads * lanes), -(-self.targets // lanes)))
        self._sums = ti.ndarray(ti.types.vector(lanes, real), (self._rows // lanes, heads, 5))
        self._dtype = np.float32 if precision == "f32" else np.float64

    def evaluate(
        self,
        x: ti.Ndarray,
        theta: NDArray[np.float64],
        flow: str,
        sign: int,
        out: Fields,
        value: NDArray[np.float64] | None = None,
        at: ti.Ndarray | None = None,
    ) -> bool:
        """Velocity and scalars at every token of x (or every point of `at`) under theta (H, 3, 3) into `out`; `value` replaces
        the leading theta_h.

        Returns whether the sums were shifted: then U = scalars[U] exp(reference[0]), b = scalars[B] exp(reference[1]),
        <g, v> = scalars[GV] exp(reference[0]); otherwise the scalars are the quantities themselves.
        """
        self._theta.from_numpy(theta.astype(self._dtype))
        self._value.from_numpy((theta if value is None else value).astype(self._dtype))
        mode, at = self.mode(theta), x if at is None else at
        self._kernels.spread(x, self._columns)
        for start in range(0, self.targets, self._rows):
            part = (start, min(start + self._rows, self.targets))
            self._kernels.sums(self._columns, at, self._theta, *part, mode, True, self._sums)
            self._kernels.combine(
                at, self._theta, self._value, self._sums, self.count, FLOWS[flow], sign, *part, mode, out.v, out.scalars,
                out.reference,
            )  # fmt: skip
        return mode == SHIFTED

    def potential(self, x: ti.Ndarray, theta: NDArray[np.float64], out: Fields, at: ti.Ndarray | None = None) -> bool:
        """U = mean_h G_h alone, for the energy of a cloud under other weights; returns whether the sums were shifted."""
        self._theta.from_numpy(theta.astype(self._dtype))
        mode, at = self.mode(theta), x if at is None else at
        self._kernels.spread(x, self._columns)
        for start in range(0, self.targets, self._rows):
            part = (start, min(start + self._rows, self.targets))
            self._kernels.sums(self._columns, at, self._theta, *part, mode, False, self._sums)
            self._kernels.potential(self._sums, self.count, *part, mode, out.scalars, out.reference)
        return mode == SHIFTED

    def mode(self, theta: NDArray[np.float64]) -> int:
        """|<q, x>| <= |theta|_2 on the sphere; the Frobenius norm bounds that from above."""
        size = float(np.sqrt((theta**2).sum(axis=(1, 2))).max())
        for mode, squarings in enumerate(SQUARINGS):
            if size <= REACH * 2**squarings:
                return mode
        return WIDE if size <= LIMIT[self.precision] else SHIFTED


@functools.cache
def kernels(precision: str, lanes: int) -> SimpleNamespace:
    """The kernels for one precision and lane count, compiled once a process.

    `sums` does the N^2 H work and nothing else, so that its inner loop stays in registers; the others cost N H.
    """
    real = runtime.real_type(precision)
    V = ti.types.vector(lanes, real)
    V3 = ti.types.vector(3, real)
    exp = vector_exp(precision, lanes)
    by_squaring = [small_exp(precision, lanes, squarings) for squarings in SQUARINGS]
    cloud = ti.types.ndarray(dtype=V3, ndim=1)
    heads = ti.types.ndarray(dtype=real, ndim=3)
    table = ti.types.ndarray(dtype=real, ndim=2)
    packed = ti.types.ndarray(dtype=V, ndim=3)

    @ti.func
    def load(x: ti.template(), first):
        """A vector of tokens from `first` on, as three vectors; past the end of the cloud the last token again."""
        px, py, pz = V(0), V(0), V(0)
        for lane in ti.static(range(lanes)):
            t = x[ti.min(first + lane, x.shape[0] - 1)]
            px[lane], py[lane], pz[lane] = t[0], t[1], t[2]
        return px, py, pz

    @ti.func
    def query(theta: ti.template(), h, px, py, pz, mode: ti.template()):
        """q_h = theta_h^T x, in the modes by squaring times the factor that `small_exp` wants."""
        scale = ti.static(SCALES[mode])
        qx = (theta[h, 0, 0] * px + theta[h, 1, 0] * py + theta[h, 2, 0] * pz) * scale
        qy = (theta[h, 0, 1] * px + theta[h, 1, 1] * py + theta[h, 2, 1] * pz) * scale
        qz = (theta[h, 0, 2] * px + theta[h, 1, 2] * py + theta[h, 2, 2] * pz) * scale
        return qx, qy, qz

    @ti.func
    def apply(A: ti.template(), h, sx, sy, sz):
        """A_h s."""
        ax = A[h, 0, 0] * sx + A[h, 0, 1] * sy + A[h, 0, 2] * sz
        ay = A[h, 1, 0] * sx + A[h, 1, 1] * sy + A[h, 1, 2] * sz
        az = A[h, 2, 0] * sx + A[h, 2, 1] * sy + A[h, 2, 2] * sz
        return ax, ay, az

    @ti.func
    def largest(x: ti.template(), qx, qy, qz):
        """max_j <q, x_j>, lane by lane."""
        m = qx * x[0, 0] + qy * x[1, 0] + qz * x[2, 0]
        for j in range(1, x.shape[1]):
            m = ti.max(m, qx * x[0, j] + qy * x[1, j] + qz * x[2, j])
        return m

    @ti.func
    def term(exponent, m, mode: ti.template()):
        """exp of a summand, from a `query`: shifted by the maximum m only where the sums need it."""
        e = V(0)
        if ti.static(mode <= PLAIN):
            e = ti.static(by_squaring[min(mode, PLAIN)])(exponent)
        elif ti.static(mode == WIDE):
            e = exp(exponent)
        else:
            e = exp(exponent - m)
        return e

    @ti.kernel
    def spread(x: cloud, columns: table):
        """The tokens' coordinates as three rows, which the sums read faster than triples."""
        for j in range(x.shape[0]):
            for k in ti.static(range(3)):
                columns[k, j] = x[j][k]

    @ti.kernel
    def sums(
        x: table, at: cloud, theta: heads, start: ti.i32, stop: ti.i32, mode: ti.template(), moments: ti.template(), out: packed
    ):
        """Z, S and m of every head at the points start..stop of `at`: sum_j e^{<q, x_j> - m} (1, x_j), m = 0 unless shifted."""
        H, n = theta.shape[0], x.shape[1]
        ti.loop_config(block_dim=1)
        for task in range((stop - start + lanes - 1) // lanes * H):
            block, h = task // H, task % H
            px, py, pz = load(at, start + block * lanes)
            qx, qy, qz = query(theta, h, px, py, pz, mode)
            m = V(0)
            if ti.static(mode == SHIFTED):
                m = largest(x, qx, qy, qz)
            z, sx, sy, sz = V(0), V(0), V(0), V(0)
            for j in range(n):
                tx, ty, tz = x[0, j], x[1, j], x[2, j]
                e = term(qx * tx + qy * ty + qz * tz, m, mode)
                z += e
                if ti.static(moments):
                    sx += e * tx
                    sy += e * ty
                    sz += e * tz
            out[block, h, 0] = z
            out[block, h, 1] = m
            if ti.static(moments):
                out[block, h, 2] = sx
                out[block, h, 3] = sy
                out[block, h, 4] = sz

    @ti.func
    def ends(summed: ti.template(), block, H, mode: ti.template()):
        """Largest and smallest shift m_h over the heads."""
        top, bottom = V(0), V(0)
        if ti.static(mode == SHIFTED):
            top, bottom = summed[block, 0, 1], summed[block, 0, 1]
            for h in range(1, H):
                top, bottom = ti.max(top, summed[block, h, 1]), ti.min(bottom, summed[block, h, 1])
        return top, bottom

    @ti.kernel
    def combine(
        at: cloud,
        theta: heads,
        value: heads,
        summed: packed,
        tokens: ti.i32,
        flow: ti.i32,
        sign: real,
        start: ti.i32,
        stop: ti.i32,
        mode: ti.template(),
        v: cloud,
        scalars: table,
        reference: table,
    ):
        """From the heads' sums to v, U, b and <g, v>, each relative to the largest (or for b smallest) shift."""
        H = theta.shape[0]
        for block in range((stop - start + lanes - 1) // lanes):
            first = start + block * lanes
            one = ti.cast(1, real)
            top, bottom = ends(summed, block, H, mode)
            gx, gy, gz, lx, ly, lz = V(0), V(0), V(0), V(0), V(0), V(0)  # sum_h theta_h S_h, and with the value matrices
            potential, inverse = V(0), V(0)
            for h in range(H):
                z, m = summed[block, h, 0], summed[block, h, 1]
                sx, sy, sz = summed[block, h, 2], summed[block, h, 3], summed[block, h, 4]
                up, down = V(one), V(one)
                if ti.static(mode == SHIFTED):
                    up, down = exp(m - top), exp(bottom - m)
                ax, ay, az = apply(theta, h, sx, sy, sz)
                gx += up * ax
                gy += up * ay
                gz += up * az
                w = up
                if flow == 0:
                    w = one / z
                ax, ay, az = apply(value, h, sx, sy, sz)
                lx += w * ax
                ly += w * ay
                lz += w * az
                potential += up * z
                inverse += down / z
            # the sums over heads and tokens become means: 1/(H N) for G and grad G, N/H for 1/G, 1/H for the softmax
            n, count = ti.cast(tokens, real), ti.cast(H, real)
            mean = one / (n * count)
            inverse *= n / count
            scale = V(mean)
            if flow == 0:
                scale = V(one / count)
            elif flow == 1:
                scale = inverse * mean
                if ti.static(mode == SHIFTED):
                    scale *= exp(top - bottom)
            elif ti.static(mode == SHIFTED):
                scale *= exp(top)
            scale *= sign
            px, py, pz = load(at, first)
            radial = lx * px + ly * py + lz * pz
            vx, vy, vz = scale * (lx - radial * px), scale * (ly - radial * py), scale * (lz - radial * pz)
            gv = mean * (gx * vx + gy * vy + gz * vz)
            for lane in ti.static(range(lanes)):
                i = first + lane
                if i < stop:
                    v[i] = V3(vx[lane], vy[lane], vz[lane])
                    scalars[U, i] = mean * potential[lane]
                    scalars[B, i] = one / inverse[lane]
                    scalars[GV, i] = gv[lane]
                    reference[0, i] = top[lane]
                    reference[1, i] = bottom[lane]

    @ti.kernel
    def potential(
        summed: packed, count: ti.i32, start: ti.i32, stop: ti.i32, mode: ti.template(), scalars: table, reference: table
    ):
        """U alone, relative to the largest shift."""
        H = summed.shape[1]
        for block in range((stop - start + lanes - 1) // lanes):
            top, _ = ends(summed, block, H, mode)
            total = V(0)
            for h in range(H):
                if ti.static(mode == SHIFTED):
                    total += summed[block, h, 0] * exp(summed[block, h, 1] - top)
                else:
                    total += summed[block, h, 0]
            mean = ti.cast(1, real) / (ti.cast(count, real) * ti.cast(H, real))
            for lane in ti.static(range(lanes)):
                i = start + block * lanes + lane
                if i < stop:
                    scalars[U, i] = mean * total[lane]
                    reference[0, i] = top[lane]

    return SimpleNamespace(spread=spread, sums=sums, combine=combine, potential=potential, load=load, query=query, term=term)

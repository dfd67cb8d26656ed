"""Small kernels over a cloud: Runge-Kutta combinations, great-circle interpolation, lengths."""

import functools
from types import SimpleNamespace

import taichi as ti

from sim import runtime


@functools.cache
def kernels(precision: str) -> SimpleNamespace:
    """The kernels for clouds stored in `precision`."""
    real = runtime.real_type(precision)
    vec3 = ti.types.vector(3, real)
    cloud = ti.types.ndarray(dtype=vec3, ndim=1)
    shown = ti.types.ndarray(dtype=ti.math.vec3, ndim=1)

    @ti.kernel
    def combine(x: cloud, k1: cloud, k2: cloud, k3: cloud, k4: cloud, c1: real, c2: real, c3: real, c4: real, out: cloud):
        for i in x:
            p = x[i] + c1 * k1[i]
            # a stage that is not there has weight 0 and may hold anything, NaN included
            if c2 != 0:
                p += c2 * k2[i]
            if c3 != 0:
                p += c3 * k3[i]
            if c4 != 0:
                p += c4 * k4[i]
            out[i] = p / p.norm()

    @ti.kernel
    def between(a: cloud, b: cloud, fraction: real, out: shown):
        # slerp by angle; the chord gives the angle accurately even when the two states nearly coincide
        for i in a:
            p, q = a[i], b[i]
            half = ti.min((q - p).norm() / 2, ti.cast(1, real))
            angle = 2 * ti.asin(half)
            one = ti.cast(1, real)
            r = p + fraction * (q - p)
            if angle > one / 1024:
                r = ti.sin((one - fraction) * angle) * p + ti.sin(fraction * angle) * q
            size = r.norm()
            if size < one / 1048576:  # antipodal states have no shortest way between them
                r, size = q, one
            out[i] = ti.cast(r / size, ti.f32)

    @ti.kernel
    def lengths(v: cloud, out: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in v:
            out[i] = ti.cast(v[i].norm(), ti.f32)

    return SimpleNamespace(combine=combine, between=between, lengths=lengths)

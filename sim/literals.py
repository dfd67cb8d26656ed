"""Numbers inside kernels of both precisions. Taichi's float literals are f32 unless its default is f64, so in an f64 kernel
`0.1` is off in the eighth digit. Integers and dyadic fractions are exact either way; other constants go through `pieces`.
"""

import numpy as np
import taichi as ti


def pieces(value: float) -> tuple[float, float, float]:
    """Three numbers, each exact in f32, whose sum in f64 is `value` to the last bit."""
    high = float(np.float32(value))
    middle = float(np.float32(value - high))
    return high, middle, float(np.float32(value - high - middle))


@ti.func
def constant(real: ti.template(), parts: ti.template()):
    """The number that `pieces` took apart, in the kernel's own precision."""
    return ti.cast(parts[0], real) + ti.cast(parts[1], real) + ti.cast(parts[2], real)

"""Entry point of the child process in which `runtime.probe` tries a backend: `python -m sim.probe ARCH`."""

import sys

import numpy as np
import taichi as ti

from sim import runtime


def main(arch: str) -> str:
    """Start `arch`, run one kernel in f32 and f64, and say what worked. Raises whatever the backend raises."""
    runtime.start(arch)

    @ti.kernel
    def square(x: ti.types.ndarray()):
        for i in x:
            x[i] = x[i] * x[i]

    exact = []
    for dtype in (np.float32, np.float64):
        values = np.arange(1, 5, dtype=dtype) / 3
        result = values.copy()
        try:
            square(result)
        except RuntimeError:
            continue
        if np.allclose(result, values**2, rtol=4 * np.finfo(dtype).eps):
            exact.append("f32" if dtype is np.float32 else "f64")
    if "f32" not in exact:
        raise RuntimeError("starts, but computes wrong numbers")
    return ", ".join(exact)


if __name__ == "__main__":
    print(main(sys.argv[1]))

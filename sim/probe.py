"""Entry point of the child process in which `runtime.probe` tries a backend: `python -m sim.probe ARCH`."""

import sys

import numpy as np
import taichi as ti

from sim import runtime

TOLERANCE = 32  # in last bits of the type: GPUs take exp and sin from their own libraries


def main(arch: str) -> str:
    """Start `arch`, run one kernel in f32 and f64, and say what worked: "f32" or "f32, f64".

    Raises BackendUnavailable when it does not start, RuntimeError when it computes wrong numbers.
    """
    runtime.start(arch)
    exact = [name for name, dtype in (("f32", np.float32), ("f64", np.float64)) if _computes(dtype)]
    if "f32" not in exact:
        raise RuntimeError("starts, but computes wrong numbers")
    return ", ".join(exact)


def _computes(dtype) -> bool:
    """Do sin and exp work in this type? Some backends multiply doubles and cannot compile these."""

    @ti.kernel
    def wave(x: ti.types.ndarray()):
        for i in x:
            x[i] = ti.exp(x[i]) * ti.sin(x[i])

    x = np.arange(1, 5, dtype=dtype) / 3
    found = x.copy()
    try:
        wave(found)
        ti.sync()
    except RuntimeError:
        return False
    return np.allclose(found, np.exp(x) * np.sin(x), rtol=TOLERANCE * np.finfo(dtype).eps, atol=0)


if __name__ == "__main__":
    try:
        print(main(sys.argv[1]))
    except RuntimeError as error:
        sys.exit(str(error))

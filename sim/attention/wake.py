"""The recent past of a cloud, for trails: what was at past grid times, a function of the system's history alone."""

import functools
from typing import Any

import numpy as np
import taichi as ti
import taichi.math as tm

from sim import runtime

TOKENS = 2**16  # that leave a trail at most; beyond, a fixed random sample of the cloud
SEGMENTS = 2**18  # tokens times stretches between two kept states
MOST, FEWEST = 48, 4  # stretches


class Wake:
    """Clouds of the last `duration` units of time of a flow of `count` tokens with steps `dt`, every `stride` steps.

    `clouds` is (slots + 1, M) of f32 vec3, M tokens `picked` (M,) of i32; the last row is free for the cloud of the moment.
    """

    def __init__(self, count: int, dt: float, duration: float, precision: str) -> None:
        self.dt, self.duration = dt, duration
        tokens = min(count, TOKENS)
        steps = max(1, int(np.ceil(duration / dt)))
        self.stride = max(1, -(-steps // min(max(SEGMENTS // tokens, FEWEST), MOST)))
        self.slots = -(-steps // self.stride) + 3  # the oldest is older than `duration`, the newest may lie past the moment shown
        self.clouds = ti.ndarray(tm.vec3, (self.slots + 1, tokens))
        self.picked = ti.ndarray(ti.i32, tokens)
        chosen = np.random.Generator(np.random.PCG64(0)).permutation(count)[:tokens] if count > tokens else np.arange(count)
        self.picked.from_numpy(np.sort(chosen).astype(np.int32))
        self._keep = _kernel(precision)
        self._first = self._newest = 0

    def restart(self, step: int, x: ti.Ndarray) -> None:
        """Forget everything: the past begins with the cloud x at step number `step`."""
        self._first = -(-step // self.stride)
        self._newest = self._first - 1
        self.record(step, x)

    def record(self, step: int, x: ti.Ndarray) -> None:
        """Keep the cloud x (N,) of step number `step` if it is one of those kept."""
        if step % self.stride == 0:
            self._newest = step // self.stride
            self._keep(x, self.picked, self.clouds, self._newest % self.slots)

    def until(self, time: float) -> list[tuple[int, float]]:
        """(row of `clouds`, its time) of the kept states up to `time`, oldest first; one of them older than `time - duration`."""
        tick = self.stride * self.dt
        last = min(self._newest, int(np.floor(time / tick + 1e-6)))
        first = max(self._first, self._newest - self.slots + 1, int(np.floor((time - self.duration) / tick)))
        return [(n % self.slots, n * tick) for n in range(first, last + 1)]


@functools.cache
def _kernel(precision: str) -> Any:
    vec3 = ti.types.vector(3, runtime.real_type(precision))

    @ti.kernel
    def keep(
        x: ti.types.ndarray(dtype=vec3, ndim=1),
        picked: ti.types.ndarray(dtype=ti.i32, ndim=1),
        clouds: ti.types.ndarray(dtype=tm.vec3, ndim=2),
        slot: int,
    ):
        for i in picked:
            clouds[slot, i] = ti.cast(x[picked[i]], ti.f32)

    return keep

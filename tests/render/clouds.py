"""A system that only stands there: what the globe view reads of an attention flow, with a cloud given by the test.

As a program (`python -m tests.render.clouds THREADS`) it prints a digest of fixed pictures, drawn with that many threads.
"""

import hashlib
import sys

import numpy as np
import taichi as ti
import taichi.math as tm

from render.frame import Frame
from render.globe import GlobeView
from scenes import views
from sim import runtime


class StillCloud:
    """`shown` is where the tokens are drawn; `start`, `speeds`, `labels` only give them colours."""

    def __init__(self, shown, start=None, speeds=None, labels=None) -> None:
        shown = np.asarray(shown, np.float64).reshape(-1, 3)
        self.count, self.step_index = len(shown), 0
        self.start = np.nan_to_num(shown, posinf=0, neginf=0) if start is None else np.asarray(start, np.float64)
        self._shown = ti.ndarray(tm.vec3, self.count)
        self._shown.from_numpy(shown.astype(np.float32))
        self._speeds = ti.ndarray(ti.f32, self.count)
        self._speeds.from_numpy(np.zeros(self.count, np.float32) if speeds is None else np.asarray(speeds, np.float32))
        self._labels = np.zeros(self.count, np.int32) if labels is None else np.asarray(labels, np.int32)

    def shown(self, _time: float) -> ti.Ndarray:
        return self._shown

    def speeds(self) -> ti.Ndarray:
        return self._speeds

    def cluster_labels(self) -> np.ndarray:
        return self._labels


def uniform(count: int, seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=(count, 3))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def view(
    size: tuple[int, int] = (320, 180), azimuth: float = 0.0, elevation: float = 0.0, zoom: float = 1.0, **keys
) -> GlobeView:
    camera = views.Camera(azimuth=azimuth, elevation=elevation, zoom=zoom)
    return GlobeView(views.GlobeView(kind="globe", camera=camera, **keys), size)


def picture(system: StillCloud, size: tuple[int, int] = (320, 180), **keys) -> np.ndarray:
    """(H, W, 3) uint8"""
    made, frame = view(size, **keys), Frame(*size)
    made.draw(frame, system, 0.0)
    made.release()
    return frame.rgb()


def digest() -> str:
    """Of crowded pictures where many threads meet at the same samples: balls, dust, and exact ties."""
    x = uniform(3000)
    clouds = [(x, 0.05), (uniform(60_000), 0.001), (np.concatenate([x[:500]] * 6), 0.08)]
    drawn = [picture(StillCloud(c, speeds=np.arange(len(c)) % 7), color="speed", token_radius=r) for c, r in clouds]
    return hashlib.sha256(b"".join(image.tobytes() for image in drawn)).hexdigest()


if __name__ == "__main__":
    runtime.start("cpu", threads=int(sys.argv[1]))
    sys.stdout.write(digest())

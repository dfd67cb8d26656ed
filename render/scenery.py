"""What stands still while the tokens move: background, translucent globe, graticule, axis.

Recomputed only when the camera or the size changes. Two results: `picture`, the scene without tokens as finished pixels, and
`veil`, the front of the globe alone (premultiplied linear light) that tokens of the back side are seen through.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import taichi as ti
import taichi.math as tm
from numpy.typing import NDArray

from render.camera import GlobeFit
from render.painted import Coat
from render.palette import to_linear, to_srgb
from render.scenery_kernel import REACH, scenery_kernel
from render.shading import ENCODE_STEPS


@dataclass(frozen=True)
class Box:
    """The part of the picture that can hold anything but background: columns x0..x1, rows y0..y1, ends excluded."""

    x0: int
    y0: int
    x1: int
    y1: int

    @classmethod
    def around(cls, fit: GlobeFit, reach: float, size: tuple[int, int]) -> "Box":
        """Pixels within `reach` of the centre, clipped to the picture; possibly empty, never negative."""
        columns = np.clip([fit.x - reach - 1, fit.x + reach + 2], 0, size[0])
        rows = np.clip([fit.y - reach - 1, fit.y + reach + 2], 0, size[1])
        return cls(int(columns[0]), int(rows[0]), int(columns[1]), int(rows[1]))

    @property
    def width(self) -> int:
        return self.x1 - self.x0

    @property
    def height(self) -> int:
        return self.y1 - self.y0


class Transfer:
    """Tables between sRGB bytes and linear light on the device: no powers per pixel."""

    def __init__(self) -> None:
        self.decode = ti.ndarray(ti.f32, 256)
        self.decode.from_numpy(to_linear(np.arange(256)).astype(np.float32))
        self.encode = ti.ndarray(ti.f32, ENCODE_STEPS + 1)
        self.encode.from_numpy(to_srgb(np.arange(ENCODE_STEPS + 1) / ENCODE_STEPS).astype(np.float32))


class Scenery:
    """The scene without tokens on a picture of `size` pixels."""

    def __init__(self, size: tuple[int, int], transfer: Transfer) -> None:
        width, height = size
        self.size = size
        self.picture: NDArray[np.uint32] = np.empty((height, width), np.uint32)
        self.veil: Any = ti.ndarray(tm.vec4, (height, width))
        self._transfer = transfer
        self._key: Any = None
        self._no_texture = ti.ndarray(ti.f32, (1, 1, 1))
        self._no_ramp = ti.ndarray(tm.vec3, 1)

    def update(
        self, fit: GlobeFit, basis: NDArray[np.float64], *, globe: bool, graticule: bool, coat: Coat | None = None
    ) -> None:
        """Bring picture and veil up to date; free when nothing has changed. `coat`: the field painted on the sphere."""
        key = (fit, basis.tobytes(), globe, graticule, coat)
        if key == self._key:
            return
        same_place = self._key is not None and self._key[0] == fit
        width, height = self.size
        box = Box.around(fit, REACH * fit.radius, self.size) if same_place else Box(0, 0, width, height)
        scenery_kernel()(
            self.picture,
            self.veil,
            self._transfer.encode,
            ti.Matrix(basis.tolist(), ti.f32),
            fit.x,
            fit.y,
            fit.radius,
            box.x0,
            box.y0,
            box.x1,
            box.y1,
            int(globe),
            int(graticule),
            max(0.8, min(width, height) / 900),
            int(coat is not None),
            coat.texture if coat else self._no_texture,
            coat.ramp if coat else self._no_ramp,
            coat.low if coat else 0.0,
            1 / (coat.high - coat.low) if coat else 0.0,
        )
        self._key = key

    def release(self) -> None:
        """Free device memory."""
        self.veil = self._no_texture = self._no_ramp = None

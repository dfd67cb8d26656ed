"""A window of the plane and the square grid of points over it. No Taichi."""

import math
from dataclasses import dataclass

import numpy as np

MAX_POINTS = 2**28
MAX_COORDINATE = 1e15  # its square is finite in f32
F32_PIXEL = 32  # f32 is enough while a pixel is at least so many roundings of the largest coordinate wide
ROUNDING = {"f32": 2.0**-24, "f64": 2.0**-53}  # relative, half the distance from 1 to the next number


@dataclass(frozen=True)
class Window:
    """center (x, y) and width in units of the plane, size (W, H) in grid points. Raises ValueError, naming the value.

    Point (row, column) is x = cx + ((column + 1/2)/W - 1/2) width, y = cy + (1/2 - (row + 1/2)/H) width H/W: row 0 is the
    top, pixels are squares of side width/W, so circles stay round. The height of the window follows from the size.
    """

    center: tuple[float, float]
    width: float
    size: tuple[int, int]

    def __post_init__(self) -> None:
        columns, rows = self.size
        if columns < 1 or rows < 1 or columns * rows > MAX_POINTS:
            raise ValueError(f"size must be positive and at most {MAX_POINTS} points in all, not {self.size!r}")
        if not (math.isfinite(self.width) and 0 < self.width <= MAX_COORDINATE):
            raise ValueError(f"width must be positive and at most {MAX_COORDINATE:g}, not {self.width!r}")
        if not all(abs(x) <= MAX_COORDINATE for x in self.center):
            raise ValueError(f"center must be within +-{MAX_COORDINATE:g}, not {self.center!r}")

    @property
    def pixel(self) -> float:
        """Side of a grid square, in units of the plane."""
        return self.width / self.size[0]

    @property
    def reach(self) -> float:
        """The largest |coordinate|, which rounding is relative to."""
        tall = self.pixel * self.size[1]
        return max(abs(self.center[0]) + self.width / 2, abs(self.center[1]) + tall / 2)

    def enough(self, precision: str, least_reach: float = 0.0) -> bool:
        """Is a pixel wide enough for orbits in this precision to tell neighbours apart, with room for the map's stretching?

        least_reach: size of the states that points of this window stand for, where it is not that of the coordinates.
        """
        return self.pixel >= F32_PIXEL * ROUNDING[precision] * max(self.reach, least_reach)

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """x of every column (W,) and y of every row (H,), float64; symmetric to the bit about a centre at 0."""
        columns, rows = self.size
        x = self.center[0] + self.pixel / 2 * (2 * np.arange(columns) + 1 - columns)
        y = self.center[1] + self.pixel / 2 * (rows - 1 - 2 * np.arange(rows))
        return x, y

"""How the world lands on the picture: an orbit camera around the sphere, and a map of the (a, b) plane.

Pixel coordinates are continuous: x to the right, y down, (0, 0) the top left corner of the picture, so the centre of the pixel
[row, col] is (col + 0.5, row + 0.5). World and plane have y (or b) up.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

Inset = tuple[float, float, float, float]
"""Fractions of the picture's width, height, width, height kept free at the left, top, right and bottom."""

MARGIN = 0.86  # share of the free height (or width, if less) that the sphere's diameter takes at zoom 1
DRAG = 0.35  # degrees of orbit per pixel of dragging at zoom 1 on a 720 pixel high picture
ZOOM_LIMITS = (0.1, 100.0)  # those of scenes.views.Camera


@dataclass
class OrbitCamera:
    """Looks at the origin orthographically from azimuth and elevation (degrees), z up; from +x at azimuth 0, elevation 0.

    `spin` turns the azimuth by that many degrees per second of film.
    """

    azimuth: float = 30.0
    elevation: float = 20.0
    zoom: float = 1.0
    spin: float = 0.0

    def basis(self, film_time: float = 0.0) -> NDArray[np.float64]:
        """(3, 3) float64; rows are the world's directions of the picture's right, the picture's up, and towards the eye."""
        a, e = np.radians(self.azimuth + self.spin * film_time), np.radians(self.elevation)
        right = [-np.sin(a), np.cos(a), 0.0]
        up = [-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)]
        eye = [np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)]
        return np.array([right, up, eye])

    def drag(self, dx: float, dy: float, height: int = 720) -> None:
        """Follow a pointer that moved by (dx, dy) pixels, y down, on a picture of that height: the near surface comes along."""
        step = DRAG * 720 / height / self.zoom
        self.azimuth = (self.azimuth - step * dx + 180) % 360 - 180
        self.elevation = float(np.clip(self.elevation + step * dy, -90, 90))

    def zoom_by(self, factor: float) -> None:
        """Multiply the zoom, within ZOOM_LIMITS."""
        self.zoom = float(np.clip(self.zoom * factor, *ZOOM_LIMITS))

    def set_parameters(self, values: Mapping[str, float]) -> None:
        """Set azimuth, elevation, zoom or spin by name. Raises KeyError for another name."""
        for name, value in values.items():
            if name not in self.__dataclass_fields__:
                raise KeyError(f"an orbit camera has no {name!r}; it has {', '.join(self.__dataclass_fields__)}")
            setattr(self, name, float(value))


@dataclass(frozen=True)
class GlobeFit:
    """Where the unit sphere lies on the picture: its centre and radius, in pixels."""

    x: float
    y: float
    radius: float

    @classmethod
    def of(cls, size: tuple[int, int], zoom: float = 1.0, inset: Inset = (0, 0, 0, 0)) -> "GlobeFit":
        """Centred in what the inset leaves of a (width, height) picture, as large as fits with a margin, times the zoom."""
        width, height = size
        left, top, right, bottom = inset
        if min(inset) < 0 or left + right >= 1 or top + bottom >= 1:
            raise ValueError(f"inset {inset} leaves no room: fractions >= 0, left + right < 1 and top + bottom < 1")
        x, y = width * (1 + left - right) / 2, height * (1 + top - bottom) / 2
        free = min(width * (1 - left - right), height * (1 - top - bottom))
        return cls(x, y, MARGIN / 2 * free * zoom)

    def project(self, points: ArrayLike, basis: ArrayLike) -> NDArray[np.float64]:
        """(N, 3) world points -> (N, 3) float64: pixel x, pixel y, and depth towards the eye in sphere radii."""
        seen = np.asarray(points, np.float64) @ np.asarray(basis, np.float64).T
        return np.asarray(seen * [self.radius, -self.radius, 1] + [self.x, self.y, 0])


@dataclass(frozen=True)
class PlaneCamera:
    """A window on the (a, b) plane: `center` (a, b) and `width` in plane units; the height follows, so circles stay round.

    All float64, and `repr` round-trips, so a saved window is the same window again. Immutable: moves return a new camera.
    """

    center: tuple[float, float]
    width: float
    size: tuple[int, int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", (float(self.center[0]), float(self.center[1])))
        object.__setattr__(self, "width", float(self.width))
        object.__setattr__(self, "size", (int(self.size[0]), int(self.size[1])))
        if not (np.isfinite(self.center).all() and 0 < self.width < np.inf and min(self.size) >= 1):
            raise ValueError(f"not a window of the plane: center {self.center}, width {self.width}, size {self.size}")

    @property
    def scale(self) -> float:
        """Plane units per pixel, the same in both directions."""
        return self.width / self.size[0]

    @property
    def height(self) -> float:
        """Height of the window in plane units."""
        return self.scale * self.size[1]

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """(a_low, a_high, b_low, b_high), as matplotlib's imshow wants it."""
        (a, b), w, h = self.center, self.width / 2, self.height / 2
        return a - w, a + w, b - h, b + h

    def to_plane(self, x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Pixel coordinates -> (a, b)."""
        (a, b), (width, height) = self.center, self.size
        return (
            a + (np.asarray(x, np.float64) / width - 0.5) * self.width,
            b + (0.5 - np.asarray(y, np.float64) / height) * self.height,
        )

    def to_pixel(self, a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(a, b) -> pixel coordinates, also outside the picture."""
        (ca, cb), (width, height) = self.center, self.size
        return (
            ((np.asarray(a, np.float64) - ca) / self.width + 0.5) * width,
            (0.5 - (np.asarray(b, np.float64) - cb) / self.height) * height,
        )

    def pan(self, dx: float, dy: float) -> "PlaneCamera":
        """The picture's content moves by (dx, dy) pixels, y down: what was under the pointer stays under it."""
        a, b = self.center
        return replace(self, center=(a - dx * self.scale, b + dy * self.scale))

    def zoom(self, factor: float, x: float | None = None, y: float | None = None) -> "PlaneCamera":
        """Magnify by `factor` > 0 about a pixel (default the middle), whose plane point stays where it is."""
        width, height = self.size
        dx, dy = (0.0 if x is None else x - width / 2), (0.0 if y is None else y - height / 2)
        lost = self.scale * (1 - 1 / factor)
        a, b = self.center
        return replace(self, center=(a + dx * lost, b - dy * lost), width=self.width / factor)

    def zoom_to(self, x0: float, y0: float, x1: float, y1: float) -> "PlaneCamera":
        """Fit the rectangle between two corner pixels, in any order, into the picture. ValueError for a line or a point."""
        (width, height), share = self.size, max(abs(x1 - x0) / self.size[0], abs(y1 - y0) / self.size[1])
        if x0 == x1 or y0 == y1:
            raise ValueError("a rectangle needs two different corners in both directions")
        a, b = self.center
        dx, dy = (x0 + x1 - width) / 2, (y0 + y1 - height) / 2
        return replace(self, center=(a + dx * self.scale, b - dy * self.scale), width=self.width * share)

    def resized(self, size: tuple[int, int]) -> "PlaneCamera":
        """The same centre and width on a picture of another size."""
        return replace(self, size=size)

"""A cubed sphere: where a field is computed, and the finer texture that pixels read.

Face 2a + s has the axis a (0, 1, 2 for x, y, z) and the sign + (s = 0) or - (s = 1); its points are sign e_a + t e_b + r e_c over
their length, b and c the next axes in turn. Nodes are equiangular, t = tan(angle), with one ring of them beyond each edge, so
that a face is interpolated by itself. Texture points are evenly spaced in t and r: a pixel finds its place without an arctangent.
"""

import functools

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
TEXELS = 128  # texture cells along a face's side


@functools.cache
def nodes(cells: int) -> Floats:
    """(6 (cells+3)^2, 3) unit vectors; `cells` per side of a face."""
    angle = (np.arange(-1, cells + 2) / cells - 0.5) * np.pi / 2
    return _directions(np.tan(angle))


def directions() -> Floats:
    """(6 (TEXELS+1)^2, 3) unit vectors of the texture's points."""
    return _directions(np.linspace(-1, 1, TEXELS + 1))


def refined(values: Floats, cells: int) -> Floats:
    """Values at `nodes(cells)` -> (6, TEXELS+1, TEXELS+1) at the texture's points, by cubic interpolation along both sides."""
    m = _cubic(cells)
    return np.asarray(m @ values.reshape(6, cells + 3, cells + 3) @ m.T)


def _directions(t: Floats) -> Floats:
    n = len(t)
    faces = np.empty((6, n, n, 3))
    for a in range(3):
        for s, sign in enumerate((1.0, -1.0)):
            face = faces[2 * a + s]
            face[..., a] = sign
            face[..., (a + 1) % 3] = t[:, None]
            face[..., (a + 2) % 3] = t[None, :]
    points = faces.reshape(-1, 3)
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


@functools.cache
def _cubic(cells: int) -> Floats:
    """(TEXELS+1, cells+3): Lagrange interpolation through four nodes."""
    at = (np.arctan(np.linspace(-1, 1, TEXELS + 1)) * 4 / np.pi + 1) / 2 * cells
    i = np.clip(np.floor(at).astype(int), 0, cells - 1)
    f = at - i
    weights = [-f * (f - 1) * (f - 2) / 6, (f + 1) * (f - 1) * (f - 2) / 2, -(f + 1) * f * (f - 2) / 2, (f + 1) * f * (f - 1) / 6]
    table = np.zeros((TEXELS + 1, cells + 3))
    for k, weight in enumerate(weights):
        table[np.arange(TEXELS + 1), i + k] = weight
    return table

"""Initial clouds of tokens x_1..x_N on S^2, drawn on the host so that every backend starts from the same numbers."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Cloud = NDArray[np.float64]  # (N, 3), rows of length 1
OCTAHEDRON = np.concatenate([np.eye(3), -np.eye(3)])


def cloud(
    start: str,
    count: int,
    rng: np.random.Generator,
    *,
    noise: float = 0.05,
    angle: float = 30.0,
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0),
) -> Cloud:
    """Draw `count` unit vectors, shape (count, 3) float64.

    start: "uniform" on the sphere; "octahedron": the six vertices in turn, plus normal noise of deviation `noise`, normalised
    (the paper's experiments, arXiv 2605.18870); "cap": uniform within `angle` degrees of `axis`; "ring": evenly spaced on the
    great circle with normal `axis`, plus noise. Raises ValueError for another name.
    """
    if start == "uniform":
        return normalised(rng.standard_normal((count, 3)))
    if start == "octahedron":
        return normalised(OCTAHEDRON[np.arange(count) % 6] + noise * rng.standard_normal((count, 3)))
    frame = _frame(np.asarray(axis, dtype=np.float64))
    if start == "cap":
        z = rng.uniform(np.cos(np.radians(angle)), 1.0, count)  # area on the sphere is uniform in height (Archimedes)
        phi = rng.uniform(0.0, 2 * np.pi, count)
        r = np.sqrt(1 - z * z)
        return normalised(np.stack([r * np.cos(phi), r * np.sin(phi), z], axis=1) @ frame)
    if start == "ring":
        phi = 2 * np.pi * np.arange(count) / count
        circle = np.stack([np.cos(phi), np.sin(phi), np.zeros(count)], axis=1) @ frame
        return normalised(circle + noise * rng.standard_normal((count, 3)))
    raise ValueError(f"unknown start {start!r}; choose from uniform, octahedron, cap, ring")


def from_file(path: str | Path) -> Cloud:
    """Read tokens from a .npy of shape (N, 3) and normalise its rows. Raises ValueError saying what is wrong with the file."""
    try:
        values = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: not a readable .npy file ({error})") from error
    if values.ndim != 2 or values.shape[1] != 3 or len(values) == 0 or values.dtype.kind not in "fiu":
        raise ValueError(f"{path}: holds {values.dtype} of shape {values.shape}; real numbers of shape (N, 3) are wanted")
    values = values.astype(np.float64)
    bad = ~np.isfinite(values).all(axis=1) | ~(np.linalg.norm(values, axis=1) > 0)
    if bad.any():
        raise ValueError(f"{path}: row {int(np.argmax(bad))} is zero or not finite, so it has no direction")
    return normalised(values)


def normalised(x: Cloud) -> Cloud:
    """Project the rows of x on the sphere."""
    unit: Cloud = x / np.linalg.norm(x, axis=1, keepdims=True)
    return unit


def _frame(axis: Cloud) -> Cloud:
    """An orthonormal basis, as rows, whose third vector points along `axis`."""
    w = axis / np.linalg.norm(axis)
    u = np.eye(3)[np.argmin(np.abs(w))]
    u = u - (u @ w) * w
    u /= np.linalg.norm(u)
    return np.stack([u, np.cross(w, u), w])

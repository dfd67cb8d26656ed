"""Weights read from a file: the layers of a trained transformer as a path theta_h(t), and their projection to 3 x 3."""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from sim.attention.schedule import Heads, Schedule

INTERPOLATIONS = ("hold", "linear", "cubic")


class Keyframes(Schedule):
    """theta_h(t) from an .npz file: `theta` (K, H, 3, 3) and, where given, `times` (K,) ascending, else 0, 1, ..., K - 1.

    hold: each matrix stands until the next one's time; linear; cubic: the not-a-knot spline (through two matrices a line,
    through three a parabola). Before the first time the first matrix stands, after the last the last. `pace` is the file's
    time per unit of system time, > 0. `symmetrise` takes (theta + theta^T)/2 instead of what the file has.
    Raises ValueError saying what is wrong with the file.
    """

    kind = "keyframes"

    def __init__(
        self,
        *,
        file: str | Path,
        interpolation: str = "linear",
        pace: float = 1.0,
        symmetrise: bool = False,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        theta, self.times = read_keyframes(file)
        if theta.shape[1] != self.heads:
            raise ValueError(f"{file}: holds {theta.shape[1]} heads, the system has {self.heads}")
        self.keys = (theta + theta.transpose(0, 1, 3, 2)) / 2 if symmetrise else theta
        self.symmetric = np.array_equal(self.keys, self.keys.transpose(0, 1, 3, 2))
        self.pace = pace
        self._between = _interpolant(self.times, self.keys, interpolation)

    def law(self, half: float) -> Heads:
        t = half * self.dt / 2 * self.pace
        theta: Heads = np.asarray(self._between(min(max(t, self.times[0]), self.times[-1])))
        return theta


def read_keyframes(file: str | Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """theta (K, H, 3, 3) and times (K,) of an .npz file, float64. Raises ValueError saying what is wrong with it."""
    try:
        with open(file, "rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in ("theta", "times") if name in arrays}
    except (OSError, ValueError, TypeError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        # a plain .npy gives an array, which is no context (AttributeError up to Python 3.10, TypeError from 3.11 on)
        raise ValueError(f"{file}: not a readable .npz file ({error})") from error
    if "theta" not in found:
        raise ValueError(f"{file}: has no array `theta`; real numbers of shape (K, H, 3, 3) are wanted")
    theta = found["theta"]
    if theta.ndim != 4 or theta.shape[2:] != (3, 3) or theta.size == 0 or theta.dtype.kind not in "fiu":
        raise ValueError(f"{file}: theta is {theta.dtype} of shape {theta.shape}; real numbers of shape (K, H, 3, 3) are wanted")
    times = found.get("times", np.arange(len(theta)))
    if times.shape != (len(theta),) or times.dtype.kind not in "fiu":
        raise ValueError(f"{file}: times is {times.dtype} of shape {times.shape}; {len(theta)} real numbers are wanted")
    theta, times = theta.astype(np.float64), times.astype(np.float64)
    if not (np.isfinite(theta).all() and np.isfinite(times).all()):
        raise ValueError(f"{file}: holds numbers that are not finite")
    if not (np.diff(times) > 0).all():
        raise ValueError(f"{file}: times must ascend, but times[{int(np.argmin(np.diff(times) > 0)) + 1}] does not")
    return theta, times


def project_heads(matrices: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Matrices (K, H, d, d), d >= 3, of a trained model as 3 x 3 ones: theta = U^T A U, (K, H, 3, 3), and what that keeps.

    The columns of U (d, 3) span the leading subspace of all of them together, rows and columns alike: the three leading
    eigenvectors of sum (A A^T + A^T A), each turned so that its largest entry is positive. The second result is the share
    of the Frobenius norm that is kept, |theta| / |A| over all K and H, in [0, 1]. Raises ValueError for another shape.
    """
    A = np.asarray(matrices, dtype=np.float64)
    if A.ndim != 4 or A.shape[2] != A.shape[3] or A.shape[2] < 3:
        raise ValueError(f"matrices of shape (K, H, d, d) with d >= 3 are wanted, got {A.shape}")
    gram = np.einsum("khij,khlj->il", A, A) + np.einsum("khji,khjl->il", A, A)
    U = np.linalg.eigh(gram)[1][:, ::-1][:, :3]
    U = U * np.sign(U[np.abs(U).argmax(axis=0), np.arange(3)])
    theta: NDArray[np.float64] = U.T @ A @ U
    size = float(np.linalg.norm(A))
    return theta, float(np.linalg.norm(theta)) / size if size > 0 else 1.0


def _interpolant(times: NDArray[np.float64], keys: NDArray[np.float64], interpolation: str) -> Any:
    """A function of the time within [times[0], times[-1]]."""
    if interpolation not in INTERPOLATIONS:
        raise ValueError(f"unknown interpolation {interpolation!r}; choose from {', '.join(INTERPOLATIONS)}")
    if len(times) > 1 and interpolation == "cubic":
        return CubicSpline(times, keys, bc_type="not-a-knot")

    def between(t: float) -> Heads:
        i = int(np.searchsorted(times, t, side="right")) - 1
        theta: Heads = keys[i]
        if interpolation == "linear" and i + 1 < len(times):
            theta = theta + (t - times[i]) / (times[i + 1] - times[i]) * (keys[i + 1] - theta)
        return theta

    return between

"""Numbers of a cloud that need no weights: how aligned it is, and how many clusters it has when counts must not flicker."""

import numpy as np
from numpy.typing import NDArray

from sim.attention.clusters import cluster_labels

WIDER = 1.25  # reach of the loose links, in reaches of the shown ones
LOOSE_LIMIT = 2048  # tokens up to which the loose clusters are worth their time


def order_parameter(x: NDArray[np.float64]) -> float:
    """|mean of x_i| of a cloud (N, 3): 1 for one point, 0 for a balanced cloud, an antipodal pair included."""
    return float(np.linalg.norm(x.mean(axis=0)))


def second_moment(x: NDArray[np.float64]) -> tuple[float, float, float]:
    """Eigenvalues of (1/N) sum x_i x_i^T of a cloud (N, 3), the largest first; their sum is 1 on the sphere.

    (1, 0, 0): one point or an antipodal pair; (1/2, 1/2, 0): a great circle; (1/3, 1/3, 1/3): a uniform cloud.
    """
    low, middle, high = np.linalg.eigvalsh(x.T @ x / len(x)).tolist()
    return high, middle, low


def loose_clusters(x: NDArray[np.float64], cosine: float) -> int | None:
    """Number of single-linkage clusters of x (N, 3) with links up to a quarter longer than at `cosine`; None past 2048 tokens."""
    if len(x) > LOOSE_LIMIT:
        return None
    reach = WIDER * np.sqrt(2 - 2 * cosine)
    return int(cluster_labels(x, max(1 - reach**2 / 2, -1.0)).max()) + 1


def held_clusters(counts: NDArray[np.float64], loose: NDArray[np.float64]) -> NDArray[np.float64]:
    """The number of clusters against time with hysteresis, (K,): it changes only when it no longer can be kept.

    counts (K,) at the shown cosine, loose (K,) at the longer reach, loose <= counts. A gap opens a new cluster when it passes
    the longer reach and closes one when it falls below the shown one; in between the former number stands.
    """
    held = np.empty(len(counts))
    for k, (high, low) in enumerate(zip(counts, loose, strict=True)):
        held[k] = min(max(held[k - 1], low), high) if k else high
    return held

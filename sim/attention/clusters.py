"""Single-linkage clusters of a cloud on the sphere: tokens whose cosine reaches a threshold are linked, components counted."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

SPARSE = 40  # links per token up to which the list of links is the cheapest way


def cluster_labels(x: NDArray[np.float64], cosine: float) -> NDArray[np.int32]:
    """Component of each token, shape (N,), numbered by each component's first token. x: (N, 3), cosine in (-1, 1)."""
    reach = float(np.sqrt(2 - 2 * cosine))
    tree = cKDTree(x)
    if tree.count_neighbors(tree, reach) <= SPARSE * len(x):
        links = tree.query_pairs(reach, output_type="ndarray")
        parts = _components(links, len(x))
    else:
        parts = _by_cells(x, reach)
    first = np.full(parts.max() + 1, len(x))
    np.minimum.at(first, parts, np.arange(len(x)))
    rank = np.empty_like(first)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[parts].astype(np.int32)


def _components(links: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    ones = np.ones(len(links), dtype=np.int8)
    graph = coo_array((ones, (links[:, 0], links[:, 1])), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def _by_cells(x: NDArray[np.float64], reach: float) -> NDArray[np.int64]:
    """For crowded clouds: the tokens of a cell no wider than `reach` are linked outright, so only pairs of cells are compared.

    The list of all links would grow as N^2 when tokens coincide.
    """
    side = reach / np.sqrt(3) * (1 - 1e-12)
    cells, cell_of, sizes = np.unique(np.floor(x / side).astype(np.int64), axis=0, return_inverse=True, return_counts=True)
    cell_of = cell_of.ravel()
    members = np.split(np.argsort(cell_of, kind="stable"), np.cumsum(sizes)[:-1])
    # tokens within reach lie in cells whose centres are within reach and a diagonal, 2 reach
    near = cKDTree((cells + 0.5) * side).query_pairs(2 * reach * (1 + 1e-9), output_type="ndarray")
    parent = np.arange(len(cells))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for i, j in near:
        a, b = root(i), root(j)
        if a != b and _touch(x[members[i]], x[members[j]], reach):
            parent[max(a, b)] = min(a, b)
    return np.array([root(i) for i in range(len(cells))])[cell_of]


def _touch(p: NDArray[np.float64], q: NDArray[np.float64], reach: float) -> bool:
    """Is some point of p within reach of some point of q?"""
    if len(p) * len(q) <= 4096:
        return bool((((p[:, None] - q[None]) ** 2).sum(axis=2) <= reach * reach).any())
    distance, _ = cKDTree(p).query(q, distance_upper_bound=reach * (1 + 1e-12))
    return bool((distance <= reach).any())

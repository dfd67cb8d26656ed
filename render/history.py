"""Diagnostics rows over a whole film as growing columns: one row costs the same however many there are."""

import math

import numpy as np
from numpy.typing import NDArray

from sim.system import Row


class History:
    """Rows of one table, oldest first. All rows have the names of the first."""

    def __init__(self) -> None:
        self.newest: Row | None = None
        self._names: tuple[str, ...] = ()
        self._table = np.empty((0, 0))  # (columns, room for rows): a column is contiguous
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, row: Row) -> None:
        """Add a row; None becomes NaN in the columns."""
        if self._count == 0:
            self._names = tuple(row)
        if self._count == self._table.shape[1]:
            larger = np.empty((len(self._names), max(64, 2 * self._count)))
            larger[:, : self._count] = self._table[:, : self._count] if self._count else 0.0
            self._table = larger
        self._table[:, self._count] = [math.nan if (value := row[name]) is None else value for name in self._names]
        self._count += 1
        self.newest = row

    def clear(self) -> None:
        """Forget all rows."""
        self.newest, self._count = None, 0

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """Column name -> values, float64; views that stay as they are until the next `clear`."""
        return {name: self._table[i, : self._count] for i, name in enumerate(self._names)} if self._count else {}

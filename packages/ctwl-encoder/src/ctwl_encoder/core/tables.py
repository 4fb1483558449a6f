"""Arrays that grow, and tables by a key of 64 bits, as the compiled loops take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .loops import put


def longer(rows: NDArray[Any], size: int) -> NDArray[Any]:
    """A copy with room for ``size`` rows, (size, ...); what is new is 0."""
    grown = np.zeros((size, *rows.shape[1:]), dtype=rows.dtype)
    grown[: len(rows)] = rows
    return grown


class Pool:
    """Rows of integers, one behind the other.

    Attributes:
        rows: int32 (capacity,) or (capacity, width); the first ``size`` are in use.
        size: how many.
    """

    def __init__(self, *width: int) -> None:
        """Begin empty."""
        self.rows: NDArray[np.int32] = np.empty((1024, *width), dtype=np.int32)
        self.size = 0

    def add(self, rows: Sequence[Any] | NDArray[np.int32]) -> tuple[int, int]:
        """Add some; the first one's place, and the place behind the last one."""
        start, stop = self.size, self.size + len(rows)
        if stop > len(self.rows):
            self.rows = longer(self.rows, 2 * stop)
        if stop > start:
            self.rows[start:stop] = rows
        self.size = stop
        return start, stop


class Table(NamedTuple):
    """A table with open addressing, see :func:`.loops.find`.

    Attributes:
        keys: uint64 (cells,), 0 in a free cell.
        values: int64 (cells, width).
    """

    keys: NDArray[np.uint64]
    values: NDArray[np.int64]


MOST_ENTRIES = 1 << 20
"""Entries of a memo; beyond them all are forgotten. Chosen by hand: only speed and memory depend on it."""


class Memo:
    """What is remembered by a key: some integers.

    Attributes:
        table: for the compiled loops.
    """

    def __init__(self, width: int) -> None:
        """Remember nothing yet."""
        self._width = width
        self.forget()

    def forget(self) -> None:
        """Forget all."""
        self._size = 0
        self.table = self._empty(1 << 10)

    def _empty(self, cells: int) -> Table:
        cells = 1 << (cells - 1).bit_length()
        return Table(np.zeros(cells, dtype=np.uint64), np.zeros((cells, self._width), dtype=np.int64))

    def add(self, keys: NDArray[np.uint64], values: Any) -> None:
        """Remember rows of integers, (n, width), by their keys, uint64 (n,); a key that is known gets another row."""
        if self._size + len(keys) > MOST_ENTRIES:
            self.forget()
        if 2 * (self._size + len(keys)) > len(self.table.keys):
            old, self.table = self.table, self._empty(4 * (self._size + len(keys)))
            used = np.flatnonzero(old.keys)
            put(*self.table, old.keys[used], old.values[used])
        put(*self.table, keys, np.asarray(values, dtype=np.int64).reshape(len(keys), self._width))
        self._size += len(keys)

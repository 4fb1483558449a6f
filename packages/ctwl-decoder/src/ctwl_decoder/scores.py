"""Scores: the evidence for each code, summed over contexts (spec section 10, step 6; the paper's equation 9).

The score of code ``m`` is the sum over contexts ``c`` of ``table[c, colour(c, m)]``. :func:`score_codes` uses NumPy and
reads like the specification; :func:`score_all` does the same for many codes in a compiled loop, and
:func:`search_windows` finds the best code of every window of a long text.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import Profile, hashing
from ctwl_protocol.kernel import fmix32_scalar, in_chunks, jit

from .evidence import Marks, Table

__all__ = ["code_space", "score_all", "score_codes", "score_slot_0", "search_windows"]

_BLOCK = 1 << 11
_GOLDEN = np.uint32(hashing.GOLDEN)
_S16, _LOW = np.uint32(16), np.uint32(0xFFFF)


def code_space(profile: Profile) -> NDArray[np.uint32]:
    """Every code of a profile: uint32 (2^code_bits,), made once and for all; not to be written to."""
    return _first_codes(profile.codes)


@cache
def _first_codes(count: int) -> NDArray[np.uint32]:
    return np.arange(count, dtype=np.uint32)


def score_codes(table: Table, codes: NDArray[np.uint32]) -> NDArray[np.int32]:
    """Scores of the given codes: int32, the shape of ``codes``. The NumPy reference."""
    scores = np.zeros(codes.shape, dtype=np.int32)
    for seed, row in zip(table.seeds, table.units, strict=True):
        scores += row[hashing.code_colours(int(seed), codes, len(row))]
    return scores


@jit
def _colours(seed: Any, spread: Any, colours: Any, found: Any) -> None:
    # floor(mixed * colours / 2^32) in 32-bit steps, which processors do many at a time; exact below 2^16 colours
    for k in range(len(spread)):
        mixed = fmix32_scalar(np.uint32(seed ^ spread[k]))
        low = np.uint32(np.uint32((mixed & _LOW) * colours) >> _S16)
        found[k] = np.uint32((np.uint32((mixed >> _S16) * colours) + low) >> _S16)


@jit
def _score(seeds: Any, table: Any, codes: Any, scores: Any, start: int, stop: int) -> None:
    colours = np.uint32(table.shape[1])
    found = np.empty(_BLOCK, np.uint32)
    for block in range(start, stop, _BLOCK):  # a block of scores stays in the first-level cache
        end = min(block + _BLOCK, stop)
        spread = codes[block:end] * _GOLDEN
        sums = np.zeros(end - block, np.int32)
        for c in range(len(seeds)):
            row = table[c]
            _colours(seeds[c], spread, colours, found)
            for k in range(len(sums)):
                sums[k] += row[found[k]]
        scores[block:end] = sums


def score_all(table: Table, codes: NDArray[np.uint32]) -> NDArray[np.int32]:
    """:func:`score_codes` for many codes: int32 (codes,)."""
    scores = np.empty(len(codes), dtype=np.int32)
    in_chunks(lambda start, stop: _score(table.seeds, table.units, codes, scores, start, stop), len(codes))
    return scores


def score_slot_0(marks: Marks, codes: NDArray[np.uint32], counts: Sequence[int]) -> dict[int, NDArray[np.int32]]:
    """Scores of slot 0 for several numbers of codes in a record: int32 (codes,) for each.

    Slot 0 of one number shares positions with that of others, so each group of positions is summed only once.
    """
    kept = marks[marks.first_occurrences()]
    member = kept.slots[:, [count - 1 for count in counts]] == 0
    patterns, group = np.unique(member, axis=0, return_inverse=True)
    scores = {count: np.zeros(len(codes), dtype=np.int32) for count in counts}
    for i, pattern in enumerate(patterns):
        part = score_all(Table.of(kept[group.reshape(-1) == i]), codes)
        for count in np.compress(pattern, counts).tolist():
            scores[count] += part
    return scores


@jit
def _search(
    seeds: Any,
    units: Any,
    cell: Any,
    windows: Any,
    codes: Any,
    running: Any,
    best: Any,
    which: Any,
    start: int,
    stop: int,
) -> None:
    colours = np.uint32(units.shape[1])
    block = running.shape[1]
    found = np.empty(block, np.uint32)
    best[:] = -(1 << 30)
    for first in range(start, stop, block):
        width = min(block, stop - first)
        spread = codes[first : first + width] * _GOLDEN
        running[:] = 0  # in the end the sums of everything before each cell
        for i in range(len(seeds)):
            row, sums = units[i], running[cell[i] + 1]
            _colours(seeds[i], spread, colours, found)
            for k in range(width):
                sums[k] += row[found[k]]
        for c in range(1, len(running)):
            for k in range(width):
                running[c, k] += running[c - 1, k]
        for w in range(len(windows)):
            left, right, top = running[windows[w, 0]], running[windows[w, 1]], best[w]
            highest = top
            for k in range(width):
                highest = max(highest, right[k] - left[k])
            if highest > top:
                best[w] = highest
                for k in range(width):
                    if right[k] - left[k] == highest:
                        which[w] = codes[first + k]
                        break


def search_windows(
    marks: Marks, places: NDArray[np.int64], windows: NDArray[np.int64], cell: int, codes: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    """The best code of each window and its score, every given mark counted: uint32 and int32 (windows,).

    Args:
        marks: the marks that count.
        places: int64 (marks,), where they stand in the text, ascending.
        windows: int64 (windows, 2), starts and ends in the text, multiples of ``cell``.
        cell: the grid of the windows.
        codes: uint32, ascending.
    """
    last = max(int(windows.max()), int(places.max(initial=0)) + 1)
    cells = -(-last // cell)
    block = int(np.clip((1 << 17) // cells, 64, _BLOCK))  # a block's sums stay in the second-level cache

    def work(start: int, stop: int) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
        best, which = np.empty(len(windows), np.int32), np.zeros(len(windows), np.uint32)
        running = np.empty((cells + 1, block), np.int32)
        _search(marks.seeds, marks.units, places // cell, windows // cell, codes, running, best, which, start, stop)
        return best, which

    parts = in_chunks(work, len(codes))
    best, which = (np.stack(column) for column in zip(*parts, strict=True))
    top = best.argmax(axis=0), np.arange(len(windows))
    return which[top], best[top]

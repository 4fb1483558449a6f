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

__all__ = ["best_codes", "code_space", "score_all", "score_codes", "search_windows"]

_BLOCK = 1 << 11
_CROWD, _ABOVE = 1 << 14, 1.75
_GOLDEN = np.uint32(hashing.GOLDEN)
_S16, _LOW, _S32 = np.uint32(16), np.uint32(0xFFFF), np.int64(32)


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


def best_codes(table: Table, codes: NDArray[np.uint32], most: int = 1) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    """The codes of highest score, the best first, and their scores: uint32 and int32, at most ``most``.

    Of many codes, those that stand below the crowd on the most telling third of the contexts are not looked at further,
    which leaves out hardly any that would be among the best in the end.
    """
    if len(codes) <= _CROWD:
        scores = score_all(table, codes)
    else:
        order = np.argsort(-table.units.var(axis=1), kind="stable")
        head, rest = np.split(order, [len(order) // 3])
        scores, units = score_all(table.of_contexts(head), codes), table.units[head]
        kept = np.flatnonzero(scores >= units.mean(axis=1).sum() + _ABOVE * np.sqrt(units.var(axis=1).sum()))
        if len(kept) < most:  # too few contexts for a crowd and those above it
            kept = np.arange(len(codes))
        codes = codes[kept]
        scores = scores[kept] + score_all(table.of_contexts(rest), codes)
    if most < len(codes):
        last = np.partition(scores, len(scores) - most)[len(scores) - most]
        kept = np.flatnonzero(scores >= last)
        codes, scores = codes[kept], scores[kept]
    best = np.lexsort((codes, -scores))[:most]
    return codes[best], scores[best]


@jit
def _search(  # noqa: PLR0912 - loops that share their arrays
    seeds: Any,
    units: Any,
    cell: Any,
    member: Any,
    windows: Any,
    codes: Any,
    running: Any,
    best: Any,
    which: Any,
    start: int,
    stop: int,
) -> None:
    colours = np.uint32(units.shape[1])
    counts, cells, block = running.shape
    found, worth, scores = np.empty(block, np.uint32), np.empty(block, np.int64), np.empty(block, np.int32)
    best[:] = -(1 << 30)
    for first in range(start, stop, block):
        width = min(block, stop - first)
        spread = codes[first : first + width] * _GOLDEN
        running[:] = 0  # in the end the sums of everything before each cell
        for i in range(len(seeds)):
            row = units[i]
            _colours(seeds[i], spread, colours, found)
            for k in range(width):
                worth[k] = row[found[k]]
            for n in range(counts):
                if member[i, n]:
                    sums = running[n, cell[i] + 1]
                    for k in range(width):
                        sums[k] += worth[k]
        for n in range(counts):
            for c in range(1, cells):
                for k in range(width):
                    running[n, c, k] += running[n, c - 1, k]
        for w in range(len(windows)):
            sums = running[windows[w, 0]]
            left, right = sums[windows[w, 1]], sums[windows[w, 2]]
            for v in range(len(best)):
                for k in range(width):
                    packed = right[k] - left[k]
                    low = np.int32(packed)
                    scores[k] = low if v == 0 else np.int32((packed - np.int64(low)) >> _S32)
                top = best[v, w]
                highest = top
                for k in range(width):
                    highest = max(highest, scores[k])
                if highest > top:
                    best[v, w] = highest
                    for k in range(width):
                        if scores[k] == highest:
                            which[v, w] = codes[first + k]
                            break


def search_windows(
    views: Sequence[Marks],
    places: NDArray[np.int64],
    windows: NDArray[np.int64],
    cell: int,
    codes: NDArray[np.uint32],
) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    """The best code in slot 0 of each window by each score, and what it scores, every given mark counted.

    Every position is hashed once, for all windows and all numbers of codes. Two scores are summed as the halves of one
    64-bit word, for little more than the price of one.

    Args:
        views: the marks that count, by one score or by two; but for the units they are the same.
        places: int64 (marks,), where they stand in the text, ascending.
        windows: int64 (windows, 3): how many codes the record has; start and end in the text, multiples of ``cell``, or
            the text's end.
        cell: the grid of the windows.
        codes: uint32, ascending.

    Returns:
        uint32 and int32 (views, windows).
    """
    marks, *others = views
    units = marks.units.astype(np.int64)
    for other in others:
        units += other.units.astype(np.int64) << _S32
    counts, which_count = np.unique(windows[:, 0], return_inverse=True)
    member = marks.slots[:, counts - 1] == 0
    grid = np.column_stack([which_count.reshape(-1), -(-windows[:, 1:] // cell)])
    cells = max(int(grid[:, 2].max()), int(places.max(initial=0)) // cell + 1)
    block = int(np.clip((1 << 16) // (cells * len(counts)), 64, _BLOCK))  # its sums stay in the second-level cache

    def work(start: int, stop: int) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
        best, which = np.empty((len(views), len(grid)), np.int32), np.zeros((len(views), len(grid)), np.uint32)
        running = np.empty((len(counts), cells + 1, block), np.int64)
        _search(marks.seeds, units, places // cell, member, grid, codes, running, best, which, start, stop)
        return best, which

    parts = in_chunks(work, len(codes))
    best, which = (np.stack(column) for column in zip(*parts, strict=True))
    top = best.argmax(axis=0)[None]
    return np.take_along_axis(which, top, 0)[0], np.take_along_axis(best, top, 0)[0]

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
from ctwl_protocol.partition.kernel import fold, in_chunks, jit, mix

from .evidence import ScoredPositions, ScoreTable

__all__ = ["best_codes", "code_space", "score_all", "score_codes", "search_windows"]

_BLOCK = 1 << 11
_CACHE = 1 << 19
_CROWD, _ABOVE = 1 << 14, 1.75
_GOLDEN, _S32 = np.uint32(hashing.GOLDEN), np.uint64(32)


def code_space(profile: Profile) -> NDArray[np.uint32]:
    """Every code of a profile: uint32 (2^code_bits,), made once and for all; not to be written to."""
    return _first_codes(profile.codes)


@cache
def _first_codes(count: int) -> NDArray[np.uint32]:
    return np.arange(count, dtype=np.uint32)


def score_codes(table: ScoreTable, codes: NDArray[np.uint32]) -> NDArray[np.int32]:
    """Scores of the given codes: int32, the shape of ``codes``. The NumPy reference."""
    scores = np.zeros(codes.shape, dtype=np.int32)
    for seed, row in zip(table.seeds, table.scores, strict=True):
        scores += row[hashing.code_colours(int(seed), codes, len(row))]
    return scores


@jit
def _folded(codes: Any) -> Any:
    folded = np.empty(len(codes), np.uint32)
    for k in range(len(codes)):
        folded[k] = fold(np.uint32(codes[k] * _GOLDEN))
    return folded


@jit
def _colours(seed: Any, folded: Any, colours: Any, found: Any) -> None:
    start = fold(seed)
    for k in range(len(folded)):
        mixed = mix(np.uint32(start ^ folded[k]))
        found[k] = np.uint32((np.uint64(mixed) * np.uint64(colours)) >> _S32)


@jit
def _score(seeds: Any, table: Any, codes: Any, scores: Any, start: int, stop: int) -> None:
    colours = np.uint32(table.shape[1])
    found = np.empty(_BLOCK, np.uint32)
    for block in range(start, stop, _BLOCK):  # a block of scores stays in the first-level cache
        end = min(block + _BLOCK, stop)
        folded = _folded(codes[block:end])
        sums = np.zeros(end - block, np.int32)
        for c in range(len(seeds)):
            row = table[c]
            _colours(seeds[c], folded, colours, found)
            for k in range(len(sums)):
                sums[k] += row[found[k]]
        scores[block:end] = sums


def score_all(table: ScoreTable, codes: NDArray[np.uint32]) -> NDArray[np.int32]:
    """:func:`score_codes` for many codes: int32 (codes,)."""
    scores = np.empty(len(codes), dtype=np.int32)
    in_chunks(lambda start, stop: _score(table.seeds, table.scores, codes, scores, start, stop), len(codes))
    return scores


def best_codes(
    table: ScoreTable, codes: NDArray[np.uint32], most: int = 1
) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    """The codes of highest score, the best first, and their scores: uint32 and int32, at most ``most``.

    Of many codes, those that stand below the crowd on the most telling third of the contexts are not looked at further,
    which leaves out hardly any that would be among the best in the end.
    """
    if len(codes) <= _CROWD:
        scores = score_all(table, codes)
    else:
        order = np.argsort(-table.scores.var(axis=1), kind="stable")
        head, rest = np.split(order, [len(order) // 3])
        scores, units = score_all(table.of_contexts(head), codes), table.scores[head]
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
def _sum_pieces(seeds: Any, units: Any, pieces: Any, folded: Any, found: Any, worth: Any, sums: Any) -> None:
    colours = np.uint32(units.shape[1])
    sums[:] = 0
    for i in range(len(seeds)):
        row = units[i]
        _colours(seeds[i], folded, colours, found)
        for k in range(len(folded)):
            worth[k] = row[found[k]]
        for piece in pieces[i]:
            if piece >= 0:
                into = sums[piece + 1]
                for k in range(len(folded)):
                    into[k] += worth[k]
    for piece in range(1, len(sums)):  # now the sums of all before each piece
        for k in range(len(folded)):
            sums[piece, k] += sums[piece - 1, k]


@jit
def _keep_best(left: Any, right: Any, codes: Any, half: Any, worth: Any, scores: Any, best: Any, which: Any) -> None:
    bias, mask = np.int64(1) << (half - 1), (np.int64(1) << half) - 1
    for k in range(len(codes)):
        worth[k] = right[k] - left[k]
    for v in range(len(best)):
        highest = best[v]
        for k in range(len(codes)):
            both = worth[k] + bias
            scores[k] = (both & mask) - bias if v == 0 else both >> half
            highest = max(highest, scores[k])
        if highest > best[v]:
            best[v] = highest
            for k in range(len(codes)):
                if scores[k] == highest:
                    which[v] = codes[k]
                    break


@jit
def _search(
    seeds: Any, units: Any, pieces: Any, ends: Any, codes: Any, half: int, sums: Any, best: Any, which: Any
) -> None:
    block = sums.shape[1]
    found, worth, scores = np.empty(block, np.uint32), np.empty(block, sums.dtype), np.empty(block, np.int32)
    best[:] = -(1 << 30)
    for start in range(0, len(codes), block):
        some = codes[start : start + block]
        _sum_pieces(seeds, units, pieces, _folded(some), found, worth, sums)
        for w in range(len(ends)):
            _keep_best(sums[ends[w, 0]], sums[ends[w, 1]], some, half, worth, scores, best[w], which[w])


def search_windows(
    views: Sequence[ScoredPositions],
    places: NDArray[np.int64],
    windows: NDArray[np.int64],
    codes: NDArray[np.uint32],
) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    """The best code in slot 0 of each window by each score, and what it scores, every given mark counted.

    Every position is hashed once, for all windows and all numbers of codes. Two scores are summed as the halves of one
    word, for little more than the price of one.

    Args:
        views: the marks that count, by one score or by two; but for the units they are the same.
        places: int64 (marks,), where they stand in the text, ascending.
        windows: int64 (windows, 3): how many codes the record has; start and end in the text.
        codes: uint32, ascending.

    Returns:
        uint32 and int32 (views, windows).
    """
    pieces, ends, count = _pieces(views[0], places, windows)
    reach = max(int(np.abs(view.scores.astype(np.int64)).max(axis=1, initial=0).sum()) for view in views)
    half, word = (16, np.int32) if reach < 1 << 15 else (32, np.int64)
    packed = np.asarray(sum(view.scores.astype(np.int64) << half * v for v, view in enumerate(views)), word)
    block = int(np.clip(_CACHE // (np.dtype(word).itemsize * count), 64, _BLOCK // 2))

    def work(start: int, stop: int) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
        best, which = np.empty((len(ends), len(views)), np.int32), np.zeros((len(ends), len(views)), np.uint32)
        sums = np.empty((count, block), word)
        _search(views[0].seeds, packed, pieces, ends, codes[start:stop], half, sums, best, which)
        return best, which

    parts = in_chunks(work, len(codes))
    best, which = (np.stack(column) for column in zip(*parts, strict=True))
    top = best.argmax(axis=0)[None]
    return np.take_along_axis(which, top, 0)[0].T, np.take_along_axis(best, top, 0)[0].T


def _pieces(
    marks: ScoredPositions, places: NDArray[np.int64], windows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """The pieces into which the windows of each number of codes cut the text, counted through.

    Returns:
        int64 (marks, numbers of codes), the piece that each mark lies in and carries slot 0 of, or -1; int64 (windows,
        2), the first piece of each window and the one behind its last; and how many ends there are in all.
    """
    counts = np.unique(windows[:, 0])
    pieces, ends = np.full((len(places), len(counts)), -1, np.int64), np.empty((len(windows), 2), np.int64)
    before = 0
    for column, count in enumerate(counts):
        rows = windows[:, 0] == count
        cuts = np.unique(windows[rows, 1:])
        ends[rows] = before + np.searchsorted(cuts, windows[rows, 1:])
        piece = np.searchsorted(cuts, places, side="right") - 1
        counted = (marks.slots[:, count - 1] == 0) & (piece >= 0) & (piece < len(cuts) - 1)
        pieces[counted, column] = before + piece[counted]
        before += len(cuts)
    return pieces, ends, before

"""The best code of each window of a text by its scores in slot 0 (spec section 10, step 6), in one pass over the text.

The windows cut the text into pieces. The scores of a code are summed over each piece, then over all pieces before each
cut; a window's score is the difference at its two ends. So each position is hashed once for all windows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import hashing
from ctwl_protocol.threads import in_chunks

from .scored_positions import ScoredPositions

_FEW = 1 << 21
"""So many pairs of a position and a code are scored by NumPy in the time that importing numba takes."""

_pairs_so_far = 0
"""Pairs that this process has scored: one short text needs no numba, many texts do."""

_SUMS = 1 << 23
"""Bytes of sums for one block of codes in one thread, at most: a very long text is searched in smaller blocks."""


def search_windows(
    texts: Sequence[ScoredPositions], places: NDArray[np.int64], windows: NDArray[np.int64], codes: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    """The best code in slot 0 of each window by each score, and its score. All given positions count.

    Two scores are summed as the two halves of one word, which costs little more than one score.

    Args:
        texts: the positions that count, by one score or by two; they differ in the scores alone.
        places: int64 (positions,), where they stand in the text, ascending.
        windows: int64 (windows, 3): the number of codes of the record, and the window's start and end in the text.
        codes: uint32, ascending.

    Returns:
        The best codes, uint32 (texts, windows), and their scores, int32 (texts, windows).
    """
    pieces, ends, count = _pieces(texts[0], places, windows)
    if not _compiled_pays(len(places) * len(codes)):
        return _search_few(texts, pieces, ends, count, codes)

    from .compiled import SEARCHED, search

    packed = np.asarray(sum(text.scores.astype(np.int32) << 16 * v for v, text in enumerate(texts)), np.int32)

    block = int(np.clip(_SUMS // (8 * count), 64, SEARCHED))

    def work(start: int, stop: int) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
        best, sums = np.empty((len(ends), len(texts)), np.int32), np.empty((count, block), np.int64)
        return best, search(texts[0].seeds, packed, pieces, ends, codes[start:stop], sums, best)

    parts = in_chunks(work, len(codes))
    best, which = (np.stack(column) for column in zip(*parts, strict=True))
    top = best.argmax(axis=0)[None]
    return np.take_along_axis(which, top, 0)[0].T, np.take_along_axis(best, top, 0)[0].T


def _compiled_pays(pairs: int) -> bool:
    """Whether this process has scored so much, with so many pairs more, that the compiled loops are worth an import."""
    global _pairs_so_far  # noqa: PLW0603
    _pairs_so_far += pairs
    return _pairs_so_far > _FEW


def _search_few(
    texts: Sequence[ScoredPositions],
    pieces: NDArray[np.int64],
    ends: NDArray[np.int64],
    count: int,
    codes: NDArray[np.uint32],
) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    """:func:`search_windows` in NumPy."""
    units = np.stack([text.scores for text in texts])
    sums = np.zeros((len(texts), count + 1, len(codes)), dtype=np.int32)
    for i, seed in enumerate(texts[0].seeds.tolist()):
        chosen = units[:, i, hashing.code_colours(seed, codes, units.shape[2])]
        for piece in pieces[i][pieces[i] >= 0].tolist():
            sums[:, piece + 1] += chosen
    sums = sums.cumsum(axis=1, dtype=np.int32)
    best, which = np.empty((2, len(texts), len(ends)), dtype=np.int32)
    for w, (first, last) in enumerate(ends.tolist()):
        scores = sums[:, last] - sums[:, first]
        which[:, w] = scores.argmax(axis=1)
        best[:, w] = np.take_along_axis(scores, which[:, w, None], 1)[:, 0]
    return codes[which], best


def _pieces(
    positions: ScoredPositions, places: NDArray[np.int64], windows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """The pieces into which the windows of each number of codes cut the text, numbered through all numbers of codes.

    Returns:
        The piece of each position for each number of codes, -1 where it does not carry slot 0: int64 (positions,
        numbers). The first piece of each window and the one after its last: int64 (windows, 2). The number of cuts in
        all.
    """
    counts = np.unique(windows[:, 0])
    pieces, ends = np.full((len(places), len(counts)), -1, np.int64), np.empty((len(windows), 2), np.int64)
    before = 0
    for column, count in enumerate(counts):
        rows = windows[:, 0] == count
        cuts = np.unique(windows[rows, 1:])
        ends[rows] = before + np.searchsorted(cuts, windows[rows, 1:])
        piece = np.searchsorted(cuts, places, side="right") - 1
        counted = (positions.slots[:, count - 1] == 0) & (piece >= 0) & (piece < len(cuts) - 1)
        pieces[counted, column] = before + piece[counted]
        before += len(cuts)
    return pieces, ends, before

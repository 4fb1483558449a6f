"""The likeliest record: codes of high score in their slots that agree with their check (spec section 10.4).

The check is the exclusive or of the codes, so the codes of all other slots determine a slot's code: where one slot
shows little, the other slots say what it must be. There are 2^60 records of three codes, too many to search. So the
search is among the records whose codes are likely in all slots but one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.numbers import NUMBERS

NOWHERE = NUMBERS.reading.nowhere
"""Score of a code that is not searched."""

_LIKELY = NUMBERS.reading.likely
"""Number of a slot's best codes that are combined with the best codes of other slots."""

_SAMPLED = 1 << 7
"""One code in this number is sampled first, to estimate the score of the best ones."""


def likeliest(slots: Sequence[NDArray[np.int32]], most: int = 1) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Records of highest score, the best first.

    Args:
        slots: int32 (codes,) each: the score of every code in each slot, the check's slot last.
        most: how many records, at most.

    Returns:
        int64 (records, slots), what the slots carry, the check included; int64 (records,), the sums of their scores.
    """
    from ..statistics.compiled import combine

    best = np.array([[int(scores.argmax()) for scores in slots]])
    if most == 1 and not np.bitwise_xor.reduce(best[0]):  # the best of every slot, and they agree
        return best, _sums(slots, best)
    likely = [_likely(scores) for scores in slots]
    candidates = []
    for follows, scores in enumerate(slots):
        others = [(codes, slots[slot][codes]) for slot, codes in enumerate(likely) if slot != follows]
        taken = _combinations(len(others))
        if min(len(codes) for codes, _ in others) < _LIKELY:
            taken = taken[(taken < [len(codes) for codes, _ in others]).all(axis=1)]
        known = np.zeros((2, len(others), _LIKELY), dtype=np.int32)
        for i, pair in enumerate(others):
            known[:, i, : len(pair[0])] = pair
        sums = combine(taken, known[0], known[1], scores)
        least = np.partition(sums, len(sums) - most)[len(sums) - most] if most < len(sums) else sums.min()
        carried = list(known[0, np.arange(len(others)), taken[sums >= least]].T)
        carried.insert(follows, np.bitwise_xor.reduce(carried))
        candidates.append(np.column_stack(carried))
    records = np.unique(np.concatenate(candidates), axis=0)  # in ascending order, so the smallest of equals is first
    sums = _sums(slots, records)
    order = np.argsort(-sums, kind="stable")[:most]
    order = order[sums[order] > NOWHERE // 2]
    return records[order].astype(np.int64), sums[order]


def _sums(slots: Sequence[NDArray[np.int32]], records: NDArray[np.int64]) -> NDArray[np.int64]:
    sums = np.zeros(len(records), dtype=np.int64)
    for scores, codes in zip(slots, records.T, strict=True):
        sums += scores[codes]
    return sums


def _likely(scores: NDArray[np.int32]) -> NDArray[np.int64]:
    """The best codes of a slot, best first, the smallest of equals."""
    sample = np.sort(scores[::_SAMPLED])[::-1]
    codes = np.flatnonzero(scores >= max(sample[min(3 * _LIKELY // _SAMPLED, len(sample) - 1)], NOWHERE + 1))
    if len(codes) < _LIKELY:  # a small space, or an odd sample
        codes = np.flatnonzero(scores > NOWHERE)
    likely: NDArray[np.int64] = codes[np.argsort(-scores[codes], kind="stable")][:_LIKELY]
    return likely


@cache
def _combinations(slots: int) -> NDArray[np.int64]:
    """Which of each slot's likely codes is taken, 0 for the best, in about 100,000 records: int64 (records, slots)."""
    bound = 1 << NUMBERS.reading.combination_bits - 2 * slots
    taken, size = np.empty((1, 0), dtype=np.int64), np.ones(1, dtype=np.int64)
    for _ in range(slots):
        room = np.minimum(bound // size, _LIKELY)
        rows = np.repeat(np.arange(len(taken)), room)
        more = np.arange(len(rows)) - np.repeat(np.cumsum(room) - room, room)
        taken, size = np.column_stack([taken[rows], more]), size[rows] * (more + 1)
    return taken

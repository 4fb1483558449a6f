"""The search for candidates in the whole text and in its windows (spec section 10, step 6; the tests of 10.2).

Two questions share the level: does the whole text carry one code, and does a window of it, one of a fixed grid of
lengths and places? Both are asked for each score, each set of codes, and each number of codes that a record may have.
Every answer is a code with the exact p-value of its own window, times the number of codes and windows that were
searched, divided by the share of the level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.numbers import NUMBERS

from ..statistics.scores import Score
from ..statistics.window_scores import search_windows
from .candidates import Candidate, CodeSet, ScoredText, Window

LENGTHS = NUMBERS.search.window_lengths
"""Lengths of the windows, in positions; the last is also the longest text that is tested as a whole."""

LONGEST_PART, STEP = NUMBERS.search.window_part, NUMBERS.search.window_step
"""A window's greatest length as a part of the text, and the part of its length after which the next one begins."""

POSITIONS_PER_CODE = NUMBERS.search.positions_per_code
"""Fewest positions of a window for each code of a record."""

ONE_CODE = NUMBERS.search.one_code
"""Share of the level for texts that carry one code, where records of several codes are searched too, which share the
rest."""

WHOLE = NUMBERS.search.whole
"""Share of the level for the whole text, where its windows are tested too."""

RECORD_TESTS = NUMBERS.search.record_tests
"""In so many ways records of several codes are tested (:mod:`.records`)."""

REPEAT_DISTANCE = NUMBERS.search.repeat_distance
"""In the search for candidates a (context, token) pair counts again after so many positions."""

_EVALUATED = NUMBERS.search.evaluated
"""Fewest windows that get an exact p-value."""

_STANDARD_SCORE = {Score(name): standard for name, standard in NUMBERS.search.standard_scores.items()}
"""A window whose best code lies at least so many standard deviations above the mean gets an exact p-value too."""


def windows_of(length: int, count: int = 1) -> NDArray[np.int64]:
    """The grid of windows inside a text: int64 (windows, 2), starts and ends; none in a text that is hardly longer.

    Records of ``count`` codes have no window of less than :data:`POSITIONS_PER_CODE` positions for each code.
    """
    rows = [
        (start, start + size)
        for size in LENGTHS
        if count * POSITIONS_PER_CODE <= size <= length * LONGEST_PART
        for start in range(0, length - size + 1, int(size * STEP))
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def find_candidates(
    texts: Sequence[ScoredText],
    code_sets: Sequence[CodeSet],
    counts: Sequence[int] = (1,),
    *,
    at_most: float | None = None,
) -> list[Candidate]:
    """The whole text's best code, and the best codes of the windows that are most likely to carry one, by each score.

    Args:
        texts: the text by one or several scores.
        code_sets: the codes; each set has a best code of its own.
        counts: how many codes a record may have; each number is searched by itself.
        at_most: leave out what a normal distribution gives a p-value above this, for a screen.
    """
    sums = [cache(partial(Window.of, text)) for text in texts]  # several sets of codes share them
    return [candidate for codes in code_sets for candidate in _find_in_set(texts, codes, counts, sums, at_most)]


def _find_in_set(
    texts: Sequence[ScoredText],
    codes: CodeSet,
    counts: Sequence[int],
    sums: Sequence[Callable[[int, int, int], Window]],
    at_most: float | None,
) -> list[Candidate]:
    positions = texts[0].positions  # all texts are the same but for the scores
    length = len(positions)
    whole = np.array([(0, length)] if length <= LENGTHS[-1] else [], dtype=np.int64).reshape(-1, 2)
    grids = [np.concatenate([whole, windows_of(length, count)]) for count in counts]
    windows = np.concatenate([np.insert(grid, 0, count, axis=1) for grid, count in zip(grids, counts, strict=True)])
    counted = np.flatnonzero(positions.first_occurrences(REPEAT_DISTANCE if length > REPEAT_DISTANCE else None))
    best, scores = search_windows([text.positions[counted] for text in texts], counted, windows, codes.codes)
    found: list[Candidate] = []
    for (i, text), (count, grid) in product(enumerate(texts), zip(counts, grids, strict=True)):
        own = windows[:, 0] == count
        slot = counted[positions.slots[counted, count - 1] == 0]
        standard = _standard(text, slot, grid, scores[i, own])
        tests = codes.number / (codes.share * text.share * _share_of_count(count, counts))
        both = len(grid) > len(whole) > 0
        for rows, share in ((slice(len(whole)), WHOLE), (slice(len(whole), None), 1 - WHOLE)):
            choices = text.variants * len(grid[rows])
            paid = tests / (share if both else 1) * choices
            worth = _worth_a_p_value(standard[rows], text.score, paid, at_most)
            for code, start, end in _outermost(np.column_stack([best[i, own], grid])[rows][worth].tolist()):
                found.append(sums[i](start, end, count).candidate(code, codes, paid, choices))
    return found


def _worth_a_p_value(
    standard: NDArray[np.float64], score: Score, tests: float, at_most: float | None
) -> NDArray[np.int64]:
    """Which windows get an exact p-value, the clearest first: int64. The others could hardly show a code."""
    order = np.argsort(-standard, kind="stable")
    if at_most is None:
        return order[: max(_EVALUATED, int((standard > _STANDARD_SCORE[score]).sum()))]
    return np.array([row for row in order if math.erfc(standard[row] / math.sqrt(2)) / 2 * tests <= at_most], np.int64)


def _outermost(windows: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Codes with their windows, best first; windows inside a better window of the same code are left out."""
    kept: dict[int, list[tuple[int, int, int]]] = {}
    for code, start, end in windows:
        same = kept.setdefault(code, [])
        if not any(other_start <= start and end <= other_end for _, other_start, other_end in same):
            same.append((code, start, end))
    return [each for same in kept.values() for each in same]


def _share_of_count(count: int, counts: Sequence[int]) -> float:
    """Share of the level for one test of records of ``count`` codes, where records of all ``counts`` are searched."""
    if count == 1:
        return ONE_CODE if len(counts) > 1 else 1.0
    return (1 - ONE_CODE) / (len(counts) - 1) / RECORD_TESTS


def _standard(
    text: ScoredText, slot: NDArray[np.int64], windows: NDArray[np.int64], scores: NDArray[np.int32]
) -> NDArray[np.float64]:
    """How many standard deviations the windows' best codes lie above a wrong code's mean: float64 (windows,).

    It decides which windows get an exact p-value. To leave one out loses power, never validity.

    Args:
        text: the text by one score.
        slot: int64, the positions that carry slot 0 and are counted.
        windows: int64 (windows, 2).
        scores: int32 (windows,), of their best codes.
    """
    values = text.positions.scores
    moments = np.zeros((2, len(values) + 1))
    moments[:, slot + 1] = values[slot].mean(axis=1), values[slot].var(axis=1)
    mean, variance = moments.cumsum(axis=1)
    starts, ends = windows[:, 0], windows[:, 1]
    spread = np.sqrt(np.maximum(variance[ends] - variance[starts], 1e-9))
    standard: NDArray[np.float64] = (scores - (mean[ends] - mean[starts])) / spread
    return standard

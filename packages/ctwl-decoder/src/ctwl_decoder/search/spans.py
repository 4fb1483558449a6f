"""Spans: where in a text the codes begin and end (spec section 10.3).

Windows that passed the test overlap, and their ends lie on a grid. A span is the stretch around such a window over
which the evidence for its code grows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.numbers import NUMBERS

from ..statistics.null import FLOOR
from ..statistics.scores import NAT, Score
from .candidates import Candidate

DROP = NUMBERS.spans.fall * NAT
"""A span ends where the evidence for its code falls by more than this."""

_TAKEN = NUMBERS.spans.taken
"""Score of a position that belongs to another span."""


@dataclass(frozen=True)
class PositionSpan:
    """Positions ``start`` to ``end`` carry a code, as the window ``candidate`` shows."""

    start: int
    end: int
    candidate: Candidate

    @property
    def code(self) -> int:
        """The span's code."""
        return self.candidate.code

    @property
    def by(self) -> Score:
        """The score that shows it."""
        return self.candidate.by


def merge(
    length: int, passed: list[Candidate], gap: int, contributions: Callable[[Candidate], NDArray[np.int64]]
) -> list[PositionSpan]:
    """Spans out of windows that may overlap, in the text's order; the clearest window is taken first.

    Args:
        length: the number of positions of the text.
        passed: the windows that passed the test.
        gap: two spans of one code become one where at most this number of positions lies between them.
        contributions: gives the score of every position for a candidate's codes, 0 where a pair of context and token
            comes back: int64 (positions,). The mean is below zero where the text does not carry them.
    """
    spans: list[PositionSpan] = []
    free = np.ones(length, dtype=np.bool_)
    for candidate in sorted(passed, key=_clearest_first):
        if any(span.code == candidate.code and candidate.overlaps(span.start, span.end) for span in spans):
            continue  # the same passage, less clearly
        if 2 * free[candidate.start : candidate.end].sum() < candidate.end - candidate.start:
            continue  # other spans hold most of its evidence
        values = np.where(free, contributions(candidate), _TAKEN)
        start, end = _extent(values, candidate.start, candidate.end)
        if start < end:
            free[start:end] = False
            spans.append(PositionSpan(start, end, candidate))
    return _merge_adjacent(sorted(spans, key=lambda span: span.start), gap)


def _clearest_first(candidate: Candidate) -> tuple[float, int | float]:
    """By p-value; at the smallest one that is reported, by the distance of the score from a wrong code's."""
    return candidate.p_value, candidate.expected - candidate.score if candidate.p_value <= FLOOR else 0


def _extent(values: NDArray[np.int64], start: int, end: int) -> tuple[int, int]:
    """The stretch with the most evidence inside the window ``start`` to ``end``; empty where there is none."""
    sums = np.append(0, values.cumsum())
    inside = [(first, last) for first, last in _growing_stretches(values) if first < end and start < last]
    if not inside:
        return start, start
    return max(inside, key=lambda stretch: int(sums[min(stretch[1], end)] - sums[max(stretch[0], start)]))


def _growing_stretches(values: NDArray[np.int64]) -> list[tuple[int, int]]:
    """The stretches over which the sum of the values grows without a fall of more than :data:`DROP`."""
    stretches = []
    total, peak, start, peak_end = 0, 0, 0, 0
    for i, value in enumerate([*values.tolist(), -DROP - 1]):
        total += value
        if total > peak:
            peak, peak_end = total, i + 1
        if total <= 0 or peak - total > DROP:
            if peak > 0:
                stretches.append((start, peak_end))
            total, peak, start = 0, 0, i + 1
    return stretches


def _merge_adjacent(spans: list[PositionSpan], gap: int) -> list[PositionSpan]:
    merged: list[PositionSpan] = []
    for span in spans:
        if merged and merged[-1].code == span.code and span.start - merged[-1].end <= gap:
            before = merged.pop()
            clearer = min(before.candidate, span.candidate, key=lambda candidate: candidate.p_value)
            merged.append(PositionSpan(before.start, span.end, clearer))
        else:
            merged.append(span)
    return merged

"""Spans: where in a text are which codes (spec section 10, steps 6 to 8).

Two questions share the level. Does the whole text carry one code? Does a window of it, one of a fixed grid of lengths
and places? Both are asked of each score. Every answer is a code with the exact p-value of its own window, multiplied by
the number of codes and windows that were searched, over its share of the level. The windows that pass are then merged
into spans, whose ends are where the evidence begins and stops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..statistics.code_scores import search_windows
from ..statistics.evidence import ScoredPositions, ScoreTable
from ..statistics.null import FLOOR, Null, null_of
from ..statistics.scores import NAT, Score

if TYPE_CHECKING:
    from .records import RecordReading

__all__ = ["Candidate", "CodeSet", "PositionSpan", "ScoredText", "Window", "candidates", "merge", "windows_of"]

LENGTHS = (96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
"""Lengths of the windows, in positions; the last is also the longest text that is tested as a whole."""

SHARE = 96
"""Fewest positions of a window for each code of a record."""

ONE_CODE = 1 / 2
"""Share of the level for texts that carry one code, as most do, where records of several are looked for too; these
divide the rest."""

WHOLE = 3 / 4
"""Share of the level for the whole text, where its windows are tested too: most texts come whole."""

WAYS = 2
"""Records of several codes are tested in two ways: by slot 0, and by all slots together (:mod:`.joint`)."""

APART = 256
"""In the search for candidates a (context, token) pair counts again after so many positions."""

DROP = 9 * NAT
"""A span ends where the evidence for its code falls by more than this: about what 40 tokens of other text take."""

_EVALUATED = 24
"""At least so many windows get an exact p-value."""

_STANDARD_SCORE = {Score.SOFT: 5.5, Score.RANK: 6.5, Score.COUNT: 5.5}
"""Windows whose best code lies so many standard deviations above the mean get one too. Ranks say much where they say
anything, so by them chance goes further."""


@dataclass(frozen=True)
class ScoredText:
    """A text's marks by one score.

    Attributes:
        marks: the marks.
        score: how they are scored.
        share: the share of the level that its tests may use; those of all views of a text add up to 1.
    """

    marks: ScoredPositions
    score: Score = Score.SOFT
    share: float = 1.0


@dataclass(frozen=True)
class CodeSet:
    """Codes that are searched.

    Attributes:
        codes: uint32, ascending.
        share: the share of the level that their tests may use; those of all searches of a text add up to 1.
    """

    codes: NDArray[np.uint32]
    share: float = 1.0


@dataclass(frozen=True)
class Candidate:
    """A window's best code.

    Attributes:
        start, end: positions of the window.
        count: how many codes the record has whose slot 0 carries the code.
        code: its best code.
        by: how positions were scored.
        score: the code's score there, in units.
        expected: the mean score of a wrong code.
        tests: everything that was searched.
        chance: of one wrong code to score as high in slot 0.
        p_value: corrected for all that was searched.
        codes: uint32, ascending: the codes that it is the best of.
        reading: the whole record, where it was read.
        beacons: of how many of its beacons it was read as a record, with or without success.
    """

    start: int
    end: int
    count: int
    code: int
    by: Score
    score: int
    expected: float
    tests: float
    chance: float
    p_value: float
    codes: NDArray[np.uint32] = field(repr=False, compare=False)
    reading: RecordReading | None = None
    beacons: int = 0

    @property
    def order(self) -> tuple[float, float]:
        """By p-value; those that are 1 by how many wrong codes are to be expected that score as high."""
        return self.p_value, self.tests * self.chance

    def overlaps(self, other: Candidate) -> bool:
        """Whether the windows have positions in common."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class PositionSpan:
    """A span: positions ``start`` to ``end`` carry ``code``; ``candidate`` is the window that shows it."""

    start: int
    end: int
    candidate: Candidate

    @property
    def code(self) -> int:
        """The span's code."""
        return self.candidate.code

    @property
    def by(self) -> Score:
        """How positions were scored that show it."""
        return self.candidate.by


def windows_of(length: int, count: int = 1) -> NDArray[np.int64]:
    """The grid of windows inside a text: int64 (windows, 2), starts and ends; none in a text that is hardly longer.

    Records of several codes get none of less than :data:`SHARE` positions for each.
    """
    rows = [
        (start, start + size)
        for size in LENGTHS
        if count * SHARE <= size <= length * 3 // 4
        for start in range(0, length - size + 1, size // 4)
    ]  # fmt: skip
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


@dataclass(frozen=True)
class Window:
    """A window's slot 0, in records of one number of codes.

    Attributes:
        start, end: its positions.
        count: how many codes the record has.
        by: how positions are scored.
        table: what slot 0 says about every code.
        null: of a wrong code's score there.
    """

    start: int
    end: int
    count: int
    by: Score
    table: ScoreTable
    null: Null

    @classmethod
    def of(cls, view: ScoredText, start: int, end: int, count: int = 1) -> Window:
        """The window of a text."""
        part = view.marks[start:end]
        table = ScoreTable.of(part[part.indices_of_slot(count, 0)])
        return cls(start, end, count, view.score, table, null_of(table.scores))

    def judge(self, code: int, codes: NDArray[np.uint32], tests: float) -> Candidate:
        """A code, the best of ``codes``, with its exact p-value times ``tests`` codes and windows."""
        score = self.table.score(code)
        return Candidate(
            self.start,
            self.end,
            self.count,
            code=code,
            by=self.by,
            score=score,
            expected=self.table.expected,
            tests=tests,
            chance=self.null.tail(score),
            p_value=self.null.p_value(score, tests),
            codes=codes,
        )


def candidates(
    views: Sequence[ScoredText], searches: Sequence[CodeSet], counts: Sequence[int] = (1,)
) -> list[Candidate]:
    """The whole text's best code, and the best codes of the windows that are most likely to carry one, in each view.

    Args:
        views: the text by one or several scores.
        searches: of the codes; each has its own best.
        counts: how many codes a record may have; each is searched by itself.
    """
    windowed = [cache(partial(Window.of, view)) for view in views]  # what several searches look at is summed once
    return [candidate for search in searches for candidate in _candidates(views, search, counts, windowed)]


def _candidates(
    views: Sequence[ScoredText],
    search: CodeSet,
    counts: Sequence[int],
    windowed: Sequence[Callable[[int, int, int], Window]],
) -> list[Candidate]:
    marks, codes = views[0].marks, search.codes  # but for the units all views are the same
    length = len(marks)
    whole = np.array([(0, length)] if length <= LENGTHS[-1] else [], dtype=np.int64).reshape(-1, 2)
    grids = [np.concatenate([whole, windows_of(length, count)]) for count in counts]
    windows = np.concatenate([np.insert(grid, 0, count, axis=1) for grid, count in zip(grids, counts, strict=True)])
    counted = np.flatnonzero(marks.first_occurrences(APART if length > APART else None))
    every = search_windows([view.marks[counted] for view in views], counted, windows, codes)
    found = []
    for (view, window, best, scores), (count, grid) in product(
        zip(views, windowed, *every, strict=True), zip(counts, grids, strict=True)
    ):
        rows = np.flatnonzero(windows[:, 0] == count)
        both = len(grid) > len(whole) > 0
        paid = len(codes) / (search.share * view.share * _share(count, counts))
        tests = paid / (WHOLE if both else 1)
        found += [window(0, length, count).judge(int(best[w]), codes, tests) for w in rows[: len(whole)]]
        rows = rows[len(whole) :]
        tests = paid / (1 - WHOLE if both else 1) * len(rows)
        places = counted[marks.slots[counted, count - 1] == 0]
        judged: dict[int, list[Candidate]] = {}
        for w in rows[_promising(view, places, windows[rows, 1:], scores[rows])]:
            start, end = windows[w, 1:].tolist()
            same = judged.setdefault(int(best[w]), [])
            if not any(other.start <= start and end <= other.end for other in same):  # else it adds nothing
                same.append(window(start, end, count).judge(int(best[w]), codes, tests))
        found += [candidate for same in judged.values() for candidate in same]
    return found


def _share(count: int, counts: Sequence[int]) -> float:
    """Of the level, for one test of records of so many codes, where those of all ``counts`` are looked for."""
    if count == 1:
        return ONE_CODE if len(counts) > 1 else 1.0
    return (1 - ONE_CODE) / (len(counts) - 1) / WAYS


def _promising(
    view: ScoredText, places: NDArray[np.int64], windows: NDArray[np.int64], scores: NDArray[np.int32]
) -> NDArray[np.int64]:
    """The windows worth an exact p-value, best first, by how far their best codes stand above a wrong code's mean.

    Leaving one out loses power, never validity.
    """
    marks, moments = view.marks, np.zeros((2, len(view.marks) + 1))
    moments[:, places + 1] = marks.scores[places].mean(axis=1), marks.scores[places].var(axis=1)
    mean, variance = moments.cumsum(axis=1)
    starts, ends = windows[:, 0], windows[:, 1]
    spread = np.sqrt(np.maximum(variance[ends] - variance[starts], 1e-9))
    standard = (scores - (mean[ends] - mean[starts])) / spread
    order = np.argsort(-standard, kind="stable")
    return order[: max(_EVALUATED, int((standard > _STANDARD_SCORE[view.score]).sum()))]


def merge(
    length: int, passed: list[Candidate], gap: int, worth: Callable[[Candidate], NDArray[np.int64]]
) -> list[PositionSpan]:
    """Spans out of overlapping windows, strongest first taken, in the text's order.

    A span is the stretch over which its code's evidence grows, which may reach beyond the window.

    Args:
        length: how many positions the text has.
        passed: the windows.
        worth: what every position is worth to a candidate's codes, by a score whose mean is below zero where they are
            not: int64 (positions,).
        gap: spans of one code become one where at most so many positions lie between them.
    """
    spans: list[PositionSpan] = []
    free = np.ones(length, dtype=np.bool_)
    for candidate in sorted(passed, key=lambda c: (c.p_value, -(c.score - c.expected) if c.p_value <= FLOOR else 0)):
        overlaps = [s for s in spans if s.start < candidate.end and candidate.start < s.end]
        if any(s.code == candidate.code for s in overlaps):
            continue  # a worse view of the same passage
        if 2 * free[candidate.start : candidate.end].sum() < candidate.end - candidate.start:
            continue  # its evidence is mostly spoken for
        series = np.where(free, worth(candidate), -(10**6))
        start, end = _extent(series, candidate.start, candidate.end)
        if end <= start:
            continue
        free[start:end] = False
        spans.append(PositionSpan(start, end, candidate))
    return _joined(sorted(spans, key=lambda s: s.start), gap)


def _extent(series: NDArray[np.int64], start: int, end: int) -> tuple[int, int]:
    """The stretch of evidence that a window shows: of all stretches, the one with the most of its sum in the window."""
    sums = np.append(0, series.cumsum())
    stretches = [(max(a, start), min(b, end), a, b) for a, b in _stretches(series) if a < end and start < b]
    if not stretches:
        return start, start
    *_, first, last = max(stretches, key=lambda s: int(sums[s[1]] - sums[s[0]]))
    return first, last


def _stretches(series: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Starts and ends of the stretches over which evidence grows, without a fall of more than :data:`DROP` inside."""
    found = []
    total, peak, start, top = 0, 0, 0, 0
    for i, worth in enumerate([*series.tolist(), -DROP - 1]):
        total += worth
        if total > peak:
            peak, top = total, i + 1
        if total <= 0 or peak - total > DROP:
            if peak > 0:
                found.append((start, top))
            total, peak, start, top = 0, 0, i + 1, i + 1
    return found


def _joined(spans: list[PositionSpan], gap: int) -> list[PositionSpan]:
    joined: list[PositionSpan] = []
    for span in spans:
        if joined and joined[-1].code == span.code and span.start - joined[-1].end <= gap:
            last = joined.pop()
            stronger = min(last.candidate, span.candidate, key=lambda c: c.p_value)
            joined.append(PositionSpan(last.start, span.end, stronger))
        else:
            joined.append(span)
    return joined

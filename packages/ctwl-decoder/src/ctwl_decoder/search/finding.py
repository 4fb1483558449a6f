"""From a variant's scored positions to its spans (spec section 10, steps 6 to 8)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..statistics.scored_positions import ScoredPositions
from ..statistics.scores import Score
from ..text.tokens import TokenizedVariant
from .candidates import Candidate, ScoredText
from .plan import SearchPlan
from .records import RecordReader
from .spans import PositionSpan, merge
from .windows import LENGTHS, find_candidates

Scored = Mapping[Score, ScoredPositions]
"""The positions of one variant, by each score."""


@dataclass(frozen=True)
class Finding:
    """What the tests found in one variant of a text.

    Attributes:
        variant: the variant.
        scored: for each score, the scored positions that show its spans and say where they end.
        best: the candidate with the smallest p-value.
        passed: the candidates that passed the test.
        spans: the spans, in the text's order; empty where nothing passed the test.
    """

    variant: TokenizedVariant
    scored: Scored
    best: Candidate
    passed: list[Candidate]
    spans: list[PositionSpan]

    @property
    def order(self) -> tuple[bool, tuple[float, float]]:
        """Of two variants the one with spans comes first, then the one with the clearer candidate."""
        return not self.spans, self.best.order

    def is_conclusive(self, alpha: float) -> bool:
        """Whether more evidence could hardly show more.

        Something was found, every code of a record of several is clear at the level, and no stretch outside the spans
        is as long as the shortest window.
        """
        bounds = [0, *(end for span in self.spans for end in (span.start, span.end)), len(self.variant.positions)]
        gaps = [end - start for start, end in zip(bounds[::2], bounds[1::2], strict=True)]
        return bool(self.spans) and max(gaps) < LENGTHS[0] and all(_is_clear(s.candidate, alpha) for s in self.spans)


def _is_clear(candidate: Candidate, alpha: float) -> bool:
    record = candidate.record
    return candidate.record_codes == 1 or (record is not None and max(record.p_values) <= alpha)


def find(
    variant: TokenizedVariant, scored: Scored, plan: SearchPlan, reader: RecordReader, earlier: Finding | None = None
) -> Finding:
    """Search one variant of a text.

    Args:
        variant: the variant.
        scored: its positions, by the scores of the plan.
        plan: what is searched.
        reader: reads records, and knows the profile.
        earlier: what other scores found in the variant; it is part of the finding.
    """
    # 6. and 7. best codes of windows, with their p-values
    candidates = reader.read_all(scored, _candidates(variant, scored, plan, reader))
    best = min(candidates, key=lambda candidate: candidate.order)
    passed = [candidate for candidate in candidates if candidate.passes(plan.alpha, reader.profile.codes)]
    # 8. spans of the windows that passed
    if earlier is not None:
        scored, passed = {**earlier.scored, **scored}, earlier.passed + passed
        best = min(earlier.best, best, key=lambda candidate: candidate.order)
    length, gap = len(variant.positions), reader.profile.prefix_length

    def values(candidate: Candidate) -> NDArray[np.int64]:
        positions = scored[candidate.by]
        return reader.contributions(positions, candidate) * positions.first_around(candidate.start, candidate.end)

    spans = merge(length, passed, gap, values)
    spans = [replace(span, candidate=reader.read_if_needed(scored[span.by], span.candidate)) for span in spans]
    return Finding(variant, scored, best, passed, spans)


def screen(variant: TokenizedVariant, scored: Scored, plan: SearchPlan, reader: RecordReader, level: float) -> float:
    """For scans of many texts: the smallest p-value of a variant; 1 where none is near the level.

    Where a normal distribution gives more than the level's root, no exact p-value is computed: it would hardly ever be
    so much smaller. That costs power alone. For the arguments see :func:`find`; ``level`` is that of the screen.
    """
    candidates = _candidates(variant, scored, plan, reader, at_most=math.sqrt(level))
    return min((candidate.p_value for candidate in candidates), default=1.0)


def _candidates(
    variant: TokenizedVariant, scored: Scored, plan: SearchPlan, reader: RecordReader, at_most: float | None = None
) -> list[Candidate]:
    """What is searched for what in a variant, each with its share of the level (spec section 10.2)."""
    texts = [ScoredText(scored[score], score, share, variant.variants) for score, share in plan.score_shares.items()]
    return find_candidates(texts, plan.code_sets, reader.counts, at_most=at_most)

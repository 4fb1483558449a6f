"""From a variant's scores to its spans (spec section 10, steps 5 to 8)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.profile.document import Profile

from ..statistics.light import light_units
from ..statistics.scored_positions import ScoredPositions
from ..statistics.scores import Score
from ..text.tokens import TokenizedVariant
from .candidates import Candidate, CodeSet, ScoredText
from .plan import SearchPlan
from .records import RecordReader
from .spans import PositionSpan, merge
from .windows import LENGTHS, find_candidates

Units = Mapping[Score, NDArray[np.int8]]
"""For each score that of every colour at every position: int8 (positions, colours)."""


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
    scored: Mapping[Score, ScoredPositions]
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


def score_positions(
    profile: Profile, variant: TokenizedVariant, units: Units, plan: SearchPlan
) -> dict[Score, ScoredPositions]:
    """The positions of a variant by each score of the plan (spec section 10, step 5)."""
    first, *others = plan.score_shares
    positions = ScoredPositions.of(profile, variant.positions, units[first])
    return {first: positions} | {score: replace(positions, scores=units[score]) for score in others}


def tests_of(
    scored: Mapping[Score, ScoredPositions], variant: TokenizedVariant, plan: SearchPlan
) -> tuple[list[ScoredText], list[CodeSet]]:
    """What is searched for what in a variant, each with its share of the level (spec section 10.2)."""
    texts = [ScoredText(scored[score], score, share) for score, share in plan.score_shares.items()]
    return texts, [CodeSet(codes.codes, codes.share * variant.share) for codes in plan.code_sets]


def find(
    variant: TokenizedVariant, units: Units, plan: SearchPlan, reader: RecordReader, earlier: Finding | None = None
) -> Finding:
    """Search one variant of a text.

    Args:
        variant: the variant.
        units: the scores of its positions.
        plan: what is searched.
        reader: reads records, and knows the profile.
        earlier: what other scores found in the variant; it is part of the finding.
    """
    # 5. scores of positions
    scored = score_positions(reader.profile, variant, units, plan)
    # 6. and 7. best codes of windows, with their p-values
    texts, code_sets = tests_of(scored, variant, plan)
    candidates = reader.read_all(texts, find_candidates(texts, code_sets, reader.counts))
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


def screen(
    profile: Profile, variants: Sequence[TokenizedVariant], plan: SearchPlan, counts: Sequence[int], level: float
) -> float:
    """For scans of many texts: the smallest p-value of a text by the light scores; 1 where none is near the level.

    Where a normal distribution gives more than the level's root, no exact p-value is computed: it would hardly ever be
    so much smaller. That costs power alone.

    Args:
        profile: the profile.
        variants: the text's.
        plan: what is searched, by the light scores.
        counts: how many codes a record may have.
        level: of the screen.
    """
    import_module("numba")  # many texts follow, so its loops pay; see :mod:`..statistics.window_scores`
    found = [1.0]
    for variant in variants:
        units = light_units(profile, variant.positions)
        texts, code_sets = tests_of(score_positions(profile, variant, units, plan), variant, plan)
        candidates = find_candidates(texts, code_sets, counts, at_most=math.sqrt(level))
        found += [candidate.p_value for candidate in candidates]
    return min(found)

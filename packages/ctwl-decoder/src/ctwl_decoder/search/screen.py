"""The screen: whether a text is worth reading whole, by the ranks of its tokens, for scans of many texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ctwl_protocol.profile.document import Profile

from ..statistics.light import light_ranks, light_scores
from ..statistics.scored_positions import ScoredPositions
from ..text.tokens import TokenizedVariant
from .candidates import CodeSet, ScoredText
from .plan import SearchPlan
from .windows import find_candidates

__all__ = ["screen"]

_SLACK = 10
"""A normal distribution must give this many times the level, or 1, before an exact p-value is left out: tails differ.
Chosen by hand; it costs power alone."""


def screen(
    profile: Profile, variants: Sequence[TokenizedVariant], plan: SearchPlan, counts: Sequence[int], level: float
) -> float:
    """The smallest p-value of a text by the light scores; 1 where none is anywhere near the level.

    Args:
        profile: the profile.
        variants: the text's.
        plan: what is searched, by the light scores.
        counts: how many codes a record may have.
        level: of the screen.
    """
    found = [1.0]
    for variant in variants:
        ranks = light_ranks(profile, variant.positions)
        first, *others = plan.score_shares
        marks = ScoredPositions.of(profile, variant.positions, light_scores(first, ranks, profile.sigma))
        texts = [ScoredText(marks, first, plan.score_shares[first])]
        for score in others:
            units = light_scores(score, ranks, profile.sigma)
            texts.append(ScoredText(replace(marks, scores=units), score, plan.score_shares[score]))
        code_sets = [CodeSet(each.codes, each.share * variant.share) for each in plan.code_sets]
        candidates = find_candidates(texts, code_sets, counts, at_most=min(1.0, _SLACK * level))
        found += [candidate.p_value for candidate in candidates]
    return min(found)

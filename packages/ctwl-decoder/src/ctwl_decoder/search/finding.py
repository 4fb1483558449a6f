"""From a variant's evidence to its spans (spec section 10, steps 5 to 8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..statistics.evidence import Evidence
from ..statistics.scored_positions import ScoredPositions
from ..statistics.scores import Score, position_scores
from ..text.tokens import TokenizedVariant
from .candidates import Candidate, CodeSet, ScoredText
from .plan import SearchPlan
from .posterior import THRESHOLD, posterior_windows
from .records import RecordReader
from .spans import PositionSpan, merge
from .windows import find_candidates

__all__ = ["Finding", "find"]


@dataclass(frozen=True)
class Finding:
    """What the tests found in one variant of a text.

    Attributes:
        variant: the variant.
        scored: for each score, the scored positions that show its spans and say where they end.
        best: the candidate with the smallest p-value, or with the highest posterior.
        spans: the spans, in the text's order; empty where nothing passed the test.
    """

    variant: TokenizedVariant
    scored: Mapping[Score, ScoredPositions]
    best: Candidate
    spans: list[PositionSpan]

    @property
    def order(self) -> tuple[bool, tuple[float, float]]:
        """Of two variants the one with spans comes first, then the one with the clearer candidate."""
        return not self.spans, self.best.order


def find(variant: TokenizedVariant, evidence: Evidence, plan: SearchPlan, reader: RecordReader) -> Finding:
    """Search one variant of a text.

    Args:
        variant: the variant.
        evidence: the evidence at its positions.
        plan: what is searched.
        reader: reads records, and knows the profile.
    """
    profile = reader.profile
    # 5. scores of positions
    soft = ScoredPositions.of(profile, variant.positions, position_scores(Score.SOFT, evidence, profile.sigma))
    scored = {
        score: soft if score is Score.SOFT else replace(soft, scores=position_scores(score, evidence, profile.sigma))
        for score in plan.score_shares
    }
    # 6. and 7. best codes of windows, with their p-values
    if plan.test == "posterior":
        candidates = posterior_windows(scored[Score.COUNT], plan.code_sets[0].codes, variant.share)
        best = max(candidates, key=lambda candidate: candidate.posterior or 0)
        passed = [candidate for candidate in candidates if (candidate.posterior or 0) >= THRESHOLD]
    else:
        texts = [ScoredText(scored[score], score, share) for score, share in plan.score_shares.items()]
        code_sets = [CodeSet(each.codes, each.share * variant.share) for each in plan.code_sets]
        candidates = reader.read_all(texts, find_candidates(texts, code_sets, reader.counts))
        best = min(candidates, key=lambda candidate: candidate.order)
        passed = [candidate for candidate in candidates if candidate.p_value <= plan.alpha]
    # 8. spans of the windows that passed. Counts are never negative, so their spans would grow without end: the soft
    # score says where they end.
    shown = scored | {Score.COUNT: soft}
    spans = merge(len(soft), passed, profile.prefix_length, lambda each: reader.contributions(shown[each.by], each))
    spans = [replace(span, candidate=reader.read_if_needed(scored[span.by], span.candidate)) for span in spans]
    return Finding(variant, shown, best, spans)

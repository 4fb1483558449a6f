"""The vectors that read whole texts have one right answer, whatever is a reader's own choice (spec section 10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ctwl_conformance import load
from ctwl_conformance.families.decoding import _decoder, _profile, _text
from ctwl_conformance.vectors import Vector
from ctwl_decoder.options import ScoreName
from ctwl_decoder.search import finding as steps
from ctwl_decoder.search.candidates import Candidate
from ctwl_decoder.search.finding import Finding
from ctwl_decoder.search.plan import SearchPlan
from ctwl_decoder.search.records import RecordReader
from ctwl_decoder.search.windows import find_candidates
from ctwl_decoder.statistics.evidence import permutations
from ctwl_decoder.statistics.light import light_units
from ctwl_decoder.statistics.scores import position_scores
from ctwl_decoder.text.tokens import tokenize_variants

SCORES: Mapping[str, ScoreName] = {
    "decode": "whole", "decode-light": "light", "decode-places": "whole", "decode-light-places": "light",
}  # fmt: skip


def parts(vector: Vector) -> tuple[Any, Any, SearchPlan, RecordReader]:
    """The variant of a vector's text, the scores of its positions, the plan and a reader of records."""
    profile, score = _profile(vector.input), SCORES[vector.family]
    decoder = _decoder(profile)
    variant = tokenize_variants(_text(vector.input), decoder.tokenizer, profile)[0]
    plan = SearchPlan.of(profile, None, alpha=vector.input["alpha"], score=score)
    if score == "light":
        units: Any = light_units(profile, variant.positions)
    else:
        seeds = permutations(profile, variant.positions.contexts)
        rivals = decoder.proxy.rivals(variant.ids)
        units = position_scores(rivals, profile.prefix_length, seeds, profile.sigma)
    return variant, units, plan, RecordReader(profile)


def candidates(vector: Vector) -> list[Candidate]:
    variant, units, plan, reader = parts(vector)
    texts, sets = steps.tests_of(steps.score_positions(reader.profile, variant, units, plan), variant, plan)
    return reader.read_all(texts, find_candidates(texts, sets, reader.counts))


def chosen(*families: str, word: str = "") -> list[Any]:
    vectors = [vector for family in families for vector in load([family])]
    return [
        pytest.param(vector, id=vector.id) for vector in vectors if word in vector.id and "spans" in vector.expected
    ]


@pytest.mark.slow
@pytest.mark.parametrize("vector", chosen("decode", "decode-light", word="window"))
def test_where_a_window_shows_a_code_it_passes_alone(vector: Vector) -> None:
    if vector.expected["detected"]:
        alpha, every = vector.input["alpha"], _profile(vector.input).codes
        found = [candidate.code for candidate in candidates(vector) if candidate.passes(alpha, every)]
        assert found == [vector.expected["code"]]


@pytest.mark.slow
@pytest.mark.parametrize("vector", chosen("decode-places", "decode-light-places"))
def test_where_places_are_asked_for_the_best_stretch_stands_out(vector: Vector) -> None:
    variant, units, plan, reader = parts(vector)
    finding: Finding = steps.find(variant, units, plan, reader)
    for span in finding.spans:
        sums: NDArray[np.int64] = np.append(0, reader.contributions(finding.scored[span.by], span.candidate).cumsum())
        others = [other for other in finding.spans if other is not span]
        first = max((other.end for other in others if other.end <= span.start), default=0)
        last = min((other.start for other in others if other.start >= span.end), default=len(sums) - 1)
        assert np.flatnonzero(sums[first : span.end] <= sums[span.start]).tolist() == [span.start - first]
        assert np.flatnonzero(sums[span.start : last + 1] >= sums[span.end]).tolist() == [span.end - span.start]

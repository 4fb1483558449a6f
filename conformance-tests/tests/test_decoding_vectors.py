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
from ctwl_decoder.search.finding import Scored, _candidates, find
from ctwl_decoder.search.plan import SearchPlan
from ctwl_decoder.search.records import RecordReader
from ctwl_decoder.text.tokens import TokenizedVariant, tokenize_variants

SCORES: Mapping[str, ScoreName] = {
    "decode": "whole", "decode-light": "light", "decode-places": "whole", "decode-light-places": "light",
}  # fmt: skip


def parts(vector: Vector) -> tuple[TokenizedVariant, Scored, SearchPlan, RecordReader]:
    """The variant of a vector's text, its scored positions, the plan and a reader of records."""
    profile, score = _profile(vector.input), SCORES[vector.family]
    decoder = _decoder(profile)
    variant = tokenize_variants(_text(vector.input), decoder.tokenizer, profile)[0]
    plan = SearchPlan.of(profile, None, alpha=vector.input["alpha"], score=score)
    return variant, decoder.pipeline.scored(variant, plan), plan, RecordReader(profile)


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
        variant, scored, plan, reader = parts(vector)
        candidates = reader.read_all(scored, _candidates(variant, scored, plan, reader))
        assert [each.code for each in candidates if each.passes(alpha, every)] == [vector.expected["code"]]


@pytest.mark.slow
@pytest.mark.parametrize("vector", chosen("decode-places", "decode-light-places"))
def test_where_places_are_asked_for_the_best_stretch_stands_out(vector: Vector) -> None:
    finding = find(*(where := parts(vector)))
    reader = where[-1]
    for span in finding.spans:
        sums: NDArray[np.int64] = np.append(0, reader.contributions(finding.scored[span.by], span.candidate).cumsum())
        others = [other for other in finding.spans if other is not span]
        first = max((other.end for other in others if other.end <= span.start), default=0)
        last = min((other.start for other in others if other.start >= span.end), default=len(sums) - 1)
        assert np.flatnonzero(sums[first : span.end] <= sums[span.start]).tolist() == [span.start - first]
        assert np.flatnonzero(sums[span.start : last + 1] >= sums[span.end]).tolist() == [span.end - span.start]

"""Spans, on made-up marks: positions whose units are drawn as a proxy would give them, codes planted by hand."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from ctwl_decoder.search.candidates import CodeSet, ScoredText
from ctwl_decoder.search.spans import PositionSpan, merge
from ctwl_decoder.search.windows import find_candidates
from ctwl_decoder.statistics.scored_positions import ScoredPositions
from ctwl_protocol import hashing

COLOURS = 40
CODES = np.arange(2**12, dtype=np.uint32)
ALPHA = 1e-4


def text(length: int, rng: np.random.Generator, planted: dict[tuple[int, int], int] | None = None) -> ScoredPositions:
    """Scored positions of a text whose contexts come back; ``planted`` codes score well in their stretch."""
    contexts = rng.zipf(1.3, length) % 5000
    seeds = hashing.fmix32(contexts.astype(np.uint32))
    inside = rng.random((length, COLOURS)) < 0.5
    for (start, end), code in (planted or {}).items():
        colours = hashing.code_colours(seeds[start:end], np.full(end - start, code, np.uint32), COLOURS).astype(int)
        inside[np.arange(start, end), colours] |= rng.random(end - start) < 0.8
    units = np.where(inside, 5, -13).astype(np.int8)
    slots = np.zeros((length, 4), dtype=np.uint8)
    return ScoredPositions(np.column_stack([contexts, rng.integers(0, 10**6, length)]), seeds, units, slots)


def found(marks: ScoredPositions, codes: NDArray[np.uint32] = CODES) -> list[PositionSpan]:
    passed = [c for c in find_candidates([ScoredText(marks)], [CodeSet(codes)]) if c.p_value <= ALPHA]
    return merge(len(marks), passed, 10, lambda c: marks.contributions(c.code))


def overlap(span: PositionSpan, start: int, end: int) -> float:
    both = max(0, min(end, span.end) - max(start, span.start))
    return both / (max(end, span.end) - min(start, span.start))


def test_of_codes_that_show_nothing_the_likeliest_is_named() -> None:
    searches = [CodeSet(CODES[:64], 0.5), CodeSet(CODES, 0.5)]
    right = weak = 0
    for seed in range(200):
        judged = find_candidates([ScoredText(text(28, np.random.default_rng(seed), {(0, 28): 1234}))], searches)
        if min(candidate.p_value for candidate in judged) == 1:
            weak += 1
            right += min(judged, key=lambda c: c.order).code == 1234
    assert weak > 20 and right > weak / 3, (right, weak)


def test_several_records_are_told_apart() -> None:
    planted = {(100, 300): 7, (300, 480): 4000, (800, 1000): 7}
    spans = found(text(1300, np.random.default_rng(2), planted))
    assert [span.code for span in spans] == list(planted.values())
    for span, (start, end) in zip(spans, planted, strict=True):
        assert overlap(span, start, end) > 0.8


@pytest.mark.slow
def test_p_values_pay_for_every_window_and_code() -> None:
    """Smallest p-values of texts that carry nothing are not below uniform."""
    rng = np.random.default_rng(4)
    smallest = [
        min(c.p_value for c in find_candidates([ScoredText(text(500, rng))], [CodeSet(CODES)])) for _ in range(150)
    ]
    assert stats.kstest(smallest, "uniform", alternative="greater").pvalue > 0.01
    assert min(smallest) > ALPHA / 10


def test_a_repeated_passage_is_no_evidence() -> None:
    """Human text that says one thing fifty times: the code that likes it must not pass."""
    once = text(40, np.random.default_rng(5))
    rows = np.tile(np.arange(40), 50)
    again = once[rows]
    assert found(again) == []

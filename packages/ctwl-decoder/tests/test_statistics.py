"""The scores and their exact null."""

import itertools
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from ctwl_decoder.search.posterior import posterior
from ctwl_decoder.statistics.code_scores import best_codes, score_all, score_codes
from ctwl_decoder.statistics.evidence import Evidence
from ctwl_decoder.statistics.null import FLOOR, null_of
from ctwl_decoder.statistics.scored_positions import ScoredPositions, ScoreTable
from ctwl_decoder.statistics.scores import (
    MARGIN,
    NAT,
    ODDS,
    POWERS,
    STEPS,
    UNBIASED,
    UNMARKED,
    Score,
    position_scores,
    rank_table,
    soft_table,
)
from ctwl_decoder.statistics.window_scores import search_windows
from ctwl_protocol import get_profile
from ctwl_protocol.text.positions import positions

PROFILE = get_profile()
EVERY = np.arange(2**20, dtype=np.uint32)


tables = st.tuples(st.integers(1, 6), st.integers(2, 5)).flatmap(
    lambda shape: hnp.arrays(np.int32, shape, elements=st.integers(-3, 4))
)


@given(tables)
def test_the_null_is_the_distribution_over_every_choice_of_colours(table: np.ndarray) -> None:
    """Against brute force: one colour for each context, all combinations equally likely."""
    sums = [sum(choice) for choice in itertools.product(*table.tolist())]
    null = null_of(table)
    for score in range(min(sums) - 1, max(sums) + 2):
        assert null.tail(score) == pytest.approx(np.mean([s >= score for s in sums]), abs=1e-12)


def random_table(contexts: int, rng: np.random.Generator, colours: int = 100) -> ScoreTable:
    table = rng.binomial(rng.integers(1, 4, (contexts, 1)), rng.uniform(0.3, 0.9, (contexts, 1)), (contexts, colours))
    return ScoreTable(rng.integers(0, 2**32, contexts, dtype=np.uint32), table.astype(np.int32), contexts)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(0, 30), st.sampled_from([2, 7, 100]))
def test_the_kernel_scores_every_code_as_the_reference_does(seed: int, contexts: int, colours: int) -> None:
    table = random_table(contexts, np.random.default_rng(seed), colours)
    codes = EVERY[: 2**14]
    np.testing.assert_array_equal(score_all(table, codes), score_codes(table, codes), strict=True)
    np.testing.assert_array_equal(score_all(table, codes[5:9]), score_codes(table, codes[5:9]), strict=True)


@given(st.integers(0, 2**32 - 1), st.integers(0, 6), st.integers(1, 4))
def test_the_best_codes_are_those_of_highest_score_the_smallest_of_equals(seed: int, contexts: int, most: int) -> None:
    table, codes = random_table(contexts, np.random.default_rng(seed)), EVERY[: 2**12]
    scores = score_codes(table, codes)
    assert (
        best_codes(table, codes, most).tolist() == sorted(codes.tolist(), key=lambda code: (-scores[code], code))[:most]
    )


def random_marks(length: int, rng: np.random.Generator, colours: int = 100) -> ScoredPositions:
    contexts = rng.integers(0, length, length)
    pairs = np.column_stack([contexts, rng.integers(0, 3, length)])
    seeds = contexts.astype(np.uint32) * np.uint32(77)
    scores = rng.integers(-13, 6, (length, colours), np.int8)
    return ScoredPositions(pairs, seeds, scores, np.zeros((length, 4), np.uint8))


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.integers(20, 300), st.booleans(), st.booleans())
@example(1, 300, True, True)
def test_the_window_search_finds_each_windows_best_code(seed: int, length: int, nested: bool, loud: bool) -> None:
    """Against the reference: every code's units at every mark of slot 0, summed over the window.

    Units may be so large that the sums of two scores need the wider word.
    """
    rng = np.random.default_rng(seed)
    slots = np.floor(rng.random((length, 1)) * np.arange(1, 5)) if nested else rng.integers(0, 3, (length, 4))
    marks, codes = replace(random_marks(length, rng), slots=slots.astype(np.uint8)), EVERY[: 2**11]
    places = np.sort(rng.choice(length, length * 9 // 10, replace=False))
    starts = np.arange(0, length - 16, 8)
    again = replace(marks, scores=-127 - marks.scores if loud else random_marks(length, rng).scores)
    rows = [(n, start, start + 16) for n in (1, 3, 4) for start in starts.tolist()] + [(1, 0, length), (4, 0, length)]
    worth = np.stack([[view.contributions(int(code)) for code in codes] for view in (marks, again)])
    found, scores = search_windows([marks[places], again[places]], places, np.array(rows), codes)
    for (count, start, end), code, score in zip(rows, found.T, scores.T, strict=True):
        inside = places[(places >= start) & (places < end) & (marks.slots[places, count - 1] == 0)]
        sums = worth[:, :, inside].sum(axis=2)
        assert sums[[0, 1], code].tolist() == score.tolist() == sums.max(axis=1).tolist()


def test_the_scores_of_wrong_codes_follow_the_null() -> None:
    """All 2^20 codes of one text against the convolution: the hash scheme is as random as the null assumes."""
    table = random_table(60, np.random.default_rng(5))
    null = null_of(table.scores)
    observed = np.bincount(score_all(table, EVERY) - null.lowest, minlength=len(null.probability))
    expected = null.probability * PROFILE.codes
    common = expected >= 20
    statistic = ((observed - expected)[common] ** 2 / expected[common]).sum()
    assert stats.chi2.sf(statistic, common.sum() - 1) > 1e-4


def test_randomised_p_values_of_a_code_chosen_beforehand_are_uniform() -> None:
    rng = np.random.default_rng(6)
    p_values = []
    for _ in range(300):
        table = random_table(25, rng)
        (score,) = score_codes(table, rng.integers(0, 2**20, 1, dtype=np.uint32))
        p_values.append(null_of(table.scores).randomised(int(score), float(rng.random())))
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3


def test_the_p_value_is_corrected_capped_and_never_zero() -> None:
    table = np.zeros((2000, 100), dtype=np.int32)
    table[:, 0] = 1
    null = null_of(table)
    assert null.p_value(0, 2**20) == 1.0
    assert null.p_value(2000, 2**20) == FLOOR
    assert null.p_value(60, 1000) == pytest.approx(1000 * stats.binom.sf(59, 2000, 0.01), rel=1e-9)
    assert null_of(np.zeros((0, 100), dtype=np.int32)).p_value(0, 2**20) == 1.0


def test_a_pair_that_comes_back_counts_once() -> None:
    ids = np.array([1, 2, 3, 9, 4, 9, 4, 9, 5, 9, 4])
    cut = positions(ids, 3, 1)
    marks = ScoredPositions.of(PROFILE, cut, np.ones((len(cut), 4), dtype=np.int8))
    pairs = [tuple(pair) for pair in marks.pairs.tolist()]
    # of a pair's positions the one that carries slot 0 in most numbers of codes, the first of those
    order = sorted(range(len(pairs)), key=lambda i: (-int((marks.slots[i] == 0).sum()), i))
    counted = {pairs[i]: i for i in reversed(order)}
    assert sorted(counted.values()) == np.flatnonzero(marks.first_occurrences()).tolist()
    table = ScoreTable.of(marks)
    assert table.counted == len(set(pairs))
    contexts = {int(seed): context for seed, (context, _) in zip(marks.seeds, pairs, strict=True)}
    assert {contexts[int(seed)]: int(row[0]) for seed, row in zip(table.seeds, table.scores, strict=True)} == {
        context: len({b for a, b in pairs if a == context}) for context, _ in pairs
    }
    assert ScoreTable.of(marks, repeats=True).scores.sum() == 4 * len(marks)


def test_in_the_search_a_pair_counts_again_far_away() -> None:
    pairs = np.array([[1, 2], [3, 4], [1, 2], [5, 6], [1, 2], [1, 2]])
    marks = ScoredPositions(pairs, np.zeros(6, np.uint32), np.zeros((6, 2), np.int8), np.zeros((6, 4), np.uint8))
    assert marks.first_occurrences(apart=4).tolist() == [True, True, False, True, True, False]
    assert marks.first_occurrences(apart=3).tolist() == [True, True, False, True, True, False]
    assert marks.first_occurrences(apart=1).tolist() == [True] * 6


def seen(weight: int, total: int, *, below: int = 0, rank: int = 0) -> Evidence:
    one = np.array([[below]], np.uint32), np.array([[rank]], np.uint32)
    return Evidence(*one, np.array([weight], np.uint32), np.array([total], np.uint64))


@given(st.integers(0, 2**24), st.integers(0, 2**24), st.integers(1, 2**24), st.sampled_from([(1, 2), (1, 4), (2, 3)]))
def test_the_soft_units_are_the_rounded_log_likelihood_ratio(
    below: int, weight: int, rest: int, sigma: tuple[int, int]
) -> None:
    """Against the formula of the specification, in floating point."""
    total = below + weight + rest
    evidence = seen(weight, total, below=below)
    margin, border = total / MARGIN, total * sigma[0] / sigma[1]
    a, e = UNBIASED[0] / UNBIASED[1], UNMARKED[0] / UNMARKED[1]
    share = np.clip((border + margin - below) / (weight + 2 * margin), 0, 1)
    member = below * sigma[1] < total * sigma[0]
    by_delta = (ODDS if member else 1) / (ODDS * sigma[0] / sigma[1] + 1 - sigma[0] / sigma[1])
    found = int(position_scores(Score.SOFT, evidence, sigma)[0, 0])
    allowed = {
        round(NAT * np.log((1 - e) * (a * steps / STEPS * sigma[1] / sigma[0] + (1 - a) * by_delta) + e))
        for steps in (int(share * STEPS + slip) for slip in (-1e-9, 1e-9))
    }
    assert found in allowed
    assert int(position_scores(Score.COUNT, evidence, sigma)[0, 0]) == member


def test_no_entry_of_the_soft_table_depends_on_rounding() -> None:
    for sigma in ((1, 2), (1, 4), (2, 3)):
        share, a, e = (part / whole for part, whole in (sigma, UNBIASED, UNMARKED))
        for odds, row in zip((1, ODDS), soft_table(sigma), strict=True):
            r = odds / (ODDS * share + 1 - share)
            exact = [NAT * np.log((1 - e) * (a * q / STEPS / share + (1 - a) * r) + e) for q in range(STEPS + 1)]
            assert all(abs(abs(x) % 1 - 0.5) > 1e-9 for x in exact)
            assert list(row) == [round(float(x)) for x in exact]


@given(st.integers(0, 2**24), st.integers(1, 2**24), st.integers(0, 32), st.integers(0, 2**32 - 1))
def test_the_units_by_rank_are_the_rounded_log_likelihood_ratio(weight: int, rest: int, small: int, rank: int) -> None:
    """Against the formula of the specification, with the bin found by comparison."""
    total, rank = weight + rest, rank >> small
    halvings = next(c for c in range(13) if c == 12 or weight * 2 ** (c + 1) > total)
    edges = [0, *(2.0**-n * (1 + q / 4) for n in range(12, 0, -1) for q in range(4)), 1]
    a, b = next((a, b) for a, b in pairwise(edges) if a <= rank / 2**32 < b)
    rates = [2 ** (k * (halvings + 0.5)) for k in POWERS]
    mean = np.mean([((1 - a) ** rate - (1 - b) ** rate) / (b - a) for rate in rates])
    found = int(position_scores(Score.RANK, seen(weight, total, rank=rank), (1, 2))[0, 0])
    assert found == round(NAT * np.log(0.7 * mean + 0.3))


def test_by_rank_the_mean_ratio_of_unmarked_tokens_is_one_and_the_units_fall() -> None:
    widths = np.diff([0, *(2.0**-n * (1 + q / 4) for n in range(12, 0, -1) for q in range(4)), 1])
    for row in np.array(rank_table()):
        assert np.exp(row / NAT) @ widths == pytest.approx(1, abs=0.03)  # as far as it is for whole units
        assert (np.diff(row) <= 0).all()


def test_no_entry_of_the_table_by_rank_depends_on_rounding() -> None:
    doublings = [Decimal(2) ** -n * (4 + q) / 4 for n in range(12, 0, -1) for q in range(4)]
    for c, row in enumerate(rank_table()):
        rates = [Decimal(2) ** (Decimal(k) * (2 * c + 1) / 20) for k in (10, 6, 3)]
        for (a, b), found in zip(pairwise([Decimal(0), *doublings, Decimal(1)]), row, strict=True):
            mean = sum(((1 - a) ** rate - (1 - b) ** rate) / (b - a) for rate in rates) / 3
            exact = NAT * (Decimal("0.7") * mean + Decimal("0.3")).ln()
            assert abs(exact - found) < Decimal("0.4999")


def test_the_posterior_is_the_softmax_of_the_scores() -> None:
    scores = np.array([3, 7, 5, 5], dtype=np.int32)
    expected = np.exp(7) / np.exp(scores.astype(float)).sum()
    assert posterior(scores, 1) == pytest.approx(expected)
    assert posterior(np.array([0, 2000], dtype=np.int32), 1) == 1.0

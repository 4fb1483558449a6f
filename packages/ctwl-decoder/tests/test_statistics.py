"""The scores and their exact null."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from core_program import core
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from numpy_scores import score_codes
from scipy import stats

from ctwl_decoder.statistics.code_scores import best_codes, score_all
from ctwl_decoder.statistics.null import null_of
from ctwl_decoder.statistics.scored_positions import ScoredPositions, ScoreTable
from ctwl_decoder.statistics.scores import NAT, Score, position_scores
from ctwl_decoder.statistics.window_scores import search_windows
from ctwl_protocol import get_profile
from ctwl_protocol.proxy import Rivals

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
    return ScoreTable(rng.integers(0, 2**32, contexts, dtype=np.uint32), table.astype(np.int32))


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

    Units may be large, so that the halves of a word that two scores share are nearly full.
    """
    rng = np.random.default_rng(seed)
    slots = np.floor(rng.random((length, 1)) * np.arange(1, 5)) if nested else rng.integers(0, 3, (length, 4))
    marks, codes = replace(random_marks(length, rng), slots=slots.astype(np.uint8)), EVERY[: 2**9]
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


@pytest.mark.parametrize("extreme", [(-128, 127), (127, -128), (-128, -128), (127, 127)])
def test_the_largest_scores_of_a_long_window_are_summed_exactly(extreme: tuple[int, int]) -> None:
    marks = random_marks(1500, np.random.default_rng(7))
    texts = [replace(marks, scores=np.full_like(marks.scores, value)) for value in extreme]
    rows = np.array([(1, 0, 1500), (1, 10, 1400)])
    _, scores = search_windows(texts, np.arange(1500), rows, EVERY[: 2**11])
    assert scores.tolist() == [[1500 * value, 1390 * value] for value in extreme]


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


def test_in_the_search_a_pair_counts_again_far_away() -> None:
    pairs = np.array([[1, 2], [3, 4], [1, 2], [5, 6], [1, 2], [1, 2]])
    marks = ScoredPositions(pairs, np.zeros(6, np.uint32), np.zeros((6, 2), np.int8), np.zeros((6, 4), np.uint8))
    assert marks.first_occurrences(apart=4).tolist() == [True, True, False, True, True, False]
    assert marks.first_occurrences(apart=3).tolist() == [True, True, False, True, True, False]
    assert marks.first_occurrences(apart=1).tolist() == [True] * 6


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 2**24), min_size=1, max_size=30), st.integers(0, 2**24), st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 4, 40]), st.sampled_from([(1, 2), (1, 4), (2, 3)]),
)  # fmt: skip
def test_units_are_as_specified(weights: list[int], rest: int, seed: int, colours: int, sigma: tuple[int, int]) -> None:
    rng = np.random.default_rng(seed)
    tokens = np.sort(rng.choice(50_000, len(weights), replace=False))
    total = min(sum(weights) + rest, 2**32 - 1)
    seeds = rng.integers(0, 2**32, (1, colours), dtype=np.uint32)
    shown = int(rng.integers(len(weights)))
    found = position_scores(rivals_of([(7, tokens, weights, shown, total)]), 7, seeds, sigma)
    ran = dict(zip(tokens.tolist(), weights, strict=True))
    half, race = core()["units"](ran, int(tokens[shown]), total, seeds[0].tolist(), sigma)
    assert found[Score.HALF].tolist() == [half] and found[Score.RACE].tolist() == [race]


def rivals_of(sets: list[tuple[int, NDArray[np.int64], list[int], int, int]]) -> Rivals:
    """Sets of a place, tokens, weights, which is shown, and the total."""
    places, tokens, weights, shown, total = zip(*sets, strict=True)
    starts = np.cumsum([0, *map(len, tokens)])
    return Rivals(
        np.array(places), starts, np.concatenate(tokens).astype(np.uint32), np.concatenate(weights).astype(np.uint32),
        starts[:-1] + shown, np.array(total, dtype=np.uint32),
    )  # fmt: skip


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.floats(0.05, 5), st.sampled_from([(1, 2), (1, 4), (2, 3)]))
def test_the_mean_ratio_of_what_is_expected_is_one(seed: int, count: int, even: float, sigma: tuple[int, int]) -> None:
    """For each colour by itself, as far as it is for whole units. So the score of one code is an e-value."""
    rng = np.random.default_rng(seed)
    weights = np.maximum(rng.dirichlet(np.full(count, even)) * 2**24, 1).astype(np.int64)
    tokens, total = np.sort(rng.choice(50_000, count, replace=False)), int(weights.sum())
    seeds = np.tile(rng.integers(0, 2**32, 20, dtype=np.uint32), (count, 1))
    each = rivals_of([(place, tokens, weights.tolist(), place, total) for place in range(count)])
    for units in position_scores(each, 0, seeds, sigma).values():
        means = weights @ np.exp(units / NAT) / total
        assert (np.abs(np.log(means)) <= 0.5 / NAT + 1e-6).all()


def test_a_place_with_several_sets_of_rivals_adds_them_up_and_one_without_has_none() -> None:
    rng = np.random.default_rng(2)
    seeds = rng.integers(0, 2**32, (4, 20), dtype=np.uint32)
    sets = [
        (10, np.arange(3), [5, 3, 1], 1, 9),
        (12, np.arange(4), [1, 1, 1, 9], 3, 12),
        (12, np.arange(2), [9, 1], 1, 12),
    ]
    found = position_scores(rivals_of(sets), 10, seeds, (1, 2))
    alone = [position_scores(rivals_of([each]), 10, seeds, (1, 2)) for each in sets]
    for score, units in found.items():
        assert (units.dtype, units.shape) == (np.int8, (4, 20))
        assert not units[[1, 3]].any()
        np.testing.assert_array_equal(units[0], alone[0][score][0])
        np.testing.assert_array_equal(units[2], alone[1][score][2] + alone[2][score][2])

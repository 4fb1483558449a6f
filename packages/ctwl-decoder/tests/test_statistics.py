"""The scores and their exact null."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from ctwl_decoder.hits import Evidence, first_occurrences, gather
from ctwl_decoder.null import FLOOR, null_of
from ctwl_decoder.posterior import posterior
from ctwl_decoder.scores import score_all, score_codes
from ctwl_protocol import Profile, get_profile
from ctwl_protocol.windows import positions

PROFILE = get_profile()


def small(code_bits: int = 12, colours: int = 100) -> Profile:
    return PROFILE.model_copy(update={"code_bits": code_bits, "colours": colours})


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


def random_evidence(contexts: int, rng: np.random.Generator, colours: int = 100) -> Evidence:
    table = rng.binomial(rng.integers(1, 4, (contexts, 1)), rng.uniform(0.3, 0.9, (contexts, 1)), (contexts, colours))
    return Evidence(rng.permutation(50_000)[:contexts, None], table.astype(np.int32), contexts)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(0, 30), st.sampled_from([2, 7, 100]))
def test_the_kernel_scores_every_code_as_the_reference_does(seed: int, contexts: int, colours: int) -> None:
    evidence = random_evidence(contexts, np.random.default_rng(seed), colours)
    profile = small(14, colours)
    codes = np.arange(2**14, dtype=np.uint32)
    np.testing.assert_array_equal(score_all(profile, evidence), score_codes(profile, evidence, codes), strict=True)


def test_the_scores_of_wrong_codes_follow_the_null() -> None:
    """All 2^20 codes of one text against the convolution: the hash scheme is as random as the null assumes."""
    evidence = random_evidence(60, np.random.default_rng(5))
    null = null_of(evidence.table)
    observed = np.bincount(score_all(PROFILE, evidence) - null.lowest, minlength=len(null.probability))
    expected = null.probability * PROFILE.codes
    common = expected >= 20
    statistic = ((observed - expected)[common] ** 2 / expected[common]).sum()
    assert stats.chi2.sf(statistic, common.sum() - 1) > 1e-4


def test_randomised_p_values_of_a_code_chosen_beforehand_are_uniform() -> None:
    rng = np.random.default_rng(6)
    p_values = []
    for _ in range(300):
        evidence = random_evidence(25, rng)
        (score,) = score_codes(PROFILE, evidence, rng.integers(0, 2**20, 1, dtype=np.uint32))
        p_values.append(null_of(evidence.table).randomised(int(score), float(rng.random())))
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
    first = first_occurrences(cut)
    pairs = list(zip(cut.contexts[:, 0].tolist(), cut.observed.tolist(), strict=True))
    assert [pair not in pairs[:i] for i, pair in enumerate(pairs)] == first.tolist()
    hits = np.ones((len(cut), 4), dtype=np.bool_)
    evidence = gather(cut, hits, first)
    assert evidence.counted == len(set(pairs))
    assert dict(zip(evidence.contexts[:, 0].tolist(), evidence.table[:, 0].tolist(), strict=True)) == {
        context: len({b for a, b in pairs if a == context}) for context, _ in pairs
    }


def test_the_posterior_is_the_softmax_of_the_scores() -> None:
    scores = np.array([3, 7, 5, 5], dtype=np.int32)
    expected = np.exp(7) / np.exp(scores.astype(float)).sum()
    assert posterior(scores, 1) == pytest.approx(expected)
    assert posterior(np.array([0, 2000], dtype=np.int32), 1) == 1.0

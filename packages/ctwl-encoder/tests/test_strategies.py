"""The strategies and the expectation, without a model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctwl_encoder.errors import ModelFailed
from ctwl_encoder.expectation import Expectation, null_hit
from ctwl_encoder.strategies import add_delta, split_mass
from ctwl_protocol import kernel

RNG = np.random.default_rng(11)


def softmax(logits: np.ndarray) -> np.ndarray:
    exponent = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(exponent / exponent.sum(axis=-1, keepdims=True))


def test_unbiased_keeps_the_models_distribution_on_average() -> None:
    logits = np.array([[2.0, 1.0, 0.5, 0.0, -1.0, 1.5, -np.inf, 0.3]], dtype=np.float32)
    carriers = np.ones(8, dtype=np.bool_)
    carriers[5] = False  # an end-of-text token: invisible in text, so left alone
    trials = 40_000
    seeds = RNG.integers(0, 2**32, trials, dtype=np.uint32)
    probabilities = np.exp(split_mass(np.tile(logits, (trials, 1)), carriers, seeds).astype(np.float64))
    error = probabilities.std(axis=0) / np.sqrt(trials)
    assert np.all(np.abs(probabilities.mean(axis=0) - softmax(logits.astype(np.float64))[0]) < 4.5 * error + 1e-6)
    np.testing.assert_allclose(probabilities[:, 5], softmax(logits.astype(np.float64))[0, 5], rtol=1e-5)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)


def test_unbiased_cuts_all_but_half_of_the_mass() -> None:
    logits = RNG.normal(size=(4, 1000)).astype(np.float32)
    marked = split_mass(logits, np.ones(1000, dtype=np.bool_), RNG.integers(0, 2**32, 4, dtype=np.uint32))
    for before, after in zip(softmax(logits), marked, strict=True):
        assert before[np.isfinite(after)].sum() == pytest.approx(0.5, abs=float(before.max()))


def test_unbiased_puts_nearly_every_token_where_the_proxy_agrees() -> None:
    """With the model as its own proxy, what is kept is V and at most the token at the median besides."""
    logits = RNG.normal(scale=2, size=(8, 500)).astype(np.float32)
    seeds = RNG.integers(0, 2**32, 8, dtype=np.uint32)
    kept = np.isfinite(split_mass(logits, np.ones(500, dtype=np.bool_), seeds))
    weights = np.floor(softmax(logits.astype(np.float64)) * 2**24 + 0.5).astype(np.uint32)
    assert np.all((kept != kernel.members(weights, seeds, (1, 2))).sum(axis=1) <= 1)


@pytest.mark.parametrize("padding", [0, 7])
def test_delta_is_added_to_the_members_and_to_nothing_else(padding: int) -> None:
    weights = RNG.integers(0, 1000, (3, 200)).astype(np.uint32)
    seeds = RNG.integers(0, 2**32, 3, dtype=np.uint32)
    logits = RNG.normal(size=(3, 200 + padding)).astype(np.float32)
    carriers = np.ones(200 + padding, dtype=np.bool_)
    carriers[13] = False  # an end-of-text token: invisible in text, so left alone
    marked = add_delta(logits, weights, carriers, seeds, (1, 2), 1.5)
    inside = kernel.members(weights, seeds, (1, 2))
    inside[:, 13] = False
    np.testing.assert_allclose((marked - logits)[:, :200], 1.5 * inside, atol=1e-5)
    np.testing.assert_array_equal(marked[:, 200:], logits[:, 200:])


def test_the_null_of_a_hit_is_what_random_permutations_show() -> None:
    rest = np.random.default_rng(3).dirichlet(np.ones(300))
    for probability in (0.05, 0.3, 0.6):
        weights = np.floor(np.concatenate([[probability], (1 - probability) * rest]) * 2**24).astype(np.uint32)
        seeds = RNG.integers(0, 2**32, 4000, dtype=np.uint32)
        share = kernel.members(np.tile(weights, (4000, 1)), seeds, (1, 2))[:, 0].mean()
        assert share == pytest.approx(null_hit(probability), abs=0.05)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_logits_that_are_no_numbers_are_refused(bad: float) -> None:
    logits = np.array([[0.0, bad, 1.0]], dtype=np.float32)
    with pytest.raises(ModelFailed):
        split_mass(logits, np.ones(3, dtype=np.bool_), np.array([1], dtype=np.uint32))


@given(st.lists(st.tuples(st.floats(0.3, 1), st.sampled_from([0.0, 1.0])), max_size=60))
def test_the_expectation_bounds_the_exact_tail(steps: list[tuple[float, float]]) -> None:
    """Chernoff's bound lies above the exact convolution of the same hits, and is a p-value."""
    expectation, distribution = Expectation(), np.ones(1)
    for null, hit in steps:
        expectation = expectation.after(null, hit)
        distribution = np.convolve(distribution, [1 - null, null])
    exact = distribution[int(sum(hit for _, hit in steps)) :].sum()
    assert expectation.positions == len(steps)
    assert np.log2(exact) - 1e-6 <= expectation.log2_p(0) <= 0


def test_hits_lower_the_expected_p_and_misses_do_not() -> None:
    good = bad = Expectation()
    for _ in range(100):
        good, bad = good.after(0.5, 1.0), bad.after(0.5, 0.0)
    assert good.log2_p(20) == pytest.approx(20 - 100, abs=1)
    assert bad.log2_p(20) == 0

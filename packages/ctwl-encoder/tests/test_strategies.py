"""The strategies and the expectation, without a model."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctwl_encoder.core.expected_evidence import (
    READER_SHARE,
    WrittenPosition,
    chance_found,
    expected_bits,
    expected_half_nats,
    expected_rank_nats,
    null_hits,
)
from ctwl_encoder.core.host import multiply, probabilities
from ctwl_encoder.core.strategies import Strategy
from ctwl_encoder.core.strategies.delta.reference import add_delta
from ctwl_encoder.core.strategies.gumbel.reference import exponential_minimum
from ctwl_encoder.core.strategies.traits import Lots
from ctwl_encoder.core.strategies.unbiased.reference import keep_first_half
from ctwl_protocol.bridge import Branch
from ctwl_protocol.errors import ModelFailed
from ctwl_protocol.hashing import ranks, ranks_of
from ctwl_protocol.partition.members import members

RNG = np.random.default_rng(11)


def branch(chances: np.ndarray, candidates: np.ndarray, tokens: np.ndarray) -> Branch:
    return Branch((), candidates.astype(np.int64), tokens.astype(np.int64), chances[candidates].astype(np.float64))


def native(logits: np.ndarray) -> Branch:
    """The branch of a model whose vocabulary is the proxy's, all tokens in it."""
    every = np.arange(len(logits))
    return branch(probabilities(logits[None])[0], every, every)


@pytest.mark.parametrize("fresh", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("change", [each.traits.factors for each in Strategy if each.keeps_distribution])
def test_the_models_distribution_is_kept_on_average(change: Callable[[Branch, Lots], np.ndarray], fresh: float) -> None:
    """Candidates that show the same proxy token share its fate; a candidate outside the branch keeps its chance."""
    logits = np.array([2.0, 1.0, 0.5, 0.0, -1.0, 1.5, -np.inf, 0.3], dtype=np.float32)
    chances = probabilities(logits[None])[0]
    place = branch(chances, np.array([0, 1, 2, 3, 4, 6, 7]), np.array([7, 40, 7, 3, 9, 11, 12]))
    trials = 6_000
    marked = np.empty((trials, 8))
    for row, (seed, own) in zip(marked, RNG.integers(0, 2**32, (trials, 2)).tolist(), strict=True):
        changed = logits.copy()
        multiply(changed, place, change(place, Lots(seed, own, fresh)))
        row[:] = np.exp(changed.astype(np.float64))
    marked /= np.exp(logits.astype(np.float64)).sum()
    error = marked.std(axis=0) / np.sqrt(trials)
    assert np.all(np.abs(marked.mean(axis=0) - chances) < 4.5 * error + 1e-6)
    np.testing.assert_allclose(marked[:, 5], chances[5], rtol=1e-5)
    np.testing.assert_allclose(marked.sum(axis=1), 1, rtol=1e-5)
    together = marked[:, 0] > 0
    np.testing.assert_allclose(marked[together, 2] / marked[together, 0], chances[2] / chances[0], rtol=1e-5)


def test_gumbel_leaves_one_token_of_a_branch_which_mostly_ranks_low() -> None:
    shares = []
    for seed in RNG.integers(0, 2**32, 200, dtype=np.uint32):
        logits = RNG.normal(size=300).astype(np.float32)
        (winner,) = np.flatnonzero(exponential_minimum(native(logits), Lots(int(seed))))
        shares.append(ranks(int(seed), 300)[winner] / 2**32)
    assert np.quantile(shares, 0.9) < 0.05


@pytest.mark.parametrize("fresh", [0.0, 1e-12, 0.3, 1.0])
def test_fresh_lots_are_another_texts_own(fresh: float) -> None:
    """A share of the tokens has other lots in another text; all lots are uniform, and between 0 and 1."""
    tokens = np.arange(20_000)
    one, other = (Lots(5, own, fresh).of(tokens) for own in (1, 2))
    either = 1 - (1 - fresh) ** 2  # in one text or in the other
    assert (one != other).mean() == pytest.approx(either, abs=0.02)
    assert one.min() > 0 and one.max() < 1
    np.testing.assert_allclose(np.quantile(one, [0.25, 0.5, 0.75]), [0.25, 0.5, 0.75], atol=0.02)


def test_unbiased_cuts_all_but_half_of_the_mass() -> None:
    for seed in RNG.integers(0, 2**32, 4):
        logits = RNG.normal(size=1000).astype(np.float32)
        before = probabilities(logits[None])[0]
        kept = keep_first_half(native(logits), Lots(int(seed))) > 0
        assert before[kept].sum() == pytest.approx(0.5, abs=float(before.max()))


def test_unbiased_puts_nearly_every_token_where_the_proxy_agrees() -> None:
    """With the model as its own proxy, what is kept is V and at most the token at the median besides."""
    for seed in RNG.integers(0, 2**32, 8, dtype=np.uint32):
        logits = RNG.normal(scale=2, size=500).astype(np.float32)
        weights = np.floor(probabilities(logits[None]).astype(np.float64) * 2**24 + 0.5).astype(np.uint32)
        kept = keep_first_half(native(logits), Lots(int(seed))) > 0
        inside = members(weights, np.array([seed]), (1, 2))[0]
        assert (kept != inside).sum() <= 1


def test_delta_is_added_to_the_members_and_to_nothing_else() -> None:
    logits = RNG.normal(size=207).astype(np.float32)
    inside = RNG.random(90) < 0.5
    candidates, tokens = np.arange(5, 150), RNG.integers(0, 90, 145)
    marked = logits.copy()
    add_delta(marked, branch(probabilities(logits[None])[0], candidates, tokens), inside, 1.5)
    expected = np.zeros(207)
    expected[candidates] = 1.5 * inside[tokens]
    np.testing.assert_allclose(marked - logits, expected, atol=1e-5)


def test_the_null_of_a_hit_is_what_random_permutations_show() -> None:
    rest = np.random.default_rng(3).dirichlet(np.ones(300))
    for probability in (0.05, 0.3, 0.6):
        weights = np.floor(np.concatenate([[probability], (1 - probability) * rest]) * 2**24).astype(np.uint32)
        seeds = RNG.integers(0, 2**32, 4000, dtype=np.uint32)
        share = members(np.tile(weights, (4000, 1)), seeds, (1, 2))[:, 0].mean()
        assert share == pytest.approx(null_hits(np.array([probability]))[0], abs=0.05)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_logits_that_are_no_numbers_are_refused(bad: float) -> None:
    with pytest.raises(ModelFailed):
        probabilities(np.array([[0.0, bad, 1.0]], dtype=np.float32))


def expected(
    steps: list[tuple[float, float]], strategy: Strategy = Strategy.UNBIASED, *, repeated: bool = False
) -> float:
    """Of a text that was marked at each position: the chance of its token, and whether that is a hit."""
    last = None
    for i, (chance, hit) in enumerate(steps):
        last = WrittenPosition(10 + i, (0, (0 if repeated else i,)), 7, chance, hit, last)
    return expected_bits(last, strategy)


@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0.0, 1.0])), max_size=60), st.sampled_from(Strategy))
def test_a_chance_is_one_whatever_was_written(steps: list[tuple[float, float]], strategy: Strategy) -> None:
    bits = expected(steps, strategy)
    assert 0 <= bits < math.inf
    assert 0 <= chance_found(bits, 33.3) <= 1
    assert chance_found(0, 33.3) == 0 and chance_found(33.3, 33.3) == 0.5


def test_hits_are_evidence_and_misses_and_repeats_are_not() -> None:
    hits, misses = [(0.0, 1.0)] * 100, [(0.0, 0.0)] * 100
    for strategy, share in zip((Strategy.UNBIASED, Strategy.DELTA), READER_SHARE["halves"], strict=True):
        assert expected(hits, strategy) == pytest.approx(100 * share, abs=0.1)
    assert expected(misses, Strategy.DELTA) == 0
    assert expected(hits, repeated=True) == expected(hits[:1])
    assert expected([]) == 0


@pytest.mark.parametrize("p", [0.02, 0.3, 0.5, 0.75, 0.98])
def test_what_halves_are_expected_to_say_is_what_a_reader_of_the_distribution_sees(p: float) -> None:
    """The mean, over many places in the order of ranks, of the log-likelihood ratio of a token that was drawn."""
    begins = (np.arange(20_000) + 0.5) / 20_000 * (1 - p)
    ratios = np.clip((0.5 - begins) / p, 0, 1) * 2
    drawn = ratios / ratios.sum()
    mean = (drawn[ratios > 0] * np.log(ratios[ratios > 0])).sum()
    assert expected_half_nats(np.array([p]))[0] == pytest.approx(mean, abs=1e-3)


def test_what_ranks_are_expected_to_say_is_what_races_show() -> None:
    """The mean, over many races, of the log-likelihood ratio of the rank of what won."""
    shares, tokens = np.array([0.5, 0.25, 0.15, 0.1]), np.array([5, 6, 7, 8])
    told: dict[int, list[float]] = {token: [] for token in tokens.tolist()}
    for seed in RNG.integers(0, 2**32, 10_000, dtype=np.uint32).tolist():
        won = int(exponential_minimum(branch(shares, np.arange(4), tokens), Lots(seed)).argmax())
        p, rank = shares[won], int(ranks_of(np.uint32(seed), tokens[[won]])[0])
        told[int(tokens[won])].append((1 / p - 1) * np.log1p(-(rank + 0.5) / 2**32) - np.log(p))
    for token, p in zip(tokens.tolist(), shares.tolist(), strict=True):
        assert np.mean(told[token]) == pytest.approx(expected_rank_nats(np.array([p]))[0], abs=0.08)


def test_a_race_says_more_than_a_hit() -> None:
    written = [(0.01, 1.0)] * 40
    assert expected(written, Strategy.GUMBEL) > expected(written, Strategy.UNBIASED) + 40

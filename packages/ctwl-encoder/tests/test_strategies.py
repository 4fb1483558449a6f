"""The strategies and the expectation, without a model."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import erfinv
from scipy.stats import kstest

from ctwl_encoder.core.expected_evidence import chance_found, expected_evidence, expected_nats
from ctwl_encoder.core.host import probabilities, reference_of
from ctwl_encoder.core.strategies import Strategy
from ctwl_encoder.core.strategies.delta.expected import half_nats, null_hits
from ctwl_encoder.core.strategies.race.lots import RANKS, lots
from ctwl_encoder.core.strategies.race.reference import gained
from ctwl_encoder.core.strategies.race.shares import LEAST_SHARE, MOST_SHARE
from ctwl_encoder.core.texts import Log
from ctwl_encoder.options import MarkingOptions
from ctwl_protocol.bridge import Branch
from ctwl_protocol.errors import ModelFailed
from ctwl_protocol.hashing import ranks
from ctwl_protocol.partition.reference import members

RNG = np.random.default_rng(11)


def branch(chances: np.ndarray, candidates: np.ndarray, tokens: np.ndarray) -> Branch:
    return Branch((), candidates.astype(np.int64), tokens.astype(np.int64), chances[candidates].astype(np.float64))


def native(logits: np.ndarray) -> Branch:
    """The branch of a model whose vocabulary is the proxy's, all tokens in it."""
    every = np.arange(len(logits))
    return branch(probabilities(logits[None])[0], every, every)


SHARES = [LEAST_SHARE, 0.3, 0.5, 0.8, MOST_SHARE]

KEEPING = [each for each in Strategy if each.keeps_distribution]


def around(strategy: Strategy, temperature: float = 1.0) -> list[float]:
    """Strengths of a strategy: the default at a temperature, a step less, and the most."""
    strength = strategy.traits.strength
    return [strength.usual(temperature) - strength.step, strength.usual(temperature), strength.bounds["le"]]


@pytest.mark.parametrize(("strategy", "strength"), [(each, number) for each in KEEPING for number in around(each)])
def test_the_models_distribution_is_kept_on_average(strategy: Strategy, strength: float) -> None:
    """Candidates that show the same proxy token share its fate; a candidate outside the branch keeps its chance."""
    logits = np.array([2.0, 1.0, 0.5, 0.0, -1.0, 1.5, -np.inf, 0.3], dtype=np.float32)
    chances, gained = probabilities(logits[None])[0], reference_of(strategy)
    place = branch(chances, np.array([0, 1, 2, 3, 4, 6, 7]), np.array([7, 40, 7, 3, 9, 11, 12]))
    trials = 6_000
    marked = np.empty((trials, 8))
    for row, seed in zip(marked, RNG.integers(0, 2**32, trials).tolist(), strict=True):
        changed = logits.astype(np.float64)
        changed[place.candidates] += gained(place, seed, strength)
        row[:] = np.exp(changed)
    marked /= np.exp(logits.astype(np.float64)).sum()
    error = marked.std(axis=0) / np.sqrt(trials)
    assert np.all(np.abs(marked.mean(axis=0) - chances) < 4.5 * error + 1e-6)
    np.testing.assert_allclose(marked[:, 5], chances[5], rtol=1e-5)
    np.testing.assert_allclose(marked.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(marked[:, 2] / marked[:, 0], chances[2] / chances[0], rtol=1e-5)


@pytest.mark.parametrize("share", SHARES)
def test_a_lot_and_what_chance_adds_are_a_gumbel_variable(share: float) -> None:
    drawn = lots(share, RNG.integers(0, 2**32, 100_000, dtype=np.uint32))
    assert kstest(drawn + (1 - share) * RNG.gumbel(size=len(drawn)), "gumbel_r").pvalue > 1e-3


def test_the_lots_of_one_half_have_a_closed_form() -> None:
    """A positive stable variable of index 1/2 has Levy's distribution."""
    some = np.concatenate([[0, 1, 2**32 - 1], RNG.integers(0, 2**32, 1000)]).astype(np.uint32)
    x = (some.astype(np.float64) + 0.5) / RANKS
    np.testing.assert_allclose(lots(0.5, some), -0.5 * np.log(4 * erfinv(x) ** 2), atol=1e-4)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=2, max_size=60), st.sampled_from([LEAST_SHARE, 0.37, MOST_SHARE]))
def test_lots_are_larger_the_earlier_a_token_ranks(some: list[int], share: float) -> None:
    found = lots(share, np.array(sorted(some), dtype=np.uint32))
    assert np.isfinite(found).all() and np.all(np.diff(found) <= 0)


def test_a_larger_share_leaves_less_to_chance_and_prefers_earlier_ranks() -> None:
    left, where = [], []
    for share in (1e-3, *SHARES):
        entropies, means = [], []
        for seed in range(200):
            place = native(np.random.default_rng(seed).normal(size=300).astype(np.float32))
            chances = place.mass * np.exp(gained(place, seed, share))
            entropies.append(-(chances * np.log(np.maximum(chances, 1e-300))).sum())
            means.append(chances @ ranks(seed, 300) / RANKS)
        left.append(np.mean(entropies))
        where.append(np.mean(means))
    assert left == sorted(left, reverse=True) and where == sorted(where, reverse=True)
    assert left[0] > 5 and where[0] > 0.48  # as without a mark
    assert left[-1] < 0.5 and where[-1] < 0.02


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
    steps: list[tuple[float, float]],
    strategy: Strategy = Strategy.RACE,
    strength: float | None = None,
    *,
    repeated: bool = False,
    spelled: int = 0,
) -> float:
    """Of a text that was marked at each position: the chance of its token, and whether that is a hit."""
    strength = strategy.traits.strength.usual(1.0) if strength is None else strength
    written = Log.empty(len(steps))
    written.key[:] = 0 if repeated else np.arange(len(steps))
    written.chance[:], written.hit[:] = np.array(steps, dtype=np.float32).reshape(-1, 2).T
    written.token[:spelled] = 1
    singles = np.array([False, True])
    return expected_evidence(written, strategy, strength, own=False, singles=singles).read / math.log(2)


def test_a_script_that_the_proxy_lm_spells_shows_a_reader_nothing() -> None:
    text = [(0.1, 1.0)] * 90
    assert expected(text, spelled=30) == expected(text) > 0
    assert expected(text, spelled=31) == 0


@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0.0, 1.0])), max_size=60), st.sampled_from(Strategy))
def test_a_chance_is_one_whatever_was_written(steps: list[tuple[float, float]], strategy: Strategy) -> None:
    bits = expected(steps, strategy)
    assert 0 <= bits < math.inf
    assert 0 <= chance_found(bits, 33.3) <= 1
    assert chance_found(0, 33.3) == 0 and chance_found(33.3, 33.3) == 0.5


def test_hits_are_evidence_and_misses_and_repeats_are_not() -> None:
    hits, misses = [(0.0, 1.0)] * 100, [(0.0, 0.0)] * 100
    assert expected(hits, Strategy.DELTA) == pytest.approx(100 * Strategy.DELTA.traits.reader_share[0], abs=0.1)
    assert expected(misses, Strategy.DELTA) == 0
    assert expected(hits, repeated=True) == pytest.approx(expected(hits[:1]))
    assert expected([]) == 0


@pytest.mark.parametrize("p", [0.02, 0.3, 0.5, 0.75, 0.98])
def test_what_halves_are_expected_to_say_is_what_a_reader_of_the_distribution_sees(p: float) -> None:
    """The mean, over many places in the order of ranks, of the log-likelihood ratio of a token that was drawn."""
    begins = (np.arange(20_000) + 0.5) / 20_000 * (1 - p)
    ratios = np.clip((0.5 - begins) / p, 0, 1) * 2
    drawn = ratios / ratios.sum()
    mean = (drawn[ratios > 0] * np.log(ratios[ratios > 0])).sum()
    assert half_nats(np.array([p]))[0] == pytest.approx(mean, abs=1e-3)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_what_races_are_expected_to_say_is_what_they_show(share: float) -> None:
    """The mean, over many races, of the log-likelihood ratio of what was drawn."""
    chances, every = np.array([0.5, 0.25, 0.15, 0.1]), np.arange(4)
    place = branch(chances, every, every + 5)
    seeds = np.random.default_rng(1).integers(0, 2**32, 10_000)
    nats = np.array([gained(place, seed, share) for seed in seeds.tolist()])
    shown = (np.exp(nats) * nats).mean(axis=0)
    np.testing.assert_allclose(
        shown, expected_nats(Strategy.RACE, chances, np.ones(4, np.float32), share), rtol=0.05, atol=0.01
    )


@pytest.mark.parametrize(
    ("temperature", "share"), [(2.0, 0.5), (1.0, 0.5), (0.9, 0.6), (0.7, 0.8), (0.6, 0.9), (0.2, 0.9)]
)
def test_the_default_share_is_larger_where_sampling_is_cooler(temperature: float, share: float) -> None:
    given = MarkingOptions()
    assert given.strength_of(Strategy.RACE, temperature) == share
    assert given.strength_of(Strategy.DELTA, temperature) == given.delta
    assert MarkingOptions(share=0.333).strength_of(Strategy.RACE, temperature) == 0.33


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0, 1.5])
def test_an_option_sets_the_strength_of_each_strategy(strategy: Strategy, temperature: float) -> None:
    name, numbers = strategy.traits.strength.name, around(strategy, temperature)
    assert MarkingOptions().strength_of(strategy, temperature) == numbers[1]
    given = [MarkingOptions(**{name: number}).strength_of(strategy, temperature) for number in numbers]  # type: ignore[arg-type]
    assert given == [strategy.traits.strength.rounded(number) for number in numbers] == sorted(given)


@pytest.mark.parametrize("strategy", Strategy)
def test_a_stronger_mark_says_no_less(strategy: Strategy) -> None:
    told = [expected([(0.01, 1.0)] * 40, strategy, strength) for strength in around(strategy)]
    assert told == sorted(told) and told[0] > 0


def test_a_larger_share_says_more() -> None:
    written = [(0.01, 1.0)] * 40
    told = [expected(written, strength=share) for share in SHARES]
    assert told == sorted(told) and told[0] < 20 < 80 < told[-1]

"""What could have stood at each place: rivals from logits, and the proxy LM that readers ask."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from small_lm import small_proxy

from ctwl_protocol import get_profile
from ctwl_protocol.errors import ProxyMalformed
from ctwl_protocol.partition.reference import quantize
from ctwl_protocol.partition.toy import toy_weights
from ctwl_protocol.profile import TOY, TOYS
from ctwl_protocol.proxy import Proxy, Rivals, open_proxy

PROSE = "The council met on Tuesday and talked about the bridge, the school and the weather. Nobody was surprised. "


def same(found: Rivals, expected: Rivals) -> None:
    for name, column in vars(expected).items():
        np.testing.assert_array_equal(getattr(found, name), column, strict=True, err_msg=name)


# ---- rivals ----


def by_definition(logits: np.ndarray, observed: np.ndarray, special: list[int], bits: int) -> Rivals:
    weights = quantize(softmax(logits.astype(np.float64), axis=1), bits)
    weights[:, special] = 0
    return Rivals.of(np.arange(len(logits)), weights, observed, 1 << bits)


@given(
    st.integers(0, 2**32 - 1), st.sampled_from([1, 7, 8, 9, 16, 24]), st.sampled_from([1, 3, 255, 700]),
    st.floats(0, 12), st.floats(0, 1),
)  # fmt: skip
def test_rivals_of_logits_are_of_weights(seed: int, bits: int, vocabulary: int, spread: float, specials: float) -> None:
    """With few bits a weight is rounded up from half a share; special tokens weigh nothing, and may be shown."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, spread, (5, vocabulary)).astype(np.float32)
    observed = rng.integers(0, vocabulary, 5)
    special = np.flatnonzero(rng.random(vocabulary) < specials * rng.integers(0, 2)).tolist()
    found = Rivals.of_logits(np.arange(5), logits, observed, special, bits)
    same(found, by_definition(logits, observed, special, bits))
    assert (found.tokens[found.shown] == observed).all() and (found.weights >= 1).all()
    assert (np.diff(found.starts) <= 513).all()


@pytest.mark.parametrize("bits", [8, 24])
def test_rivals_of_real_logits_are_those_of_the_weights(offline_proxy: Proxy, bits: int) -> None:
    ids, tokenizer = offline_proxy.tokenizer.encode(PROSE * 3), offline_proxy.profile.tokenizer
    assert offline_proxy._reader is not None
    model = offline_proxy._reader()
    logits = model.head(model.hidden(ids[:-1]))[:, : tokenizer.vocabulary]
    observed = np.where(np.arange(len(ids) - 1) % 9, ids[1:], tokenizer.special[0])  # a special token now and then
    found = Rivals.of_logits(np.arange(len(observed)), logits, observed, tokenizer.special, bits)
    same(found, by_definition(logits, observed, list(tokenizer.special), bits))


def test_uniform_logits_have_as_many_rivals_as_there_can_be() -> None:
    found = Rivals.of_logits(np.arange(1), np.zeros((1, 600), np.float32), np.array([599]), (), 8)
    assert found.tokens.tolist() == [599]
    for size in (256, 512):
        found = Rivals.of_logits(np.arange(1), np.zeros((1, size), np.float32), np.array([3]), (), 8)
        assert found.tokens.tolist() == list(range(size)) and set(found.weights.tolist()) == {1}


def test_rivals_of_stretches_join_to_those_of_the_text() -> None:
    rng = np.random.default_rng(3)
    weights = rng.integers(0, 90, (9, 40)).astype(np.uint32)
    observed, places = rng.integers(0, 40, 9), np.arange(20, 29)
    cuts = [slice(0, 4), slice(4, 4), slice(4, 9)]
    parts = [Rivals.of(places[cut], weights[cut], observed[cut]) for cut in cuts]
    same(Rivals.joined(parts), Rivals.of(places, weights, observed))
    assert len(Rivals.joined([])) == 0


# ---- the proxy ----


def test_the_proxy_lm_sees_the_whole_block(offline_proxy: Proxy) -> None:
    """By ten tokens alone, what was said before is not expected to come again."""
    ids = offline_proxy.tokenizer.encode(PROSE * 2)
    found, half = offline_proxy.rivals(ids), len(ids) // 2
    shown = found.weights[found.shown] / found.total
    assert found.places.tolist() == list(range(10, len(ids)))
    assert np.median(shown[half:]) > 0.8 > 0.5 > np.median(shown[: half - 10])


@pytest.mark.parametrize("positions", [10, 11, 64, 8192])
def test_a_text_of_many_blocks_has_rivals_at_each_place(positions: int) -> None:
    proxy, done = small_proxy(positions), list[int]()
    ids = proxy.tokenizer.encode(PROSE * {10: 2, 11: 2, 64: 9, 8192: 60}[positions])
    found = proxy.rivals(ids, done.append)
    assert found.places.tolist() == list(range(10, len(ids)))
    assert done == [block.end - 10 for block in proxy.blocks(len(ids))] and done[-1] == len(ids) - 10
    assert len(done) > 1
    same(found, Rivals.joined([proxy.rivals_in(ids, block) for block in proxy.blocks(len(ids))]))


def test_a_blocks_rivals_follow_from_its_tokens_alone() -> None:
    proxy = small_proxy(64)
    ids = proxy.tokenizer.encode(PROSE * 9)
    _, block, *_ = proxy.blocks(len(ids))
    other = ids[::-1].copy()
    other[block.start : block.end] = ids[block.start : block.end]
    same(proxy.rivals_in(other, block), proxy.rivals_in(ids, block))


@pytest.mark.parametrize("name", TOYS)
def test_toy_weights_see_the_prefix_and_no_more(name: str) -> None:
    proxy = open_proxy(name)
    profile, ids = proxy.profile, proxy.tokenizer.encode(PROSE)
    found = proxy.rivals(ids)
    length = profile.prefix_length
    weights = toy_weights(np.stack([ids[i - length : i] for i in range(length, len(ids))]), 256)
    weights[:, list(profile.tokenizer.special)] = 0
    same(found, Rivals.of(np.arange(length, len(ids)), weights, ids[length:]))
    assert proxy.load() == "integer"


def test_where_all_tokens_weigh_the_same_each_stands_alone() -> None:
    proxy = open_proxy("org.ctwl.smollm2-135m.vanilla.1")
    ids = proxy.tokenizer.encode(PROSE)
    found = proxy.rivals(ids)
    tokenizer = proxy.profile.tokenizer
    assert found.tokens.tolist() == ids[10:].tolist() and set(found.weights.tolist()) == {1}
    assert set(found.total.tolist()) == {tokenizer.vocabulary - len(tokenizer.special)}


def test_the_proxy_lm_is_shared_with_profiles_that_have_it() -> None:
    proxy = small_proxy()
    other = proxy.profile.model_copy(update={"name": "com.example.own.1", "key": bytes(32)})
    twin, ids = proxy.shared_with(other), proxy.tokenizer.encode(PROSE)
    assert twin.profile is other and twin._reader is proxy._reader
    same(twin.rivals(ids), proxy.rivals(ids))
    with pytest.raises(ProxyMalformed, match="another proxy"):
        proxy.shared_with(get_profile(TOY))


@pytest.mark.slow
def test_another_device_says_the_same_up_to_rounding(offline_proxy: Proxy) -> None:
    """torch on the CPU, in whatever it is quickest in there."""
    ids = offline_proxy.tokenizer.encode(PROSE)
    other = open_proxy(offline_proxy.profile, device="auto")
    assert other.load() in ("float32", "bfloat16")
    ours, theirs = (each.rivals(ids) for each in (offline_proxy, other))
    ours_shown, theirs_shown = (each.weights[each.shown] / each.total for each in (ours, theirs))
    assert np.abs(ours_shown - theirs_shown).mean() < 0.01

"""The marker under ``delta``: what it asks the proxy, and that asking less changes nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ctwl_encoder import Bridge
from ctwl_encoder.core.host import HostMarker
from ctwl_encoder.core.payload import Payload
from ctwl_encoder.core.strategies import Decoding, Strategy
from ctwl_encoder.core.text_state import TextState
from ctwl_encoder.options import MarkingOptions
from ctwl_protocol.proxy import Proxy

WRITTEN = "The council said on Tuesday that the new bridge over the river will not open before winter"

PAYLOAD = Payload((77,))

UNASKED: dict[str, Any] = {"decoding": Decoding.SAMPLED, "uniform": lambda: 0.0}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many windows the proxy was asked about, each time."""
    counts: list[int] = []
    weigh: Callable[..., Any] = Proxy.weights

    def counted(self: Proxy, windows: Any) -> Any:
        counts.append(len(windows))
        return weigh(self, windows)

    monkeypatch.setattr(Proxy, "weights", counted)
    return counts


def step(bridge: Bridge, logits: np.ndarray, delta: float = 2.0, **how: Any) -> tuple[np.ndarray, TextState]:
    """The distribution after one step, not normalized, and the text that it goes on from."""
    marker = HostMarker(bridge, Strategy.DELTA, **how)
    text = marker.start(PAYLOAD, delta)
    for token in bridge.proxy.tokenizer.encode(WRITTEN):
        text = marker.extend(text, int(token))
    return np.exp(marked(marker, text, logits).astype(np.float64)), text


def marked(marker: HostMarker, text: TextState, logits: np.ndarray) -> np.ndarray:
    """What a step makes of logits, float32 (size,)."""
    rows = logits[None].copy()
    marker.mark([text], rows)
    return np.asarray(rows[0])


def words(bridge: Bridge, spread: float) -> np.ndarray:
    size = bridge.proxy.profile.tokenizer.vocabulary
    return (spread * np.random.default_rng(5).normal(size=size)).astype(np.float32)


@pytest.mark.parametrize("spread", [1.0, 2.5, 5.0])
@pytest.mark.parametrize("delta", [0.5, 2.0, 100.0])
def test_sampling_with_and_without_the_proxy_is_sampling_from_the_marked_distribution(
    bridge: Bridge, asked: list[int], spread: float, delta: float
) -> None:
    """What is drawn without asking and what is drawn after it add up to what is drawn when always asking."""
    logits = words(bridge, spread)
    always, _ = step(bridge, logits, delta=delta)
    assert asked
    asked.clear()
    without, _ = step(bridge, logits, delta=delta, **UNASKED)
    assert not asked
    after, _ = step(bridge, logits, delta=delta, decoding=Decoding.SAMPLED, uniform=lambda: 1.0)
    assert asked
    assert 0.99 * delta / np.expm1(delta) < without.sum() < 1
    np.testing.assert_allclose(without + after, always / always.sum(), atol=1e-6)


def test_it_is_asked_as_often_as_its_answer_can_matter(bridge: Bridge, asked: list[int]) -> None:
    logits = words(bridge, 2.5)
    without, _ = step(bridge, logits, **UNASKED)
    for chance, windows in ((0.999 * without.sum(), 0), (1.001 * without.sum(), 1)):
        asked.clear()
        step(bridge, logits, decoding=Decoding.SAMPLED, uniform=lambda chance=chance: float(chance))
        assert sum(asked) >= windows == bool(asked)


@pytest.mark.parametrize(("lead", "windows"), [(2.1, 0), (1.9, 1)])
def test_greedy_decoding_asks_where_another_token_could_win(
    bridge: Bridge, asked: list[int], lead: float, windows: int
) -> None:
    logits = words(bridge, 0.1)
    best = int(logits.argmax())
    logits[best] = np.delete(logits, best).max() + lead
    found, _ = step(bridge, logits, decoding=Decoding.GREEDY)
    assert bool(asked) == bool(windows)
    always, _ = step(bridge, logits)
    assert found.argmax() == always.argmax()


def spread_over(bridge: Bridge, chances: dict[str, float]) -> np.ndarray:
    """Logits of these words."""
    logits = np.full(bridge.proxy.profile.tokenizer.vocabulary, -30.0, dtype=np.float32)
    for word, chance in chances.items():
        (token,) = bridge.proxy.tokenizer.encode(word)
        logits[token] = np.log(chance)
    return logits


def test_what_is_marked_does_not_depend_on_what_was_asked(bridge: Bridge) -> None:
    """The place before the last word comes back while the word goes on; it was not asked about at the step before."""
    begun = spread_over(bridge, {" br": 0.97, " the": 0.02, " and": 0.01})
    goes_on = spread_over(bridge, {" the": 0.42, " in": 0.3, " and": 0.1, "idge": 0.13, "ake": 0.05})

    twin = Bridge(bridge.vocabulary, Proxy(bridge.proxy.profile.vanilla(), bridge.proxy.tokenizer))

    def second(code: int, decoding: Decoding, lots: tuple[float, float] = (0.0, 0.0)) -> np.ndarray:
        drawn = iter(lots)
        marker = HostMarker(twin, Strategy.DELTA, decoding=decoding, uniform=lambda: next(drawn))
        text = marker.start(Payload((code,)), 2.0)
        for token in bridge.proxy.tokenizer.encode(WRITTEN):
            text = marker.extend(text, int(token))
        marked(marker, text, begun)
        text = marker.extend(text, int(begun.argmax()))
        found = np.exp(marked(marker, text, goes_on).astype(np.float64))
        return np.asarray(found / (found.sum() if decoding is Decoding.ANY else 1))

    for code in range(12):
        always = second(code, Decoding.ANY)
        assert second(code, Decoding.GREEDY).argmax() == always.argmax()
        both = second(code, Decoding.SAMPLED, (0.0, 0.0)) + second(code, Decoding.SAMPLED, (0.0, 1.0))
        np.testing.assert_allclose(both, always, atol=1e-6)


def test_a_token_that_was_drawn_without_asking_counts_by_where_it_ranks(bridge: Bridge) -> None:
    """A model that thinks as the proxy does: then its own mass tells whether a token is a member."""
    window = bridge.proxy.tokenizer.encode(WRITTEN)[-bridge.proxy.profile.prefix_length :]
    logits = np.log(np.maximum(bridge.proxy.weights(window[None])[0], 1)).astype(np.float32)
    new = [token for string, token in bridge.proxy.tokenizer.vocabulary.items() if string.startswith("Ġ")]
    hits: list[float] = []
    members: list[float] = []
    for token in sorted(new, key=lambda word: -logits[word])[:12]:
        for how, found in ((UNASKED, hits), ({}, members)):
            _, text = step(bridge, logits, **how)
            text = HostMarker(bridge, Strategy.DELTA).extend(text, token)
            assert text.last is not None and text.last.token == token
            assert (token,) in text.seen().values()  # it will not be preferred there again
            found.append(text.last.hit)
    assert {0.0, 1.0} == set(members)
    assert np.round(hits).tolist() == members


@pytest.mark.parametrize("strategy", Strategy)
def test_rows_that_share_a_text_are_marked_by_their_own_logits(bridge: Bridge, strategy: Strategy) -> None:
    """As two prompts with one record do, whose texts have been the same so far."""
    marker = HostMarker(bridge, strategy)
    text = marker.start(PAYLOAD, MarkingOptions().strength_of(strategy))
    for token in bridge.proxy.tokenizer.encode(WRITTEN):
        text = marker.extend(text, int(token))
    logits = np.stack([words(bridge, 2.5), words(bridge, 2.5)[::-1]])
    alone = [marked(marker, text, row) for row in logits]
    marker.mark([text, text], logits)
    np.testing.assert_array_equal(logits, np.stack(alone))

"""A batch is marked as each of its texts is by hand, whatever comes, goes and goes back."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from by_hand import WORDS, TextByHand, longest_tokens, made_logits, positions_of
from many_scripts import TEXT
from transformers import PreTrainedTokenizerFast

from ctwl_encoder import Bridge
from ctwl_encoder.core.device.marker import DeviceMarker
from ctwl_encoder.core.host import HostMarker
from ctwl_encoder.core.marker import Marker
from ctwl_encoder.core.payload import Payload
from ctwl_encoder.core.strategies import Strategy
from ctwl_protocol.proxy import Proxy, open_proxy
from ctwl_protocol.records.layouts import LAYOUTS
from ctwl_protocol.records.record import Record

TWO = Payload.of(Record(next(one for one in LAYOUTS if one.codes == 2 and not one.authenticated), (77, 4242)))
"""A record of two codes."""

PAYLOADS = (Payload((5,)), Payload((77,)), TWO)


def marked_steps(
    marker: Marker, texts: list[int], by_hand: list[TextByHand], ids: list[int], device: torch.device | None
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The logits of each step, as marked by hand, and as marked on a device, or on the host.

    Three texts are written, each a token further on than the one before.
    """
    for step in range(len(ids) - 2):
        logits = made_logits(marker.bridge, 3, step)
        expected = np.stack([text.mark(row) for text, row in zip(by_hand, logits, strict=True)])
        found: Any = logits.copy() if device is None else torch.tensor(logits, device=device)
        marker.mark(texts, found)
        yield logits, expected, found if device is None else found.cpu().numpy()
        new = ids[step : step + 3]
        marker.extend(texts, new)
        for text, token in zip(by_hand, new, strict=True):
            text.extend(token)


@pytest.mark.parametrize("on_host", [True, False])
@pytest.mark.parametrize("strategy", [strategy for strategy in Strategy if strategy.keeps_distribution])
def test_a_step_gives_the_chances_that_it_gives_by_hand(
    bridge: Bridge, smollm2: tuple[Any, Any], device: torch.device, strategy: Strategy, on_host: bool
) -> None:
    """Along a text with words, white space, digits and signs; several texts in a batch, each at another place.

    The texts have shares and records of their own.
    """
    if on_host and device.type == "cuda":
        pytest.skip("NumPy's logits are on the host")
    ids, shares = smollm2[1](WORDS)["input_ids"], (0.8, 0.05, 0.5)
    marker: Marker = HostMarker(bridge, strategy) if on_host else DeviceMarker(bridge, strategy)
    texts = [marker.start(payload, share) for payload, share in zip(PAYLOADS, shares, strict=True)]
    by_hand = [TextByHand(bridge, strategy, *both) for both in zip(PAYLOADS, shares, strict=True)]
    changed = 0
    for logits, expected, found in marked_steps(marker, texts, by_hand, ids, None if on_host else device):
        # NumPy's softmax and torch's differ in the last bits, which a race multiplies.
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3)
        changed += int((expected != logits).any(axis=1).sum())
    assert changed > len(ids)


@pytest.mark.parametrize("twin", [False, True])
def test_delta_is_that_by_hand(bridge: Bridge, smollm2: tuple[Any, Any], device: torch.device, twin: bool) -> None:
    """Bit for bit, with deltas of their own; and hits and misses are noted."""
    ids = smollm2[1](WORDS)["input_ids"]
    bridge = Bridge(smollm2[1], Proxy(bridge.proxy.profile.vanilla(), bridge.proxy.tokenizer)) if twin else bridge
    marker = DeviceMarker(bridge, Strategy.DELTA)
    texts = [marker.start(payload, 1.5 + row) for row, payload in enumerate(PAYLOADS)]
    by_hand = [TextByHand(bridge, Strategy.DELTA, payload, 1.5 + row) for row, payload in enumerate(PAYLOADS)]
    changed = 0
    for logits, expected, found in marked_steps(marker, texts, by_hand, ids[:15], device):  # marks begin behind ten
        np.testing.assert_array_equal(found, expected)
        changed += int((expected != logits).any(axis=1).sum())
    assert changed > 6
    assert set(marker.texts.of(texts[0]).marked.hit.tolist()) == {0.0, 1.0}


def test_a_place_that_was_marked_is_marked_again_while_a_word_goes_on(bridge: Bridge) -> None:
    """Under ``delta``, though little mass is there by then: else a word's beginning would lose its mark."""
    marker, letters = DeviceMarker(bridge, Strategy.DELTA), bridge.proxy.tokenizer
    (text,) = texts = [marker.start(Payload((77,)), 2.0)]
    for token in letters.encode("The council said on Tuesday that the new bridge over the river will not open before"):
        marker.extend(texts, [int(token)])

    def logits(**chances: float) -> torch.Tensor:
        made = torch.full((1, len(bridge.vocabulary)), -30.0)
        for word, chance in chances.items():
            made[0, letters.encode(word.replace("_", " "))[0]] = np.log(chance)
        return made

    begun = logits(_br=0.97, _the=0.02, _and=0.01)
    marker.mark(texts, begun)
    marker.extend(texts, [int(letters.encode(" br")[0])])
    goes_on = logits(_the=0.42, _in=0.3, _and=0.1, idge=0.13, ake=0.05)
    marker.mark(texts, goes_on)
    assert marker.texts.columns.offers[text] == 2


VOCABULARIES = ("smollm2", pytest.param("gpt2", marks=pytest.mark.slow), "mistral", "bytes")


@pytest.fixture(scope="module", params=VOCABULARIES)
def every_bridge(
    request: pytest.FixtureRequest, bridge: Bridge, gpt2: Proxy, mistral: Any, offline_proxy: Proxy
) -> Bridge:
    if request.param == "gpt2":
        return Bridge(PreTrainedTokenizerFast(tokenizer_object=gpt2.tokenizer.backend), offline_proxy)
    if request.param == "bytes":
        return Bridge([bytes([letter]) for letter in range(256)], open_proxy("org.ctwl.toy.1"))
    return Bridge(mistral, offline_proxy) if request.param == "mistral" else bridge


@pytest.mark.parametrize(
    ("steps", "warm"), [(40, True), *(pytest.param(900, warm, marks=pytest.mark.slow) for warm in (False, True))]
)
def test_a_batch_reads_its_texts_as_each_is_read_alone(every_bridge: Bridge, steps: int, warm: bool) -> None:
    """Texts in every script, code and random tokens; rows that come, go, go back and fork."""
    bridge, rng = every_bridge, np.random.default_rng(7)
    marker = DeviceMarker(bridge, Strategy.RACE)
    if warm:
        marker.warm_up(len(bridge.vocabulary), torch.device("cpu"))
    pieces = longest_tokens(bridge, TEXT * 4)

    def begun(payload: Payload) -> tuple[int, list[int], Payload]:
        return marker.start(payload, 0.3), [], payload

    rows = [begun(PAYLOADS[n % 3]) for n in range(12)]
    for _ in range(steps):
        starts = rng.integers(len(pieces) - 1, size=len(rows))
        new = [
            pieces[(start + len(tokens)) % len(pieces)]
            if rng.random() < 0.9
            else int(rng.integers(len(bridge.vocabulary)))
            for start, (_, tokens, _) in zip(starts, rows, strict=True)
        ]
        marker.extend([text for text, _, _ in rows], new)
        for (_, tokens, _), token in zip(rows, new, strict=True):
            tokens.append(token)
        which = int(rng.integers(len(rows)))
        text, tokens, payload = rows[which]
        event = rng.random()
        if event < 0.1:
            marker.texts.free(text)
            rows[which] = begun(payload)
        elif event < 0.3:
            rows[which - 1] = (marker.texts.copy(text), tokens.copy(), payload)
    for text, tokens, payload in rows:
        alone = TextByHand(bridge, Strategy.RACE, payload, 0.3)
        for token in tokens:
            alone.extend(token)
        seen = [token for _, token in alone.seen()]
        prefix = bridge.proxy.profile.prefix_length
        assert positions_of(marker.texts.of(text)) == [(prefix + n, token) for n, token in enumerate(seen)]
        assert marker.lengths([text])[0] == len(alone.tokens)


def test_a_marker_forgets_old_texts(bridge: Bridge, smollm2: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tails and words of contexts are bounded; the texts that are being written go on as they would have."""
    ids, rows = smollm2[1](TEXT)["input_ids"], []
    for most in (1 << 20, 20):
        monkeypatch.setattr("ctwl_encoder.core.tails.MOST_TAILS", most)
        marker = DeviceMarker(bridge, Strategy.RACE)
        texts = [marker.start(payload, 0.3) for payload in PAYLOADS]
        for step in range(25):
            logits = torch.tensor(made_logits(bridge, 3, step))
            marker.mark(texts, logits)
            rows.append(logits)
            marker.extend(texts, ids[step : step + 3])
    assert all(torch.equal(*both) for both in zip(rows[:25], rows[25:], strict=True))


@pytest.mark.parametrize("on_host", [True, False])
def test_of_a_text_that_waited_nothing_is_noted_that_is_no_longer_known(bridge: Bridge, on_host: bool) -> None:
    """Another text was marked in between, and a row without a text stays as it is."""
    marker: Marker = HostMarker(bridge, Strategy.RACE) if on_host else DeviceMarker(bridge, Strategy.RACE)
    texts = [marker.start(Payload((code,)), 0.5) for code in (5, 77)]
    said = bridge.proxy.tokenizer.encode("The council said on Tuesday that the new bridge over the river will").tolist()
    for token in said:
        marker.extend(texts, [token, token])
    for text in texts:
        logits = made_logits(bridge, 2, 3)
        marker.mark([text, -1], logits if on_host else torch.from_numpy(logits))  # which changes the array
        np.testing.assert_array_equal(logits[1], made_logits(bridge, 2, 3)[1])
        assert (logits[0] != made_logits(bridge, 2, 3)[0]).any()
    marker.extend(texts, said[:2])
    assert [len(marker.texts.of(text).marked.token) for text in texts] == [0, 1]


@pytest.mark.parametrize("strategy", Strategy)
def test_rows_that_share_a_text_are_marked_by_their_own_logits_and_noted_once(
    bridge: Bridge, device: torch.device, strategy: Strategy
) -> None:
    """As two prompts with one record do, or several sequences of one prompt, whose texts have been the same so far."""
    marker = DeviceMarker(bridge, strategy)
    text = marker.start(Payload((77,)), 0.5)
    *said, last = bridge.proxy.tokenizer.encode("The council said on Tuesday that the new bridge over the river will")
    for token in said:
        marker.extend([text], [int(token)])
    logits = torch.tensor(made_logits(bridge, 2, 5), device=device)
    alone = [row[None].clone() for row in logits]
    for row in alone:
        marker.mark([text], row)
    marker.mark([text, text], logits)
    assert torch.equal(logits, torch.cat(alone))
    length = marker.lengths([text])[0]
    marker.extend([text], [int(last)])
    assert marker.texts.of(text).marked.position.tolist() == [length]

"""Requests that go on with a text: the end of their prompt is the text so far."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from by_hand import longest_tokens, positions_of

from ctwl_decoder import Decoder
from ctwl_encoder import Bridge, CTWLWatermarkingConfig, Encoder
from ctwl_encoder.core.host import HostMarker
from ctwl_encoder.core.payload import Payload
from ctwl_encoder.core.strategies import Strategy
from ctwl_encoder.core.text_so_far import PROMPT_TOKENS
from ctwl_engines.note import Note, admitted
from ctwl_engines.policy import Policy
from ctwl_engines.serving import Serving
from ctwl_protocol import Beacon

SAMPLED = {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0, "repetition_penalty": 1.0}
GREEDY = {"do_sample": False, "repetition_penalty": 1.0}
SAID = "The council said on Tuesday that the new bridge over the river would open in spring"


def go_on(encoder: Encoder, prompt: str, requests: int, each: int, sampling: dict[str, Any]) -> str:
    """What one request after another writes, each behind all that was written before."""
    config = CTWLWatermarkingConfig(provider=42, version=3).attach(encoder.bridge)
    ids = encoder.tokenizer(prompt, return_tensors="pt")["input_ids"]
    start = ids.shape[1]
    for _ in range(requests):
        length = {"max_new_tokens": each, "min_new_tokens": each}
        ids = encoder.model.generate(ids, watermarking_config=config, pad_token_id=0, **length, **sampling)
    text: str = encoder.tokenizer.decode(ids[0, start:], skip_special_tokens=True)
    return text


@pytest.mark.parametrize(("sampling", "requests"), [(SAMPLED, 10), (GREEDY, 20)], ids=["race", "delta"])
@pytest.mark.filterwarnings("ignore::ctwl_encoder.errors.ShortText")
def test_requests_of_ten_tokens_that_go_on_with_one_text_write_one_record(
    toy: Encoder, toy_decoder: Decoder, sampling: dict[str, Any], requests: int
) -> None:
    torch.manual_seed(1)
    report = toy_decoder.decode(go_on(toy, SAID, requests, 10, sampling))
    assert report.detected and (report.provider, report.version) == (42, 3)


def test_texts_of_one_prompt_have_nonces_of_their_own(
    toy: Encoder, toy_decoder: Decoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(1)
    monkeypatch.setattr("secrets.randbelow", random.Random(1).randrange)  # else one text in some hundreds is not found
    config = CTWLWatermarkingConfig(provider=42, version=3).attach(toy.bridge)
    ids = toy.tokenizer(SAID, return_tensors="pt")["input_ids"]
    more = {"max_new_tokens": 120, "min_new_tokens": 120, "num_return_sequences": 3, "pad_token_id": 0}
    written = toy.model.generate(ids, watermarking_config=config, **more, **SAMPLED)
    texts = toy.tokenizer.batch_decode(written[:, ids.shape[1] :], skip_special_tokens=True)
    assert len({toy_decoder.decode(text).nonce for text in texts} - {None}) == 3


class Client:
    """Asks a server for ten tokens again and again; the server draws the likeliest of random logits."""

    def __init__(self, bridge: Bridge, **told: Any) -> None:
        self.policy = Policy(**{"provider": 42, "version": 3, "profile": bridge.proxy.profile.name, **told})
        self.serving, self.size = Serving(self.policy, bridge), len(bridge.vocabulary)
        self.chance = torch.Generator().manual_seed(1)

    def ask(self, prompt: list[int], tokens: int, number: int = 0) -> Iterator[tuple[int, bool, int]]:
        """For each token: the token, whether the mark changed its logits, and the text's nonce."""
        request = admitted(self.policy, {}, 1.0, "one")
        assert request is not None
        note = Note.drawn("one").logged(self.policy, request).of_text(number)
        served = self.serving.begin({}, 1.0, note)
        assert served is not None
        served.follow(prompt)
        for _ in range(tokens):
            logits = torch.randn(1, self.size, generator=self.chance)
            marked = logits.clone()
            self.serving.mark(marked, {0: (served, served.text)})
            token = int(marked[0, 32:127].argmax()) + 32
            yield token, not torch.equal(logits, marked), served.begun["nonce"]
            self.serving.extend([served], [[token]])
        served.finish()


def test_a_client_that_asks_for_ten_tokens_at_a_time_gets_a_marked_text(toy: Encoder, toy_decoder: Decoder) -> None:
    client, text = Client(toy.bridge), list[int]()
    for _ in range(15):
        text += [token for token, _, _ in client.ask(text, 10)]
    report = toy_decoder.decode(bytes(text).decode())
    assert report.detected and (report.provider, report.version) == (42, 3)


def test_what_goes_on_is_marked_from_its_first_token_and_what_begins_is_not(toy: Encoder) -> None:
    client, said = Client(toy.bridge), list(SAID.encode())
    end = toy.tokenizer.eos_token_id
    assert [changed for _, changed, _ in client.ask(said, 1)] == [True]
    words = said[: toy.proxy.profile.prefix_length - 1]  # as a chat template has them before an answer
    for prompt in ([], [end], [*said, end], [*said, end, *words]):
        assert [changed for _, changed, _ in client.ask(prompt, 1)] == [False]


def test_a_nonce_that_was_named_stays_and_each_text_of_a_request_has_its_own(toy: Encoder) -> None:
    said = list(SAID.encode())
    named, drawn = Client(toy.bridge, nonce=5), Client(toy.bridge)
    assert {nonce for *_, nonce in named.ask(said, 1)} == {5}
    first = [nonce for number in range(3) for *_, nonce in drawn.ask(said, 1, number)]
    again = [nonce for number in range(3) for *_, nonce in drawn.ask(said, 1, number)]
    assert len(set(first)) == 3 and first == again


def test_what_goes_on_has_a_nonce_that_a_reader_looks_for(toy: Encoder) -> None:
    """As many nonces as were asked for, or declared, whatever the words before would show among all."""
    client, prompts = Client(toy.bridge, nonces=3), [f"{SAID}, {word}" for word in ("again", "at last", "for a year")]
    served = {
        nonce for said in prompts for number in range(4) for *_, nonce in client.ask(list(said.encode()), 1, number)
    }
    config = CTWLWatermarkingConfig(provider=42, version=3, nonces=3, strategy="race")
    ids = torch.tensor([toy.tokenizer(said)["input_ids"][-40:] for said in prompts])
    processor: Any = config.attach(toy.bridge).construct_processor(len(toy.bridge.vocabulary), "cpu")
    processor(ids, torch.zeros(len(prompts), len(toy.bridge.vocabulary)))
    generated = {payload.carried[0] % 64 for payload in processor.payloads}
    assert served <= {0, 1, 2} and generated <= {0, 1, 2}


def test_the_nonce_of_a_marked_text_is_read_from_it(bridge: Bridge) -> None:
    marker, rng, right = HostMarker(bridge, Strategy.RACE), torch.Generator().manual_seed(1), 0
    for nonce in (0, 17, 63):
        payload, tokens = Payload((Beacon(42, 3, nonce).code,)), longest_tokens(bridge, SAID)
        text = marker.start(payload, 0.5, tokens)
        for _ in range(60):
            logits = torch.randn(1, len(bridge.vocabulary), generator=rng) * 3
            marked = logits.numpy()
            marker.mark([text], marked)
            tokens.append(int(marked[0].argmax()))
            marker.extend([text], tokens[-1:])
        other = Payload((Beacon(42, 3, (nonce + 9) % 64).code,))
        right += marker.texts.payloads[marker.start(other, 0.5, tokens, number=0)] == payload
    assert right == 3


def test_a_text_so_far_reads_as_its_tokens_one_by_one(bridge: Bridge) -> None:
    """And it takes milliseconds, however long the prompt is."""
    marker, payload = HostMarker(bridge, Strategy.RACE), Payload((77,))
    tokens = longest_tokens(bridge, SAID)
    one_by_one = marker.start(payload, 0.5)
    for token in tokens:
        marker.extend([one_by_one], [token])
    at_once, long = marker.start(payload, 0.5, tokens), marker.start(payload, 0.5, tokens * 1000)
    logs = [marker.texts.of(text) for text in (at_once, one_by_one)]
    assert logs[0].pairs.tolist() == logs[1].pairs.tolist() and positions_of(logs[0]) == positions_of(logs[1])
    assert marker.lengths([at_once])[0] == marker.lengths([one_by_one])[0] and not len(logs[0].marked.token)
    assert len(marker.texts.of(long).token) <= PROMPT_TOKENS

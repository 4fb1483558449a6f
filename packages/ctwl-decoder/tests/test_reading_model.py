"""A reading model sees what an encoder raced against what."""

from __future__ import annotations

import sys
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from bigrams import Bigrams
from hypothesis import given, settings
from hypothesis import strategies as st
from many_scripts import TEXT
from tokenizers.processors import TemplateProcessing
from transformers import LlamaConfig, LlamaForCausalLM

from ctwl_decoder.errors import ExtraMissing
from ctwl_decoder.reading_model import ReadingModel
from ctwl_decoder.statistics.races import RIVALS, UNIT, Race, Races, races_of
from ctwl_encoder import Encoder
from ctwl_encoder.core.payload import Payload, Seeds
from ctwl_protocol.causal_lm import load_tokenizer
from ctwl_protocol.errors import ModelNotFound, TokenizerUnsupported
from ctwl_protocol.hashing import ranks_of
from ctwl_protocol.proxy import LaterProxy, Proxy, open_later
from ctwl_protocol.text.normalization import normalize

OFFLINE = "org.ctwl.smollm2-135m.1"
PROSE = "The council met on Tuesday and talked about the bridge, the school and the weather. Nobody was surprised. " * 3

SMALL = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}


@pytest.fixture(scope="module")
def proxy() -> LaterProxy:
    return open_later(OFFLINE)


@pytest.fixture(scope="module")
def smollm2() -> ReadingModel:
    return ReadingModel.open("smollm2", OFFLINE, "cpu")


@pytest.fixture(scope="module")
def bigrams(mistral: Any) -> Bigrams:
    return Bigrams.of(mistral(TEXT * 3, add_special_tokens=False)["input_ids"], mistral)


@cache
def tiny() -> ReadingModel:
    """A random model with SmolLM2's tokenizer, which lacks some bytes, for GPT-2's tokens."""
    tokenizer = load_tokenizer("smollm2")
    torch.manual_seed(1)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **SMALL)).eval()
    return ReadingModel(model, tokenizer, open_later("org.ctwl.gpt2.1"), "tiny")


def read(model: ReadingModel, text: str, prompt: str | None = None) -> tuple[np.ndarray, Races]:
    text = normalize(text)
    tokens = model.bridge.proxy.tokenizer.encode(text)
    races = model.races(text, tokens, prompt)
    check(races)
    assert not len(races) or (races.place.min() >= 10 and races.place.max() < len(tokens))
    return tokens, races


def check(races: Races) -> None:
    """What holds of all races."""
    n = len(races)
    assert [each.dtype for each in (races.place, races.tokens, races.weights, races.rest)] == [
        np.int64, np.int32, np.uint32, np.uint32,
    ]  # fmt: skip
    assert races.tokens.shape == races.weights.shape == (n, RIVALS + 1) and races.rest.shape == (n,)
    assert (np.diff(races.place) >= 0).all()
    assert (races.tokens[:, 0] >= 0).all() and not races.weights[races.tokens < 0].any()
    rivals = races.weights[:, 1:].astype(np.int64)
    assert (np.diff(rivals, axis=1) <= 0).all() and (rivals[races.tokens[:, 1:] >= 0] > 0).all()
    sums = races.weights.sum(axis=1, dtype=np.int64) + races.rest
    assert (np.abs(sums - UNIT) <= RIVALS + 1).all()


def test_where_the_vocabularies_are_equal_a_race_is_a_row_of_the_model(smollm2: ReadingModel) -> None:
    tokens, races = read(smollm2, PROSE)
    with torch.inference_mode():
        rows = torch.softmax(smollm2._model(torch.from_numpy(tokens)[None]).logits[0], -1).numpy()
    plain = races_of(rows[9:-1], tokens[10:], 10)
    check(plain)
    where = np.isin(plain.place, races.place)
    assert where.mean() > 0.98
    last = races.tokens[:, 0] == tokens[races.place]  # at others the token could still change
    assert last.mean() > 0.98
    at = races.place[last] - 10
    mine, whole = races.weights[last, 0] / UNIT, plain.weights[at, 0] / UNIT
    assert np.quantile(np.abs(mine - whole), 0.95) < 1e-3
    assert (races.tokens[last, 1] == plain.tokens[at, 1]).mean() > 0.95


def test_the_proxys_own_weights_are_those_of_the_first_place(smollm2: ReadingModel, offline_proxy: Proxy) -> None:
    tokens, races = read(smollm2, PROSE)
    weights = offline_proxy.weights(tokens[None, :10])[0]
    assert races.place[0] == 10
    known = races.tokens[0] >= 0
    apart = np.abs(races.weights[0, known] / UNIT - weights[races.tokens[0, known]] / weights.sum())
    assert np.quantile(apart, 0.98) < 1e-4  # an apostrophe may swallow the letters that follow


@pytest.mark.parametrize("prompt", ["The council", "我们"])
def test_the_token_shown_won_the_race_that_the_encoder_held(
    bigrams: Bigrams, mistral: Any, proxy: LaterProxy, prompt: str
) -> None:
    """Under ``gumbel`` with another vocabulary, the winner of each race follows from the text's code."""
    encoder = Encoder(bigrams, mistral, proxy)  # type: ignore[arg-type]  # gumbel never asks the proxy LM
    asked = {"strategy": "gumbel", "fresh": 0.0, "max_new_tokens": 150, "min_new_tokens": 150, "seed": 3}
    (generation,) = encoder.generate([prompt], 77, 7, **asked)
    model = ReadingModel(bigrams, mistral, proxy, "bigrams")
    tokens, races = read(model, generation.text, prompt)
    assert len(np.unique(races.place)) > 0.4 * (len(tokens) - 10)  # many a token of the model shows several
    seeds, pairs = Seeds(proxy.profile), list(pairwise(tokens.tolist()))
    won: dict[int, list[bool]] = {code: [] for code in (generation.record.carried[0], 1)}
    for place, row, weights in zip(races.place.tolist(), races.tokens, races.weights, strict=True):
        context = int(tokens[place - 1])
        # What stood behind the same token before took no part.
        seen = [token for before, token in pairs[9 : place - 1] if before == context]
        part = (row >= 0) & ~np.isin(row, seen)
        for code in won if part[0] else ():
            seed = seeds.of(Payload((code,)), (0, (context,)))
            ranks = ranks_of(np.uint32(seed), row[part].astype(np.int64))
            times = -np.log1p(-(ranks.astype(np.float64) + 0.5) / 2**32) / weights[part]
            won[code].append(int(times.argmin()) == 0)
    right, wrong = won.values()
    assert len(right) > 40
    assert np.mean(right) > 0.8 > 0.6 > np.mean(wrong)


def test_blocks_change_nothing_that_the_model_does_not_see(
    bigrams: Bigrams, mistral: Any, proxy: LaterProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """These models look at one token alone, so each block gives what one pass gives."""
    whole = ReadingModel(bigrams, mistral, proxy, "whole")
    monkeypatch.setattr(bigrams.config, "max_position_embeddings", 64)
    blocks = ReadingModel(bigrams, mistral, proxy, "blocks")
    for prompt in (None, "short", PROSE):
        (_, one), (_, other) = read(whole, TEXT, prompt), read(blocks, TEXT, prompt)
        assert (one.place == other.place).all() and (one.tokens[:, 0] == other.tokens[:, 0]).all()
        assert np.abs(one.weights.astype(np.int64) - other.weights).max() < UNIT * 1e-4


def test_a_prompt_is_what_the_model_saw() -> None:
    """Its special tokens are some, those of the text are text; the tokenizer's first token comes once."""
    tokenizer = load_tokenizer("smollm2")
    bos, end = (tokenizer.convert_tokens_to_ids(name) for name in ("<|im_start|>", "<|im_end|>"))
    plain = ReadingModel(tiny()._model, tokenizer, open_later(OFFLINE), "plain")
    assert plain._encode("It", None)[0] == []
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing("<|im_start|> $A", None, [("<|im_start|>", bos)])
    for prompt in ("<|im_start|>user\nWhy?<|im_end|>", "user\nWhy?<|im_end|>"):
        before, text = plain._encode("It is <|im_end|> so", prompt)
        assert before.count(bos) == before.count(end) == 1 and before[0] == bos
        assert end not in text
    assert plain._encode("It", None)[0] == [bos]


def test_a_prompt_changes_what_is_likely(smollm2: ReadingModel) -> None:
    (_, alone), (_, behind) = read(smollm2, PROSE[:200]), read(smollm2, PROSE[:200], PROSE)
    assert behind.weights[:, 0].mean() > 1.5 * alone.weights[:, 0].mean()


@settings(max_examples=20)
@given(st.text(max_size=80))
def test_nothing_is_refused(text: str) -> None:
    """Broken characters, bytes without tokens, words without end, special tokens: places may lack a race, no more."""
    for piece in (text, f"{PROSE[:60]}{text * 4}{PROSE[:60]}"):
        read(tiny(), piece.encode(errors="ignore").decode())


@pytest.mark.parametrize("odd", ["\x04", "z" * 700, "<|im_end|>"])
def test_behind_what_the_model_cannot_write_the_walk_goes_on(odd: str) -> None:
    tokens, races = read(tiny(), f"{PROSE[:100]} {odd} {PROSE[:200]}")
    tail = len(tiny().bridge.proxy.tokenizer.encode(PROSE[:150]))
    assert np.isin(np.arange(len(tokens) - tail, len(tokens)), races.place).mean() > 0.4


def test_an_empty_text_has_no_race(smollm2: ReadingModel) -> None:
    for text in ("", "short"):
        assert len(read(smollm2, text)[1]) == 0


def test_what_cannot_read_is_refused(
    mistral: Any, proxy: LaterProxy, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    small = LlamaForCausalLM(LlamaConfig(vocab_size=100, **SMALL))
    with pytest.raises(TokenizerUnsupported, match="another model's"):
        ReadingModel(small, mistral, proxy, "small")
    with pytest.raises(ModelNotFound, match="smollm2"):
        ReadingModel.open(tmp_path, OFFLINE)
    monkeypatch.delitem(sys.modules, "ctwl_protocol.causal_lm")
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ExtraMissing, match="pip install ctwl-decoder"):
        ReadingModel.open("smollm2", OFFLINE)


def test_the_order_of_rivals_is_their_weight_and_then_their_id() -> None:
    races = Races.of([
        Race(12, 5, np.array([2, 3, 5, 9]), np.array([0.25, 0.125, 0.0, 0.25])),
        Race(11, 2, np.array([1, 2, 3]), np.array([2.0**-26, 0.5, 2.0**-25])),
    ])  # fmt: skip
    check(races)
    assert races.place.tolist() == [11, 12]
    assert races.tokens[:, :5].tolist() == [[2, 3, -1, -1, -1], [5, 2, 9, 3, -1]]
    assert races.weights[:, :4].tolist() == [[1 << 23, 1, 0, 0], [0, 1 << 22, 1 << 22, 1 << 21]]
    assert races.rest.tolist() == [(1 << 23) - 1, 3 << 21]


def test_of_alike_rivals_those_of_the_smallest_ids_are_kept() -> None:
    alike = np.full((2, 1000), 1 / 1000, dtype=np.float32)
    alike[1, 990] = 0.5
    races = races_of(alike, np.array([700, 3]), 10)
    assert races.tokens[0].tolist() == [700, *range(RIVALS)]
    assert races.tokens[1].tolist() == [3, 990, *(i for i in range(RIVALS) if i != 3)]
    assert races.rest[0] == UNIT - int(races.weights[0].sum())
    assert races.rest[1] == max(UNIT - int(races.weights[1].sum()), 0)

"""A reading model sees what an encoder raced against what."""

from __future__ import annotations

import json
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import recorded_texts
import torch
from bigrams import Bigrams
from hypothesis import given, settings
from hypothesis import strategies as st
from many_scripts import TEXT
from numpy.typing import NDArray
from tokenizers.processors import TemplateProcessing
from transformers import LlamaConfig, LlamaForCausalLM

from ctwl_decoder import Decoder
from ctwl_decoder.command import main
from ctwl_decoder.errors import ExtraMissing
from ctwl_decoder.options import STRONG, STRONG_SIZE
from ctwl_decoder.reading_model import _TEMPERATURES, ReadingModel
from ctwl_decoder.report.wording import format_p_value
from ctwl_decoder.text.tokens import tokenize_variants
from ctwl_encoder import Encoder
from ctwl_encoder.core.payload import Seeds
from ctwl_encoder.core.strategies.race.lots import lots
from ctwl_encoder.core.strategies.race.shares import MOST_SHARE
from ctwl_protocol.causal_lm import load_tokenizer
from ctwl_protocol.errors import ModelNotFound, TokenizerUnsupported
from ctwl_protocol.hashing import ranks_of
from ctwl_protocol.proxy import Proxy, Rivals, open_proxy
from ctwl_protocol.proxy.rivals import SHARE

OFFLINE = "org.ctwl.smollm2-135m.1"
PROSE = "The council met on Tuesday and talked about the bridge, the school and the weather. Nobody was surprised. " * 3

SMALL = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}


@pytest.fixture(scope="module")
def proxy(offline_proxy: Proxy) -> Proxy:
    return offline_proxy


@pytest.fixture(scope="module")
def smollm2(proxy: Proxy) -> ReadingModel:
    return ReadingModel.open("smollm2", proxy)


@pytest.fixture(scope="module")
def bigrams(mistral: Any) -> Bigrams:
    return Bigrams.of(mistral(TEXT * 3, add_special_tokens=False)["input_ids"], mistral)


@cache
def tiny() -> ReadingModel:
    """A random model with SmolLM2's tokenizer, which lacks some bytes, for GPT-2's tokens."""
    tokenizer = load_tokenizer("smollm2")
    torch.manual_seed(1)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **SMALL)).eval()
    return ReadingModel(model, tokenizer, open_proxy("org.ctwl.gpt2.1"), "tiny")


def read(model: ReadingModel, text: str, prompt: str | None = None) -> tuple[NDArray[np.int64], Rivals]:
    proxy = model.bridge.proxy
    model.prompt = prompt
    try:
        variant = tokenize_variants(text, proxy.tokenizer, proxy.profile)[0]
        found = model.rivals(variant)
    finally:
        model.prompt = None
    check(found)
    assert not len(found) or (found.places.min() >= 10 and found.places.max() < variant.tokens)
    return variant.ids, found


def check(found: Rivals) -> None:
    """What holds of all rivals."""
    assert (np.diff(found.places) >= 0).all() and found.starts[-1] == len(found.tokens) == len(found.weights)
    assert (found.total == 1 << 24).all() and (found.weights >= 1).all()
    owner = np.repeat(np.arange(len(found)), np.diff(found.starts))
    assert (owner[found.shown] == np.arange(len(found))).all()
    assert (np.diff(found.tokens.astype(np.int64))[np.diff(owner) == 0] > 0).all()
    light = found.weights.astype(np.int64) * SHARE < 1 << 24
    light[found.shown] = False
    assert not light.any()
    sums = np.bincount(owner, found.weights, len(found))
    assert (sums <= (1 << 24) + np.diff(found.starts)).all()


def shown_at(found: Rivals) -> dict[tuple[int, int], float]:
    """The share of the token shown, by the place and the token."""
    tokens, shares = found.tokens[found.shown].tolist(), (found.weights[found.shown] / found.total).tolist()
    return dict(zip(zip(found.places.tolist(), tokens, strict=True), shares, strict=True))


def test_where_the_vocabularies_are_equal_the_rivals_are_those_of_the_models_row(smollm2: ReadingModel) -> None:
    """At the temperature at which the model finds the text likeliest."""
    ids, found = read(smollm2, PROSE)
    with torch.inference_mode():
        logits = smollm2._model(torch.from_numpy(ids)[None]).logits[0].float()
        after = torch.from_numpy(ids[1:])
        losses = [torch.nn.functional.cross_entropy(logits[:-1] / each, after).item() for each in _TEMPERATURES]
    scaled = (logits[9:-1] / _TEMPERATURES[int(np.argmin(losses))]).numpy()
    mine, whole = shown_at(found), shown_at(Rivals.of_logits(np.arange(10, len(ids)), scaled, ids[10:], (), 24))
    assert len(mine.keys() & whole.keys()) > 0.98 * len(whole)
    assert max(abs(mine[key] - whole[key]) for key in mine.keys() & whole.keys()) < 5e-3  # negligible mass is left out


@pytest.mark.slow
def test_the_token_shown_won_the_race_that_the_encoder_held(
    bigrams: Bigrams, mistral: Any, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the largest share and another vocabulary, the winner of nearly each race follows from the text's code."""
    encoder = Encoder(bigrams, mistral, proxy)  # type: ignore[arg-type]  # race never asks the proxy LM
    asked = {"strategy": "race", "share": MOST_SHARE, "max_new_tokens": 120, "min_new_tokens": 120, "seed": 3}
    prompt = "我们"
    (generation,) = encoder.generate([prompt], 77, 7, **asked)
    monkeypatch.setattr("ctwl_decoder.reading_model._TEMPERATURES", (1.0,))  # as it was written
    model = ReadingModel(bigrams, mistral, proxy, "bigrams")
    tokens, found = read(model, generation.text, prompt)
    assert len(np.unique(found.places)) > 0.4 * (len(tokens) - 10)  # many a token of the model shows several
    seeds, pairs = Seeds(proxy.profile), list(pairwise(tokens.tolist()))
    won: dict[int, list[bool]] = {code: [] for code in (generation.record.carried[0], 1)}
    for i, place in enumerate(found.places.tolist()):
        rows = slice(found.starts[i], found.starts[i + 1])
        row, weights, context = found.tokens[rows].astype(np.int64), found.weights[rows], int(tokens[place - 1])
        # What stood behind the same token before took no part.
        part = ~np.isin(row, [token for before, token in pairs[9 : place - 1] if before == context])
        shown = found.shown[i] - found.starts[i]
        for code in won if part[shown] else ():
            ((seed,),) = seeds.of_codes(np.array([code], dtype=np.uint32), [(context,)])
            ranks = ranks_of(seed, row)
            numbers = np.where(part, np.log(weights) + lots(MOST_SHARE, ranks), -np.inf)
            won[code].append(int(numbers.argmax()) == shown)
    right, wrong = won.values()
    assert len(right) > 40
    assert np.mean(right) > 0.8 > 0.6 > np.mean(wrong)


@pytest.mark.slow
def test_blocks_change_nothing_that_the_model_does_not_see(
    bigrams: Bigrams, mistral: Any, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """These models look at one token alone, so each block gives what one pass gives."""
    monkeypatch.setattr("ctwl_decoder.reading_model._TEMPERATURES", (1.0,))  # else each block has its own
    whole = ReadingModel(bigrams, mistral, proxy, "whole")
    monkeypatch.setattr(bigrams.config, "max_position_embeddings", 64)
    blocks = ReadingModel(bigrams, mistral, proxy, "blocks")
    for prompt in (None, "short", PROSE):
        (_, one), (_, other) = read(whole, TEXT, prompt), read(blocks, TEXT, prompt)
        ours, theirs = shown_at(one), shown_at(other)
        assert ours.keys() == theirs.keys()
        assert max(abs(ours[key] - theirs[key]) for key in ours) < 1e-4


def test_a_prompt_is_what_the_model_saw() -> None:
    """Its special tokens are some, those of the text are text; the tokenizer's first token comes once."""
    tokenizer = load_tokenizer("smollm2")
    bos, end = (tokenizer.convert_tokens_to_ids(name) for name in ("<|im_start|>", "<|im_end|>"))
    plain = ReadingModel(tiny()._model, tokenizer, open_proxy(OFFLINE), "plain")
    assert plain._encode("It")[0] == []
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing("<|im_start|> $A", None, [("<|im_start|>", bos)])
    for prompt in ("<|im_start|>user\nWhy?<|im_end|>", "user\nWhy?<|im_end|>"):
        plain.prompt = prompt
        before, text = plain._encode("It is <|im_end|> so")
        assert before.count(bos) == before.count(end) == 1 and before[0] == bos
        assert end not in text
    plain.prompt = None
    assert plain._encode("It")[0] == [bos]


def test_a_prompt_changes_what_is_likely(smollm2: ReadingModel) -> None:
    (_, alone), (_, behind) = read(smollm2, PROSE[:200]), read(smollm2, PROSE[:200], PROSE)
    assert np.mean(list(shown_at(behind).values())) > 1.5 * np.mean(list(shown_at(alone).values()))


@settings(max_examples=12)
@given(st.text(max_size=80))
def test_nothing_is_refused(text: str) -> None:
    """Broken characters, bytes without tokens, words without end, special tokens: places may lack a race, no more."""
    for piece in (text, f"{PROSE[:60]}{text * 4}{PROSE[:60]}"):
        read(tiny(), piece.encode(errors="ignore").decode())


@pytest.mark.parametrize("odd", ["\x04", "z" * 700, "<|im_end|>"])
def test_behind_what_the_model_cannot_write_the_walk_goes_on(odd: str) -> None:
    tokens, found = read(tiny(), f"{PROSE[:100]} {odd} {PROSE[:200]}")
    tail = len(tiny().bridge.proxy.tokenizer.encode(PROSE[:150]))
    assert np.isin(np.arange(len(tokens) - tail, len(tokens)), found.places).mean() > 0.4


def test_an_empty_text_has_no_race(smollm2: ReadingModel) -> None:
    for text in ("", "short"):
        assert len(read(smollm2, text)[1]) == 0


def test_what_cannot_read_fails(mistral: Any, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    small = LlamaForCausalLM(LlamaConfig(vocab_size=100, **SMALL))
    with pytest.raises(TokenizerUnsupported, match="another model's"):
        ReadingModel(small, mistral, proxy, "small")
    with pytest.raises(ModelNotFound, match="smollm2"):
        ReadingModel.open(tmp_path, proxy)
    monkeypatch.delitem(sys.modules, "ctwl_protocol.causal_lm")
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ExtraMissing, match=r"pip install 'ctwl-decoder\[torch\]'"):
        ReadingModel.open("smollm2", proxy)


# ---- the decoder ----


@pytest.mark.slow
def test_the_provider_s_own_model_finds_more_with_the_prompt(bigrams: Bigrams, mistral: Any, proxy: Proxy) -> None:
    encoder = Encoder(bigrams, mistral, proxy)  # type: ignore[arg-type]  # race never asks the proxy LM
    asked = {"strategy": "race", "share": MOST_SHARE, "max_new_tokens": 150, "min_new_tokens": 150, "seed": 3}
    (written,) = encoder.generate(["The council"], 77, 7, **asked)
    p_values = []
    for model in (None, ReadingModel(bigrams, mistral, proxy, "our model", "The council")):
        report = Decoder(proxy, reading_model=model).decode(written.text, score="race")
        assert report.reading_model == (model and "our model") and report.read == "whole"
        p_values.append(report.p_value)
    assert report.code == written.beacon.code
    assert p_values[1] < 1e-3 * p_values[0]


@pytest.mark.slow
def test_the_command_reads_by_a_model_that_it_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "prompt").write_text("The new bridge", encoding="utf-8")
    letter = str(recorded_texts.HALF)
    command = ["--profile", OFFLINE, "--full", "--beacon", "700:9", "--reading-model", "smollm2"]
    assert main([*command, "--prompt", str(tmp_path / "prompt"), "--json", letter]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["read"], told["reading_model"], told["arithmetic"]) == ("whole", "smollm2", "float32")
    assert main([*command, letter]) == 0
    said = capsys.readouterr().out
    assert "(smollm2 in float32)" in said and f"p-value   {format_p_value(told['p_value'])} " not in said
    assert main(["--profile", OFFLINE, "--prompt", str(tmp_path / "prompt"), letter]) == 2
    assert "--prompt needs --reading-model" in capsys.readouterr().err


def test_a_strong_reading_is_by_the_model_that_the_help_names(
    smollm2: ReadingModel, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its size is said before it is fetched. It is opened in the proxy LM's place, so one model can be named."""
    opened = list[str]()

    def open_models(name: str, *_: Any) -> list[ReadingModel]:
        opened.append(name)
        assert f"{STRONG} is fetched if it is not here, {STRONG_SIZE}" in capsys.readouterr().err
        return [smollm2]

    monkeypatch.setattr(ReadingModel, "open_each", open_models)
    letter = str(recorded_texts.HALF)
    assert main(["--profile", OFFLINE, "--strong", "--beacon", "700:9", "--json", letter]) == 0
    assert opened == [STRONG] and json.loads(capsys.readouterr().out)["outcome"] == "found"
    with pytest.raises(SystemExit):
        main(["--strong", "--reading-model", "smollm2", letter])
    assert "not allowed with argument" in capsys.readouterr().err


def test_where_the_ranks_are_enough_no_model_is_named(smollm2: ReadingModel, proxy: Proxy) -> None:
    text = recorded_texts.HALF.read_text(encoding="utf-8")
    report = Decoder(proxy, reading_model=smollm2).decode(text)
    assert (report.read, report.reading_model, report.arithmetic) == ("light", None, "integer")

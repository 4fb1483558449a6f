"""Encoding with a real model, read back by the public decoder: every way of decoding that a provider uses."""

import copy
import io
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    LlamaConfig,
    LlamaForCausalLM,
    LogitsProcessorList,
    PreTrainedTokenizerFast,
)

from ctwl_decoder import Decoder
from ctwl_encoder import CTWLLogitsProcessor, CTWLWatermarkingConfig, Encoder, Strategy
from ctwl_encoder.command import main
from ctwl_encoder.core.expected_evidence import expected_evidence, needed_tokens
from ctwl_encoder.core.payload import Payload
from ctwl_encoder.core.strategies.race.shares import SHARE
from ctwl_encoder.core.texts import Log
from ctwl_encoder.errors import FaintText, OptionOutOfRange, ShortText, StrategyUnsuitable
from ctwl_encoder.integrations.transformers import ProcessorConfig
from ctwl_encoder.models import load_model
from ctwl_encoder.options import GenerationOptions
from ctwl_protocol import Beacon
from ctwl_protocol.errors import FieldOutOfRange, ModelNotFound, ModelUnsuitable, TokenizerUnsupported
from ctwl_protocol.profile import OFFLINE as OFFLINE_PROFILE
from ctwl_protocol.proxy import Proxy

LENGTH = {"max_new_tokens": 80, "min_new_tokens": 80}


@pytest.mark.parametrize("steps", [pytest.param(0, marks=pytest.mark.slow), 1])
@pytest.mark.parametrize(
    "strategy",
    [pytest.param(each, marks=() if each.keeps_distribution else pytest.mark.slow) for each in Strategy],
)
def test_each_strategy_is_read_back_from_real_text(
    encoder: Encoder, decoder: Decoder, prompts: list[str], strategy: Strategy, steps: int
) -> None:
    """By its default, in half as many tokens again as news-like text needs; and by a step more."""
    strength = strategy.traits.strength
    number = strength.usual(1.0) + steps * strength.step
    tokens = needed_tokens(encoder.proxy.profile, strategy, strength=number) * 3 // 2
    options: dict[str, Any] = {"max_new_tokens": tokens, "min_new_tokens": tokens, strength.name: number}
    (written,) = encoder.generate(prompts[0], 42, 3, nonce=7, seed=1, strategy=strategy, **options)
    assert written.profile == encoder.proxy.profile.name
    assert decoder.decode(written.text).code == written.beacon.code
    assert written.marked > 30 and written.lost <= 1


def test_a_models_own_settings_do_not_change_what_is_returned(
    toy: Encoder, prompts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [each.text for each in toy.generate(prompts, 42, 3, seed=1, max_new_tokens=20)]
    own = {"do_sample": True, "num_return_sequences": 2, "return_dict_in_generate": True, "output_scores": True}
    for name, value in own.items():
        monkeypatch.setattr(toy.model.generation_config, name, value)
    assert [each.text for each in toy.generate(prompts, 42, 3, seed=1, max_new_tokens=20)] == expected


def test_a_batch_of_prompts_each_with_its_own_record(toy: Encoder, toy_decoder: Decoder, prompts: list[str]) -> None:
    """Sampling with left padding: every text carries its own nonce, and the decoder reads all of it."""
    written = toy.generate(prompts, 42, 3, seed=1, **LENGTH)
    assert [g.strategy for g in written] == [Strategy.RACE] * 3
    assert len({g.beacon.nonce for g in written}) > 1
    for generation in written:
        report = toy_decoder.decode(generation.text)
        assert report.code == generation.beacon.code
        assert (report.provider, report.version, report.nonce) == (42, 3, generation.beacon.nonce)
        assert generation.marked > 60
        assert generation.lost <= 1  # white space at the very end is not read
        assert generation.chance_found > 0.5


def test_the_proxys_vocabulary_under_other_numbers(
    toy: Encoder, toy_decoder: Decoder, make_model: Callable[..., Any], prompts: list[str]
) -> None:
    """As OPT has GPT-2's: the same tokens, shuffled, behind some of its own, and more rows than tokens."""
    own = ["<s>", "<pad>", "</s>", "<unk>"]
    document = json.loads(toy.tokenizer.backend_tokenizer.to_str())
    places = len(own) + np.random.default_rng(5).permutation(len(toy.tokenizer))
    document["model"]["vocab"] = {token: int(places[i]) for token, i in document["model"]["vocab"].items()}
    document["model"]["vocab"] |= {token: i for i, token in enumerate(own)}
    for added in document["added_tokens"]:
        added["id"] = int(places[added["id"]])
    document["added_tokens"] += [{**document["added_tokens"][0], "id": i, "content": t} for i, t in enumerate(own)]
    document["added_tokens"].sort(key=lambda added: added["id"])
    other = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(document)), bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    )
    model = make_model(other, rows=len(other) + 12)
    model.generation_config.suppress_tokens += [*other.added_tokens_decoder, *range(len(other), len(other) + 12)]
    written = Encoder(model, other, toy.proxy).generate(prompts[:2], 42, 3, strategy="race", seed=2, **LENGTH)
    assert [toy_decoder.decode(each.text).code for each in written] == [each.beacon.code for each in written]


def test_the_same_seed_writes_the_same_text_and_another_does_not(toy: Encoder, prompts: list[str]) -> None:
    texts = [toy.generate(prompts[0], 1, 1, max_new_tokens=12, seed=seed)[0] for seed in (7, 7, 8)]
    assert texts[0] == texts[1]
    assert texts[0].text != texts[2].text


@pytest.mark.parametrize(
    ("options", "tokens", "chance"),
    [
        ({"strategy": "race", "temperature": 0.5}, 45, 0.5),
        ({"num_beams": 4, "delta": 4.0, "repetition_penalty": 1.5}, 75, 0.5),  # the evidence follows the beam that won
    ],
    ids=["predictable words", "beams"],
)
def test_every_way_of_decoding_is_read_back(
    toy: Encoder, toy_decoder: Decoder, prompts: list[str], options: dict[str, Any], tokens: int, chance: float
) -> None:
    length = {"max_new_tokens": tokens, "min_new_tokens": tokens}
    written = toy.generate(prompts[:2], 42, 3, seed=1, **length, **options)
    assert len({each.beacon for each in written}) == 2
    for generation in written:
        assert generation.strategy == options.get("strategy", "delta")
        report = toy_decoder.decode(generation.text)
        assert (report.detected, report.code) == (True, generation.beacon.code)
        assert report.score in ("race", "light-rank") or generation.strategy is not Strategy.RACE
        assert generation.chance_found > chance


def test_a_seed_leaves_the_callers_random_numbers_alone(toy: Encoder, prompts: list[str]) -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    with pytest.warns(ShortText):
        toy.generate(prompts[0], 1, 1, max_new_tokens=3, seed=5)
    assert torch.equal(torch.rand(3), expected)


def test_vanilla_is_read_with_the_profile_that_has_no_proxy(
    toy: Encoder, toy_decoder: Decoder, prompts: list[str]
) -> None:
    twin = Encoder(toy.model, toy.tokenizer, Proxy(toy.proxy.profile.vanilla(), toy.proxy.tokenizer))
    (written,) = twin.generate(prompts[1], 5, 5, strategy="delta", delta=4.0, seed=2, **LENGTH)
    assert written.profile == "org.ctwl.toy.vanilla.1"
    reader = Decoder(Proxy(toy.proxy.profile.vanilla(), toy.proxy.tokenizer))
    assert reader.decode(written.text, beacons=[(5, 5)]).code == written.beacon.code
    assert not toy_decoder.decode(written.text).detected


def processor(encoder: Encoder, *codes: int, **options: object) -> CTWLLogitsProcessor:
    payloads = [Payload((code,)) for code in codes]
    return CTWLLogitsProcessor(encoder.bridge, payloads, **{"strategy": "race", **options})  # type: ignore[arg-type]


WORDS = (
    " rain fell over all the hills and then the wind came up from behind an old farm where nobody had been living for "
    "years"
)


def changed(encoder: Encoder, marking: CTWLLogitsProcessor, text: torch.Tensor) -> list[list[bool]]:
    """At which steps of a given text (rows, tokens) each row's scores change."""
    prompt = torch.full((len(text), 3), 500)
    scores = torch.randn((len(text), 49152), generator=torch.Generator().manual_seed(1))
    return [
        (marking(torch.cat([prompt, text[:, :length]], dim=1), scores) != scores).any(dim=1).tolist()
        for length in range(text.shape[1] + 1)
    ]


def log_of(marking: Any, code: int, written: torch.Tensor) -> Log:
    """What was noted of a text, int64 (tokens,)."""
    log: Log = marking.marker.texts.of(marking.text(Payload((code,)), written.numpy()))
    return log._make(column.copy() for column in log)


def test_rows_that_end_early_keep_their_record(encoder: Encoder) -> None:
    """What comes after the end of a row is neither marked nor counted."""
    end = encoder.tokenizer.eos_token_id
    text = torch.tensor([encoder.tokenizer(WORDS)["input_ids"][:14]] * 2)
    text[1, 12:] = end
    marking = processor(encoder, 1, 2)
    assert changed(encoder, marking, text) == [[length >= 10, 10 <= length <= 12] for length in range(15)]
    assert [len(log_of(marking, code, row).marked.token) for code, row in zip((1, 2), text, strict=True)] == [4, 2]


def test_a_special_token_is_no_text(encoder: Encoder) -> None:
    """Nothing follows what ends a text; where a text goes on nevertheless, so does the marking."""
    ids = encoder.tokenizer(WORDS)["input_ids"]
    text = torch.tensor([[*ids[:12], encoder.tokenizer.eos_token_id, *ids[12:16]]])
    found = changed(encoder, processor(encoder, 1), text)
    assert found == [[length >= 10 and length != 13] for length in range(18)]


def test_a_loop_is_no_evidence(encoder: Encoder) -> None:
    """What the encoder expects counts a repeated pair once, as the decoder does."""
    text = torch.tensor([encoder.tokenizer(WORDS)["input_ids"][:10]]).repeat(1, 5)
    marking = processor(encoder, 1)
    changed(encoder, marking, text)
    whole = log_of(marking, 1, text[0])
    once = log_of(marking, 1, text[0, :21])
    assert [len(written.marked.token) for written in (whole, once)] == [40, 11]
    known = {"own": False, "singles": marking.marker.bridge.singles}
    looped, alone = (expected_evidence(written, Strategy.RACE, SHARE, **known) for written in (whole, once))
    assert looped.read == pytest.approx(alone.read) and alone.read > 0
    assert looped.decided > alone.decided and looped.repeats > alone.repeats
    counted = alone.decided - alone.repeats
    assert looped.decided - looped.repeats == pytest.approx(counted)
    assert looped.read == pytest.approx(0.37 * counted) and looped.reader == pytest.approx(0.63 * counted)


def test_rows_and_codes_must_fit_and_a_prompt_is_no_text(toy: Encoder) -> None:
    """Three rows cannot share two codes; four can, but not with another prompt in each."""
    scores = torch.randn(4, 257)
    for prompts, said in ((torch.full((3, 20), 65), "3 rows"), (torch.arange(65, 69)[:, None], "one for each prompt")):
        with pytest.raises(OptionOutOfRange, match=said):
            processor(toy, 1, 2)(prompts, scores[: len(prompts)])
    prompts = torch.tensor([[65] * 20, [65] * 20, [66] * 20, [66] * 20])
    assert torch.equal(processor(toy, 1, 2)(prompts, scores), scores)


@pytest.mark.parametrize("strategy", ["race", "delta"])
def test_a_token_is_preferred_once_behind_a_context(encoder: Encoder, strategy: str) -> None:
    """Seen there again it is no evidence; preferring it again would only make the text repeat itself."""
    ids = encoder.tokenizer(WORDS)["input_ids"]
    text = torch.tensor([[*ids[:13], ids[10]]])
    scores = torch.randn((1, 49152), generator=torch.Generator().manual_seed(1))
    differs = []
    for code in range(3):
        marking, prompt = processor(encoder, code, strategy=strategy), torch.full((1, 3), 500)
        marking(prompt, scores)
        marked = marking(torch.cat([prompt, text], dim=1), scores)[0]
        assert marked[ids[11]] == scores[0, ids[11]]
        assert (marked != scores[0]).any()
        differs.append(bool(marked[ids[12]] != scores[0, ids[12]]))
    assert any(differs)  # a token that stood elsewhere is like any other


def test_a_processor_works_as_a_plain_logits_processor(toy: Encoder, toy_decoder: Decoder, prompts: list[str]) -> None:
    """``logits_processor=`` at temperature 1 and half precision scores: the interface of any other watermark."""
    code = Beacon(100, 4, 33).code
    batch = toy.tokenizer(prompts[2], return_tensors="pt")
    torch.manual_seed(3)
    out = toy.model.generate(
        **batch, do_sample=True, top_k=0, logits_processor=LogitsProcessorList([processor(toy, code)]),
        pad_token_id=toy.tokenizer.pad_token_id, **LENGTH,
    )  # fmt: skip
    text = toy.tokenizer.decode(out[0, batch["input_ids"].shape[1] :], skip_special_tokens=True)
    assert toy_decoder.decode(text).code == code
    half, scores = processor(toy, code), torch.randn(1, 257, dtype=torch.bfloat16)
    marked = half(torch.arange(30, 31)[None], scores)
    assert (marked.dtype, marked.shape) == (scores.dtype, scores.shape)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"provider": 1024}, FieldOutOfRange),
        ({"nonce": 64}, FieldOutOfRange),
        ({"max_new_tokens": 10**6}, OptionOutOfRange),
        ({"min_new_tokens": -1}, OptionOutOfRange),
        ({"num_beams": 0}, OptionOutOfRange),
        ({"seed": 1 << 70}, OptionOutOfRange),
        ({"strategy": "delta", "delta": 1e39}, OptionOutOfRange),
        ({"repetition_penalty": 0.0}, OptionOutOfRange),
        ({"strategy": "delta", "delta": float("nan")}, OptionOutOfRange),
        ({"prompts": " "}, OptionOutOfRange),
        ({"prompts": []}, OptionOutOfRange),
        ({"prompts": [None]}, OptionOutOfRange),
        ({"prompts": b"abc"}, OptionOutOfRange),
        ({"prompts": "caf\udce9"}, OptionOutOfRange),
        ({"share": 0.0}, OptionOutOfRange),
        ({"share": 0.99}, OptionOutOfRange),
        ({"strategy": "race", "temperature": 0}, StrategyUnsuitable),
        ({"strategy": "race", "num_beams": 4}, StrategyUnsuitable),
    ],
    ids=str,
)
def test_options_out_of_range_are_refused_before_any_work(
    toy: Encoder, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        toy.generate(**{"prompts": "Hello", "provider": 1, "version": 1, **options})


@pytest.mark.parametrize(
    ("sampling", "chosen"),
    [({}, "race"), ({"temperature": 0.3}, "race"), ({"temperature": 0}, "delta"), ({"num_beams": 4}, "delta")],
)
def test_the_strategy_follows_from_the_sampling_unless_it_is_named(sampling: dict[str, Any], chosen: str) -> None:
    assert GenerationOptions(**sampling).chosen_strategy == chosen
    assert GenerationOptions(**sampling, strategy="delta").chosen_strategy == "delta"


def test_a_text_that_came_out_faint_is_warned_of_and_written_again_on_request(toy: Encoder, prompts: list[str]) -> None:
    """Texts that are clear at once stay as they are; the others are written again until they are."""
    asked: dict[str, Any] = {"max_new_tokens": 60, "min_new_tokens": 60, "top_p": 0.3, "seed": 1}
    with pytest.warns(FaintText, match="set tries"):
        once = toy.generate(prompts[:2], 1, 1, **asked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FaintText)
        again = toy.generate(prompts[:2], 1, 1, tries=3, **asked)
    kept = [old.text == new.text for old, new in zip(once, again, strict=True) if old.readable]
    assert all(kept)
    assert all(new.chance_found >= old.chance_found for old, new in zip(once, again, strict=True))
    assert any(new.chance_found > old.chance_found for old, new in zip(once, again, strict=True))


def test_a_model_that_is_not_there_is_named(tmp_path: object) -> None:
    with pytest.raises(ModelNotFound, match="smollm2"):
        load_model(str(tmp_path))


@pytest.mark.slow
def test_without_a_network_a_name_is_looked_for_in_the_cache_alone(tmp_path: Path) -> None:
    """The hub's client would try again for half a minute, and say so each time."""
    command = [sys.executable, "-m", "ctwl_encoder", "--profile", OFFLINE_PROFILE, "--model", "nobody/nothing", "Hello"]
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    nowhere = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=kept | nowhere)
    assert done.returncode == 2
    assert done.stderr.startswith("ctwl-encode: model-not-found: cannot load 'nobody/nothing'"), done.stderr


def test_half_of_an_encoder_decoder_is_no_causal_model(tmp_path: Path) -> None:
    config = BartConfig(d_model=8, encoder_layers=1, decoder_layers=1, vocab_size=32, encoder_ffn_dim=8,
                        decoder_ffn_dim=8, encoder_attention_heads=1, decoder_attention_heads=1)  # fmt: skip
    BartForConditionalGeneration(config).save_pretrained(tmp_path)
    with pytest.raises(ModelUnsuitable, match="encoder-decoder"):
        load_model(str(tmp_path))


def test_another_models_tokenizer_is_refused_before_it_writes(toy: Encoder) -> None:
    """Its tokens would have no logits; a model that pads its vocabulary beyond the tokenizer's is none of that."""
    shape = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    small = LlamaForCausalLM(LlamaConfig(vocab_size=100, **shape))
    with pytest.raises(TokenizerUnsupported, match="another model's"):
        Encoder(small, toy.tokenizer, toy.proxy)
    config = CTWLWatermarkingConfig(codes=[1], profile="org.ctwl.toy.1").attach(toy.bridge)
    for given in (config, ProcessorConfig(processor(toy, 1))):
        with pytest.raises(TokenizerUnsupported, match="another model's"):
            small.generate(torch.tensor([[1, 2]]), watermarking_config=given, do_sample=True, max_new_tokens=2)
    with pytest.raises(TokenizerUnsupported, match="another model's"):
        plain = processor(toy, 1)
        given = {"logits_processor": LogitsProcessorList([plain]), "do_sample": True, "top_k": 0}
        small.generate(torch.tensor([[1, 2]]), **given, max_new_tokens=2)
    Encoder(LlamaForCausalLM(LlamaConfig(vocab_size=320, **shape)), toy.tokenizer, toy.proxy)


def test_the_command_prints_the_text_and_nothing_else_or_json(
    toy: Encoder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text is too short for a reader, which is said once; the second time the prompt is standard input."""
    monkeypatch.setattr("ctwl_encoder.encoder.load_model", lambda *_: (toy.model, toy.tokenizer))
    options = ["--profile", "org.ctwl.toy.1", "--provider", "42", "--version", "3", "--seed", "1", "--max-new-tokens"]
    assert main([*options, "12", "The harvest"]) == 0
    plain, said = capsys.readouterr()
    assert said.count("\n") == 1 and "; a reader needs about " in said
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"The harvest\n"), encoding="utf-8"))
    assert main([*options, "12", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert plain == found["text"] + "\n"
    assert (found["provider"], found["version"], found["profile"]) == (42, 3, "org.ctwl.toy.1")


def test_the_command_warns_of_a_text_that_says_too_little(
    toy: Encoder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The longest text that is allowed would do; what was written would not."""
    ends_soon = Encoder(copy.deepcopy(toy.model), toy.tokenizer, toy.proxy)
    ends_soon.model.generation_config.eos_token_id = list(range(257))
    monkeypatch.setattr(Encoder, "open", lambda *_, **__: ends_soon)
    assert main(["--profile", "org.ctwl.toy.1", "--seed", "1", "The harvest"]) == 0
    assert "carry too little for a reader" in capsys.readouterr().err

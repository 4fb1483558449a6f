"""``model.generate`` as providers call it, with the watermarking config; the public decoder reads each text back."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    SynthIDTextWatermarkingConfig,
    WatermarkDetector,
    WatermarkingConfig,
)

from ctwl_decoder import Decoder
from ctwl_encoder import Bridge, CTWLLogitsProcessor, CTWLWatermarkingConfig, Encoder
from ctwl_encoder.core.payload import Payload
from ctwl_encoder.core.strategies import Strategy
from ctwl_encoder.errors import ConfigMalformed, OptionOutOfRange, StrategyUnsuitable
from ctwl_encoder.integrations.transformers import ProcessorConfig, WatermarksInTurn
from ctwl_protocol import Beacon, CTWLError, environment
from ctwl_protocol.errors import TokenizerUnsupported
from ctwl_protocol.profile import OFFLINE as OFFLINE_PROFILE
from ctwl_protocol.profile.private import new_private, write_private
from ctwl_protocol.proxy import Proxy

PROFILE = "org.ctwl.toy.1"
CODES = [Beacon(42, 3, 7).code, Beacon(1023, 15, 63).code, Beacon(1, 0, 0).code]
LENGTH: dict[str, Any] = {"max_new_tokens": 80, "min_new_tokens": 80}
SAMPLING: dict[str, Any] = {"do_sample": True, "top_k": 0, **LENGTH}


def write(encoder: Encoder, prompts: list[str], **options: Any) -> list[str]:
    """Texts without their prompts."""
    tokenizer = encoder.tokenizer
    inputs = tokenizer(prompts, return_tensors="pt", padding=True)
    torch.manual_seed(11)
    ids = encoder.model.generate(**inputs, pad_token_id=tokenizer.pad_token_id, **options)
    return list(tokenizer.batch_decode(ids[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True))


def codes(processor: CTWLLogitsProcessor) -> list[int]:
    """The code of each row."""
    return [payload.carried[0] for payload in processor.payloads]


@pytest.mark.parametrize("strategy", Strategy)
def test_where_a_grammar_leaves_no_choice_the_text_is_the_grammars(
    strategy: Strategy, toy: Encoder, toy_decoder: Decoder, prompts: list[str]
) -> None:
    fixed, every = '{"name": "', list(range(len(toy.tokenizer)))
    forced, start = toy.tokenizer.encode(fixed), len(toy.tokenizer.encode(prompts[0]))

    def allowed(row: int, ids: torch.Tensor) -> list[int]:
        place = len(ids) - start
        return [forced[place]] if place < len(forced) else every

    strength = strategy.traits.strength
    strong = {strength.name: min(4 * strength.usual(1.0), strength.bounds["le"])}
    config = CTWLWatermarkingConfig(codes=CODES[:1], strategy=strategy, profile=PROFILE, **strong).attach(toy.bridge)
    (text,) = write(toy, prompts[:1], watermarking_config=config, prefix_allowed_tokens_fn=allowed, **SAMPLING)
    assert text.startswith(fixed) and toy_decoder.decode(text).code == CODES[0]


def test_a_secret_watermark_runs_behind_the_code(toy: Encoder, toy_decoder: Decoder, prompts: list[str]) -> None:
    own, secret = CTWLWatermarkingConfig(codes=CODES, profile=PROFILE).attach(toy.bridge), WatermarkingConfig(bias=3.0)
    texts = write(toy, prompts, watermarking_config=WatermarksInTurn(own, secret), **SAMPLING)
    assert [toy_decoder.decode(text).code for text in texts] == CODES
    detector = WatermarkDetector(toy.model.config, "cpu", secret)
    for text in texts:
        ids = torch.tensor([toy.tokenizer.encode(text)])
        assert detector(ids, return_dict=True).z_score[0] > 4


def test_watermarks_in_turn_are_new_in_each_call(toy: Encoder, prompts: list[str]) -> None:
    own = CTWLWatermarkingConfig(codes=CODES, profile=PROFILE).attach(toy.bridge)
    both = WatermarksInTurn(own, SynthIDTextWatermarkingConfig(keys=[5, 6, 7], ngram_len=3))
    first, second = (write(toy, prompts, watermarking_config=both, do_sample=True, max_new_tokens=20) for _ in range(2))
    assert first == second


def test_a_wrong_config_among_several_is_refused(toy: Encoder, prompts: list[str]) -> None:
    own = CTWLWatermarkingConfig(codes=CODES, profile=PROFILE).attach(toy.bridge)
    with pytest.raises(ValueError, match="greenlist_ratio"):
        write(
            toy, prompts, watermarking_config=WatermarksInTurn(own, WatermarkingConfig(greenlist_ratio=2)), **SAMPLING
        )


def test_every_text_gets_a_nonce_of_its_own(toy: Encoder, toy_decoder: Decoder, prompts: list[str]) -> None:
    """Under ``race`` a payload is drawn for each row, also for two rows of one prompt."""
    drawn = (Payload((Beacon(42, 3, nonce).code,)) for nonce in range(64))
    processor = CTWLLogitsProcessor(toy.bridge, drawn.__next__, strategy="race")
    texts = write(
        toy, prompts[:2], num_return_sequences=2, watermarking_config=ProcessorConfig(processor), temperature=1.1,
        top_p=0.98, **SAMPLING,
    )  # fmt: skip
    assert codes(processor) == [Beacon(42, 3, nonce).code for nonce in range(4)]
    assert [toy_decoder.decode(text).code for text in texts] == codes(processor)


def test_beams_of_a_prompt_share_a_nonce(toy: Encoder, prompts: list[str]) -> None:
    processor = CTWLLogitsProcessor(toy.bridge, lambda: Payload((Beacon.fresh(42, 3).code,)), strategy="delta")
    write(toy, prompts, num_beams=4, watermarking_config=ProcessorConfig(processor), max_new_tokens=3)
    assert [len(set(codes(processor)[i : i + 4])) for i in (0, 4, 8)] == [1, 1, 1]


def test_a_processor_serves_one_call(toy: Encoder) -> None:
    """Speculation may go back to the prompt; other prompts, or another number of rows, are another call's."""
    processor = CTWLLogitsProcessor(toy.bridge, [Payload((CODES[0],))], strategy="race")
    scores = torch.randn(1, 257)
    for ids in ([50, 51], [50, 51, 52], [50, 51], [50, 51, 53]):
        processor(torch.tensor([ids]), scores)
    for other in ([[70, 71, 72]], [[50]], [[50, 51]] * 2):
        with pytest.raises(StrategyUnsuitable, match="for each call"):
            processor(torch.tensor(other), scores.repeat(len(other), 1))


def test_a_private_profile_is_saved_loadably(toy: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environment.PASSPHRASE.name, "open sesame")
    profile = new_private("com.example.mine.1", toy.proxy.profile)
    write_private(tmp_path / "mine.ctwl", profile)
    mine = Bridge(toy.tokenizer, toy.proxy.shared_with(profile))
    config = CTWLWatermarkingConfig(provider=42, profile=str(tmp_path / "mine.ctwl")).attach(mine)
    config.to_json_file(tmp_path / "config.json")
    assert CTWLWatermarkingConfig.from_json_file(tmp_path / "config.json").profile == str(tmp_path / "mine.ctwl")


def test_fields_by_name_replace_those_of_a_dictionary() -> None:
    """As transformers' own ``from_dict`` has it."""
    config = CTWLWatermarkingConfig.from_dict({"provider": 7, "profile": PROFILE}, provider=42, version=3)
    assert config == CTWLWatermarkingConfig(provider=42, version=3, profile=PROFILE)
    with pytest.raises(ConfigMalformed, match="colour"):
        CTWLWatermarkingConfig.from_dict({"provider": 7}, colour="blue")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_model_on_a_gpu_is_read_anywhere(decoder: Decoder, prompts: list[str]) -> None:
    encoder = Encoder.open("smollm2", OFFLINE_PROFILE, device="cuda")
    for strategy in Strategy:
        (written,) = encoder.generate(prompts[0], 42, 3, strategy=strategy, max_new_tokens=150, min_new_tokens=150)
        assert decoder.decode(written.text).code == written.beacon.code


def test_saved_and_loaded_by_name(toy: Encoder, toy_decoder: Decoder, prompts: list[str], tmp_path: Path) -> None:
    """A config that was saved needs nothing but names: it finds tokenizer and proxy itself."""
    toy.tokenizer.save_pretrained(tmp_path / "model")
    written = CTWLWatermarkingConfig(provider=7, version=1, profile=PROFILE, tokenizer=str(tmp_path / "model"))
    written.to_json_file(tmp_path / "ctwl.json")
    loaded = CTWLWatermarkingConfig.from_json_file(tmp_path / "ctwl.json")
    assert loaded == written
    assert json.loads(loaded.to_json_string())["provider"] == 7
    suppressed = toy.model.generation_config.suppress_tokens
    generation = GenerationConfig(watermarking_config=loaded, suppress_tokens=suppressed, **SAMPLING)
    (text,) = write(toy, prompts[:1], generation_config=generation)
    report = toy_decoder.decode(text)
    assert (report.provider, report.version) == (7, 1)
    assert loaded.attach(toy.bridge).to_dict() == loaded.to_dict()


def test_a_config_that_is_saved_with_a_model_is_loaded_with_it(tmp_path: Path) -> None:
    ours = CTWLWatermarkingConfig(provider=7, version=1, strategy="race", profile=PROFILE, tokenizer="smollm2")
    for config in (ours, WatermarkingConfig(bias=3.0)):
        GenerationConfig(watermarking_config=config).save_pretrained(tmp_path)
        loaded = GenerationConfig.from_pretrained(tmp_path).watermarking_config
        assert type(loaded) is type(config) and loaded.to_dict() == config.to_dict()


def test_what_cannot_be_saved_with_a_model_is_refused_when_it_is_loaded(tmp_path: Path) -> None:
    """It would else be loaded as a watermark of transformers, which nobody asked for."""
    for config in (ProcessorConfig(NoProcessor()), WatermarksInTurn(CTWLWatermarkingConfig(profile=PROFILE))):
        GenerationConfig(watermarking_config=config).save_pretrained(tmp_path)
        with pytest.raises(ConfigMalformed, match="is not saved"):
            GenerationConfig.from_pretrained(tmp_path)


def test_who_loads_a_model_without_this_package_is_told_what_to_import(tmp_path: Path) -> None:
    GenerationConfig(watermarking_config=CTWLWatermarkingConfig(profile=PROFILE)).save_pretrained(tmp_path)
    code = "import sys; from transformers import GenerationConfig; GenerationConfig.from_pretrained(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False)
    assert "CTWL: import ctwl_encoder.integrations.transformers before you load this" in done.stderr


class NoProcessor(LogitsProcessor):
    """A processor that changes nothing."""


def test_a_saved_config_may_have_a_byte_order_mark(tmp_path: Path) -> None:
    config = CTWLWatermarkingConfig(provider=7, profile=PROFILE)
    (tmp_path / "ctwl.json").write_text(config.to_json_string(), encoding="utf-8-sig")
    assert CTWLWatermarkingConfig.from_json_file(tmp_path / "ctwl.json") == config


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"provider": 1024}, CTWLError),
        ({"nonce": 64}, CTWLError),
        ({"codes": []}, OptionOutOfRange),
        ({"codes": [1 << 20]}, OptionOutOfRange),
        ({"codes": [True]}, ConfigMalformed),
        ({"codes": [1], "nonce": 3}, OptionOutOfRange),
        ({"codes": [1], "records": []}, OptionOutOfRange),
        ({"codes": 5}, ConfigMalformed),
        ({"delta": "2"}, ConfigMalformed),
        ({"profile": None}, ConfigMalformed),
        ({"share": 1.0}, OptionOutOfRange),
        ({"strategy": "loud"}, OptionOutOfRange),
        ({"delta": 0}, OptionOutOfRange),
        ({"profile": "org.nobody.1"}, CTWLError),
        ({"provider": "7"}, ConfigMalformed),
        ({"colour": 3}, ConfigMalformed),
    ],
    ids=str,
)
def test_a_config_that_cannot_be_written_is_refused(fields: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        CTWLWatermarkingConfig.from_dict(fields)
    if "colour" not in fields:
        with pytest.raises(error):
            CTWLWatermarkingConfig(**fields)


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{", b'{"provider": 1e400}', b"\xff", b"[" * 100_000, b" " * (1 << 21)],
    ids=["empty", "list", "open", "infinite", "no text", "deep", "large"],
)
def test_a_file_that_is_no_config_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "ctwl.json").write_bytes(content)
    with pytest.raises(ConfigMalformed):
        CTWLWatermarkingConfig.from_json_file(tmp_path / "ctwl.json")


def test_a_tokenizer_has_the_name_of_its_model(tmp_path: Path) -> None:
    config = CTWLWatermarkingConfig(provider=1, version=2, profile=OFFLINE_PROFILE, tokenizer="smollm2")
    assert config.open_bridge().proxy.profile.name == OFFLINE_PROFILE
    wrong = CTWLWatermarkingConfig(provider=1, version=2, profile=OFFLINE_PROFILE, tokenizer=str(tmp_path))
    with pytest.raises(TokenizerUnsupported, match="give a folder, a name on the hub, or smollm2") as error:
        wrong.open_bridge()
    assert "\n" not in str(error.value)


def test_without_a_tokenizer_or_enough_bits_it_says_so(toy: Encoder, prompts: list[str]) -> None:
    with pytest.raises(TokenizerUnsupported, match="name the model's tokenizer"):
        write(toy, prompts[:1], watermarking_config=CTWLWatermarkingConfig(profile=PROFILE), max_new_tokens=2)
    with pytest.raises(StrategyUnsuitable, match="beacon"):
        small = toy.proxy.profile.model_copy(update={"code_bits": 8, "name": "org.example.small.1"})
        CTWLWatermarkingConfig().attach(Bridge(toy.tokenizer, Proxy(small, toy.proxy.tokenizer)))

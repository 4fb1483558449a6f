"""Texts as ``Encoder.generate`` writes them, with what it expects a reader to find; each batch is kept on disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import LogitsProcessor
from transformers.generation import utils as generation_utils

from ctwl_encoder import Encoder, Generation
from ctwl_protocol.proxy import open_proxy

from . import real_models
from .cache import recalled, sources
from .experiment import OFFLINE, tracked
from .prompts import news_prompts
from .texts import PROVIDER, VERSION, Nucleus

QUESTIONS = Path(__file__).with_name("questions.json")
"""By kind, questions on which no number of the encoder or of a reader was chosen."""

OWN = "smollm2"
"""The model that needs no other files."""

LENGTHS = (100, 200, 400)
"""Tokens of the model at which a text is read, if it goes on for so long."""


@dataclass(frozen=True)
class Answer:
    """A text that ended by itself or was cut, and its beginnings.

    Attributes:
        whole: all of it.
        parts: by each of :data:`LENGTHS` that it has, its beginning and what the encoder foretells of it.
        choice: nats, the entropy of what each token was drawn from.
    """

    whole: Generation
    parts: dict[int, Generation]
    choice: list[float]


@dataclass(frozen=True)
class Writing:
    """All that decides texts, but for the prompts.

    Attributes:
        model: see :func:`real_models.load`.
        temperature: of sampling.
        top_p: of sampling.
        tokens: of the model, at most, in each text.
        strategy: the encoder's default for the temperature where None.
        seed: plus the number of a batch's first text, it seeds the batch.
        batch: texts that are written together.
        nonces: from how many each text draws its own; as many as the registry declares where None.
    """

    model: str
    temperature: float
    top_p: float
    tokens: int = LENGTHS[-1]
    strategy: str | None = None
    seed: int = 1
    batch: int = 32
    nonces: int | None = None

    def answers(self, prompts: Sequence[str]) -> list[Answer]:
        """A text for each prompt, found written or written now."""
        found: list[Answer] = []
        for start in tracked(range(0, len(prompts), self.batch), f"writing, {self.model}, T = {self.temperature}"):
            batch = tuple(prompts[start : start + self.batch])
            found += recalled(partial(self._write, start, batch), "answers", sources(__file__), self, start, batch)
        return found

    def _write(self, start: int, prompts: Sequence[str]) -> list[Answer]:
        encoder = _encoder(self.model)
        with patch.object(generation_utils, "TopPLogitsWarper", lambda top_p, **_: Nucleus(top_p)):
            written = encoder.generate(
                prompts, PROVIDER, VERSION, temperature=self.temperature, top_p=self.top_p, strategy=self.strategy,
                max_new_tokens=self.tokens, seed=self.seed + start, nonces=self.nonces,
            )  # fmt: skip
        choice = np.stack(encoder.choice, axis=1).round(4).tolist()
        return [
            Answer(each, encoder.parts[id(each)], row[: each.tokens]) for each, row in zip(written, choice, strict=True)
        ]


class _Observing(Encoder):
    """An encoder that keeps what it writes in several lengths, and how much choice each token had.

    Attributes:
        parts: by the identity of what :meth:`generate` returns, see :class:`Answer`.
        choice: of the last call, for each step: float32 (rows,), nats.
    """

    parts: dict[int, dict[int, Generation]]
    choice: list[NDArray[np.float32]]

    def generate(self, *given: Any, **named: Any) -> list[Generation]:
        """See :meth:`Encoder.generate`."""
        self.parts, self.choice = {}, []
        return super().generate(*given, **named)

    def run(self, batch: Any, processor: LogitsProcessor, *given: Any, **named: Any) -> NDArray[np.int64]:
        """See :meth:`Encoder.run`."""
        return super().run(batch, _Choice(processor, self.choice), *given, **named)

    def _generation(self, row: NDArray[np.int64], record: Any, payload: Any, processor: Any) -> Generation:
        whole, parts = super()._generation(row, record, payload, processor), {}
        state = processor.text(payload, row[: whole.tokens])
        for tokens in sorted((each for each in LENGTHS if each <= whole.tokens), reverse=True):
            text = self.tokenizer.decode(row[:tokens], skip_special_tokens=True, clean_up_tokenization_spaces=False)
            count = len(self.proxy.tokenizer.encode(text))
            foretold = processor.marker.chance_found(state, below=count)
            parts[tokens] = replace(whole, text=text, tokens=tokens, chance_found=foretold)
        self.parts[id(whole)] = parts
        return whole


class _Choice(LogitsProcessor):  # type: ignore[misc]
    """Notes the entropy of what is drawn from, and goes on to what marks it."""

    def __init__(self, marking: LogitsProcessor, noted: list[NDArray[np.float32]]) -> None:
        self._marking, self._noted = marking, noted

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """See :class:`ctwl_encoder.CTWLLogitsProcessor`."""
        self._noted.append(torch.special.entr(torch.softmax(scores.float(), dim=1)).sum(dim=1).cpu().numpy())
        marked: torch.Tensor = self._marking(input_ids, scores)
        return marked


def prompts_of(model: str, kind: str, count: int) -> list[str]:
    """What a model is given: beginnings of news items for ``prose``, else the first held-out questions of a kind."""
    if kind == "prose":
        return news_prompts(count)
    return real_models.chat(model, json.loads(QUESTIONS.read_text(encoding="utf-8"))[kind][:count])


@lru_cache(maxsize=1)
def _encoder(model: str) -> _Observing:
    return _Observing(*real_models.load(model), open_proxy(OFFLINE))

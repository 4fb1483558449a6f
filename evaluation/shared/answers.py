"""Texts as ``Encoder.generate`` writes them, with what it expects a reader to find; each batch is kept on disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from ctwl_encoder import Encoder, Generation
from ctwl_protocol.proxy import open_proxy

from . import real_models
from .cache import recalled, sources
from .experiment import OFFLINE, tracked
from .prompts import news_prompts
from .texts import PROVIDER, VERSION

HELD_OUT = Path(__file__).with_name("held_out_questions.json")
"""Questions on which no number of the encoder or of a reader was chosen."""

OWN = "smollm2"
"""The model that needs no other files; it goes on from news, as it is too small to answer."""


@dataclass(frozen=True)
class Writing:
    """All that decides texts, but for the prompts.

    Attributes:
        model: see :func:`real_models.load`.
        temperature: of sampling.
        top_p: of sampling.
        tokens: the model's, of each text.
        strategy: the encoder's default for the temperature where None.
        seed: plus the number of a batch's first text, it seeds the batch.
        batch: texts that are written together.
    """

    model: str
    temperature: float
    top_p: float
    tokens: int
    strategy: str | None = None
    seed: int = 1
    batch: int = 32

    def texts(self, prompts: Sequence[str]) -> list[Generation]:
        """A text for each prompt, found written or written now."""
        found: list[Generation] = []
        for start in tracked(range(0, len(prompts), self.batch), f"writing, {self.model}, T = {self.temperature}"):
            batch = tuple(prompts[start : start + self.batch])
            found += recalled(partial(self._write, start, batch), "answers", sources(__file__), self, start, batch)
        return found

    def _write(self, start: int, prompts: Sequence[str]) -> list[Generation]:
        return _encoder(self.model).generate(
            prompts, PROVIDER, VERSION, temperature=self.temperature, top_p=self.top_p, strategy=self.strategy,
            max_new_tokens=self.tokens, min_new_tokens=self.tokens, seed=self.seed + start,
        )  # fmt: skip


def held_out_prompts(model: str, count: int) -> list[str]:
    """What a model is given for the first held-out questions; :data:`OWN` gets beginnings of news items."""
    if model == OWN:
        return news_prompts(count)
    return real_models.chat(model, json.loads(HELD_OUT.read_text(encoding="utf-8"))[:count])


@lru_cache(maxsize=1)
def _encoder(model: str) -> Encoder:
    return Encoder(*real_models.load(model), open_proxy(OFFLINE))

"""What makes answers to one question vary more, and what does it cost?

A code prefers the same words after the same context, so texts that one code marks are more alike. An instruct model
answers held-out questions of a chat, each twice with one code, in ways that may help:

- longer contexts, which come back less often: profiles that differ from the published one in nothing but ``h``;
- repeated contexts left alone (``skip_repeats``);
- a share of the tokens with lots of the text's own (``fresh``).

For each way:

- found: at the default level, for a registered provider; unedited and with a share of the words replaced by synonyms;
- repeated: the share of an answer's contexts that it had before;
- shared runs: the share of an answer's runs of three proxy tokens that the other answer to its question has, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from ctwl_decoder import Decoder, Report
from ctwl_encoder import Encoder, Generation
from ctwl_encoder.plan.statistics import shared_runs
from ctwl_protocol import Profile
from ctwl_protocol.proxy import Proxy, open_proxy
from ctwl_protocol.text.positions import positions

from ..shared import real_models
from ..shared.answers import prompts_of
from ..shared.cache import recalled, sources
from ..shared.editing import reworded
from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked
from ..shared.measures import mean, rate
from ..shared.texts import PROVIDER, VERSION

WAYS = (
    (1, False, 0.0), (1, False, 0.1), (1, False, 0.2), (1, True, 0.0), (2, False, 0.0), (2, True, 0.0), (4, True, 0.0),
)  # fmt: skip
"""Proxy tokens in a context, whether repeated contexts are left alone, and the share of fresh lots."""

SHARE = 0.1
"""Of the words, replaced by synonyms."""

NONCE = 7
"""One for all answers: the worst case for their variety."""


@dataclass(frozen=True)
class Answers:
    """All that decides the answers.

    Attributes:
        model: see :func:`real_models.load`.
        context: proxy tokens in a context of the profile.
        alone: whether repeated contexts are left alone.
        fresh: share of the tokens whose lot is the text's own.
        temperature: of sampling.
        top_p: of sampling.
        tokens: of the model, at most, in each answer.
        seed: of sampling.
    """

    model: str
    context: int
    alone: bool
    fresh: float
    temperature: float
    top_p: float
    tokens: int
    seed: int

    @property
    def profile(self) -> Profile:
        """The offline profile with contexts of this length."""
        return _proxy().profile.model_copy(update={"context_length": self.context})

    def of(self, prompts: Sequence[str]) -> list[Generation]:
        """An answer to each prompt, found written or written now."""
        return recalled(partial(self._written, prompts), "variety", sources(__file__), self, tuple(prompts))

    def _written(self, prompts: Sequence[str]) -> list[Generation]:
        model, tokenizer = _model(self.model)
        encoder = Encoder(model, tokenizer, _proxy().shared_with(self.profile))
        return encoder.generate(
            prompts, PROVIDER, VERSION, nonce=NONCE, temperature=self.temperature, top_p=self.top_p, seed=self.seed,
            max_new_tokens=self.tokens, skip_repeats=self.alone, fresh=self.fresh,
        )  # fmt: skip


@cache
def _model(name: str) -> tuple[Any, Any]:
    return real_models.load(name)


@cache
def _proxy() -> Proxy:
    return open_proxy(OFFLINE)


def measured(asked: Answers, prompts: Sequence[str]) -> dict[str, Any]:
    """One row of the table."""
    answers, proxy = asked.of(prompts), _proxy().shared_with(asked.profile)
    decoder = Decoder(proxy)
    ids = [proxy.tokenizer.encode(answer.text) for answer in answers]
    contexts = [positions(row, asked.profile.prefix_length, asked.context).contexts for row in ids]
    repeated = [1 - len(np.unique(some, axis=0)) / max(len(some), 1) for some in contexts]
    half = len(ids) // 2
    shared = [shared_runs(row.tolist(), [ids[(i + half) % len(ids)].tolist()]) for i, row in enumerate(ids)]
    title = f"reading, h = {asked.context}"
    edited = [reworded(SHARE, answer.text, np.random.default_rng(i)) for i, answer in enumerate(answers)]
    read = [
        sum(
            _right(decoder.decode(text), answer)
            for text, answer in tracked(list(zip(texts, answers, strict=True)), title)
        )
        for texts in ([answer.text for answer in answers], edited)
    ]
    return {
        "context": asked.context,
        "repeats": "left alone" if asked.alone else "marked",
        "fresh": asked.fresh,
        "temperature": asked.temperature,
        "top-p": asked.top_p,
        "strategy": answers[0].strategy.value,
        "proxy tokens": round(float(np.mean([len(row) for row in ids])), 1),
        "repeated": round(float(np.mean(repeated)), 3),
        "found": rate(read[0], len(answers)),
        "found reworded": rate(read[1], len(answers)),
        "shared runs": mean(np.array(shared)),
    }


def _right(report: Report, answer: Generation) -> bool:
    return report.code == answer.beacon.code


@experiment(
    quick={"questions": 1, "tokens": 60, "model": "smollm2"},
    questions=16, tokens=200, model="qwen2.5-coder-0.5b", temperature=0.7, top_p=0.95, seed=1,
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment; ``model`` is a name or a folder."""
    prompts = prompts_of(options.model, "chat", options.questions) * 2
    sampling = options.temperature, options.top_p, options.tokens, options.seed
    rows = [measured(Answers(options.model, *way, *sampling), prompts) for way in WAYS]
    return {"settings": {"words replaced": SHARE}, "rows": rows}


if __name__ == "__main__":
    main()

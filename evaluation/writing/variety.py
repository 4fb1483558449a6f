"""What does a share cost, and how alike does it make answers?

Models answer held-out questions of a chat, each question twice:

- unmarked, and by ``race`` with the default share and a nonce for each answer, as a provider writes them;
- with one code in all answers, the worst case, since after one context it prefers the same words: by the default share,
  a smaller and a larger one.

For each way:

- found: answers at the decoder's default level, for a registered provider, unedited and with a share of the words
  replaced by synonyms;
- change: of the NLL that the model expects of a token, by the mark, at each step of an answer; and the NLL of the
  answers beside that of unmarked ones, question by question;
- repeated: the share of an answer's contexts that it had before, beside unmarked answers; and how long answers are;
- shared runs: the share of an answer's runs of three proxy tokens that the other answer to its question has, too.

Long answers, unmarked and by the default share with a nonce for each: do marked ones run in a loop more often?
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctwl_decoder import Decoder
from ctwl_encoder import Encoder
from ctwl_encoder.core.strategies.race.shares import share_for
from ctwl_encoder.options import GenerationOptions
from ctwl_operations.plan.statistics import shared_runs
from ctwl_operations.plan.writing import Text, write_batch
from ctwl_protocol import Beacon
from ctwl_protocol.proxy import Proxy, open_proxy
from ctwl_protocol.text.positions import positions

from ..shared import real_models
from ..shared.answers import prompts_of
from ..shared.cache import recalled, sources
from ..shared.editing import reworded
from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked
from ..shared.measures import beside, mean, rate
from ..shared.texts import PROVIDER, VERSION

SETTINGS = ((0.7, 0.95), (1.0, 1.0))
"""Temperature and top-p."""

REPLACED = 0.1
"""Of the words, replaced by synonyms."""

NONCE = 7
"""One for all answers, where they share their code."""

LOOP_RUN, LOOP_SHARE = 8, 0.1
"""An answer loops if of its runs of so many tokens more than this share came before in it."""

OTHERS = (0.3, 0.95)
"""Shares beside the default, where all answers have one code."""


@dataclass(frozen=True)
class Answers:
    """All that decides the answers.

    Attributes:
        model: see :func:`real_models.load`.
        share: of ``race``; 0 for no mark.
        temperature: of sampling.
        top_p: of sampling.
        one_code: whether all answers have one code; else a nonce of their own.
        tokens: of the model, at most, in each answer.
        seed: of sampling.
    """

    model: str
    share: float
    temperature: float
    top_p: float
    one_code: bool = False
    tokens: int = 200
    seed: int = 1

    def of(self, prompts: Sequence[str]) -> list[Text]:
        """An answer to each prompt, found written or written now."""
        return recalled(partial(self._written, prompts), "variety", sources(__file__), self, tuple(prompts))

    def _written(self, prompts: Sequence[str]) -> list[Text]:
        encoder = Encoder(*_model(self.model), _proxy())
        marking: dict[str, Any] = {"share": self.share} if self.share else {}
        options = GenerationOptions(
            temperature=self.temperature, top_p=self.top_p, seed=self.seed, max_new_tokens=self.tokens, **marking
        )
        nonces = np.random.default_rng(self.seed).integers(64, size=len(prompts)).tolist()
        codes = [Beacon(PROVIDER, VERSION, NONCE if self.one_code else nonce).code for nonce in nonces]
        texts, _ = write_batch(encoder, prompts, codes if self.share else None, options)
        return texts


@lru_cache(maxsize=1)
def _model(name: str) -> tuple[Any, Any]:
    return real_models.load(name)


@lru_cache(maxsize=1)
def _proxy() -> Proxy:
    return open_proxy(OFFLINE)


def ways(model: str, tokens: int, seed: int, *, long: bool = False) -> Iterator[Answers]:
    """The ways of one model, for each setting the unmarked one first; of ``long`` answers no more than two."""
    for temperature, top_p in SETTINGS:
        default = share_for(temperature)
        asked = partial(Answers, model, temperature=temperature, top_p=top_p, tokens=tokens, seed=seed)
        yield asked(0.0)
        yield asked(default)
        yield from () if long else (asked(share, one_code=True) for share in (default, *OTHERS))


def measured(asked: Answers, prompts: Sequence[str], plain: Sequence[Text]) -> dict[str, Any]:
    """One row of the table.

    Args:
        asked: how the answers are written.
        prompts: the questions, all of them twice.
        plain: the unmarked answers to them.
    """
    answers, ids, of_plain = asked.of(prompts), *(list(map(_ids, texts)) for texts in (asked.of(prompts), plain))
    row = {name: getattr(asked, name) for name in ("model", "temperature", "share")} | {
        "top-p": asked.top_p,
        "default": asked.share == share_for(asked.temperature),
        "one code": asked.one_code,
        "proxy tokens": round(float(np.mean([len(row) for row in ids])), 1),
        "entropy of the choice": round(float(np.mean([answer.entropy for answer in answers])), 3),
        "repeated": round(float(np.mean([_repeated(row) for row in ids])), 3),
        "shared runs": mean(_shared(ids)),
    }
    if asked.share:
        row["shared runs beside plain"] = beside(_shared(ids), _shared(of_plain))
        row["repeated beside plain"] = beside(*(np.array(list(map(_repeated, some))) for some in (ids, of_plain)))
        row["tokens beside plain"] = beside(*(np.array([float(len(row)) for row in some]) for some in (ids, of_plain)))
        row["change"] = mean(np.array([answer.change for answer in answers]))
        row["NLL"] = beside(_by_question(answers), _by_question(plain))
        row |= _found(Decoder(_proxy()), answers)
    return row


def _ids(answer: Text) -> NDArray[np.int64]:
    return _proxy().tokenizer.encode(answer.text)


def _repeated(ids: NDArray[np.int64]) -> float:
    """The share of a text's contexts that it had before."""
    profile = _proxy().profile
    contexts = positions(ids, profile.prefix_length, profile.context_length).contexts
    return 1 - len(np.unique(contexts, axis=0)) / max(len(contexts), 1)


def _shared(ids: Sequence[NDArray[np.int64]]) -> NDArray[np.float64]:
    """The shared runs of both answers to each question: float64 (questions,)."""
    half = len(ids) // 2
    both = [[shared_runs(ids[i].tolist(), [ids[j].tolist()]) for i, j in ((k, k + half), (k + half, k))]
            for k in range(half)]  # fmt: skip
    found: NDArray[np.float64] = np.nan_to_num(np.array(both)).mean(axis=1)
    return found


def _loops(ids: NDArray[np.int64]) -> bool:
    runs = np.lib.stride_tricks.sliding_window_view(ids, LOOP_RUN) if len(ids) >= LOOP_RUN else np.empty((0, LOOP_RUN))
    return len(np.unique(runs, axis=0)) < (1 - LOOP_SHARE) * len(runs)


def looping(asked: Answers, prompts: Sequence[str], plain: Sequence[Text]) -> dict[str, Any]:
    """How often long answers loop; see :func:`measured`."""
    ids, of_plain = ([_ids(text) for text in texts] for texts in (asked.of(prompts), plain))
    return {name: getattr(asked, name) for name in ("model", "temperature", "share")} | {
        "top-p": asked.top_p,
        "proxy tokens": round(float(np.mean([len(row) for row in ids])), 1),
        "loop": rate(sum(map(_loops, ids)), len(ids)),
        "plain loop": rate(sum(map(_loops, of_plain)), len(of_plain)),
        "tokens beside plain": beside(*(np.array([float(len(row)) for row in some]) for some in (ids, of_plain))),
        "repeated beside plain": beside(*(np.array(list(map(_repeated, some))) for some in (ids, of_plain))),
    }


def _by_question(answers: Sequence[Text]) -> NDArray[np.float64]:
    """The mean NLL of both answers to each question: float64 (questions,)."""
    found: NDArray[np.float64] = np.array([answer.nll for answer in answers]).reshape(2, -1).mean(axis=0)
    return found


def _found(decoder: Decoder, answers: Sequence[Text]) -> dict[str, Any]:
    """How many answers are found with their code, as they are and after words were replaced."""
    edited = [reworded(REPLACED, answer.text, np.random.default_rng(i)) for i, answer in enumerate(answers)]
    rows = {"found": [answer.text for answer in answers], "found reworded": edited}
    return {
        name: rate(
            sum(decoder.decode(text).code == answer.code for text, answer in zip(texts, answers, strict=True)),
            len(texts),
        )
        for name, texts in rows.items()
    }


@experiment(
    quick={"questions": 2, "tokens": 60, "long": 100, "models": "smollm2"},
    models="qwen2.5-coder-0.5b qwen2.5-coder-1.5b smollm2", kind="articles", questions=10, tokens=200, long=1000,
    seed=1,
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment."""
    rows, long = list[dict[str, Any]](), list[dict[str, Any]]()
    for model in options.models.split():
        prompts, plain = prompts_of(model, options.kind, options.questions) * 2, list[Text]()
        for asked in tracked([*ways(model, options.tokens, options.seed)], model):
            plain = plain if asked.share else asked.of(prompts)
            rows.append(measured(asked, prompts, plain))
        for asked in tracked([*ways(model, options.long, options.seed, long=True)], f"{model}, long"):
            if asked.share:
                long.append(looping(asked, prompts, plain))
            else:
                plain = asked.of(prompts)
    return {"settings": {"words replaced": REPLACED}, "rows": rows, "long": long}


if __name__ == "__main__":
    main()

"""How well are answers in a chat marked, by kind of what was asked?

The prompts are in ``chat_prompts.json``, a dozen of each kind, made for this experiment. They are put into the model's
own chat template. Each is answered with the strategy that the encoder takes for the temperature unless told. An answer
goes on to the full length, so that lengths compare: the end is ruled out. Where the model would have ended it is known
all the same: the *own end* of an answer is the token before which it would have ended with a chance of one half.

- found: by the decoder at its default level, with the right code; among all answers, and among those that *allow* a
  mark, see ``ALLOWS`` in ``shared/texts.py``;
- found at the own end: the same answers cut there, by one test over all codes;
- tokens needed: the shortest length at which nine in ten are found, and at which half are, by one test over all codes;
- entropy of the choice, up to the full length and up to the own end; the share of tokens without a choice, which are
  those with less than FIXED nats.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ctwl_decoder import Decoder
from ctwl_encoder.options import strategy_for

from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.measures import rate, tokens_needed
from ..shared.outcomes import LEVEL, read
from ..shared.readers import reader
from ..shared.texts import ALLOWS, PROVIDER, VERSION, Recipe, Text, Writer
from .entropy import LENGTHS

PROMPTS = Path(__file__).with_name("chat_prompts.json")
"""For each kind a list of chats: one question, or messages with their roles."""

SETTINGS = ((0.7, 0.95), (1.0, 1.0))
"""Temperature and top-p."""

FIXED = 0.1


@dataclass(frozen=True)
class Answer:
    """An answer and what was read of it.

    Attributes:
        text: the answer.
        found: whether the decoder finds its code.
        by_length: bool (lengths,), whether one test over all codes finds it in the first so many tokens.
        end: tokens up to its own end.
        found_at_end: whether one test over all codes finds it there.
    """

    text: Text
    found: bool
    by_length: list[bool]
    end: int
    found_at_end: bool


def prompts(writer: Writer, each: int) -> dict[str, list[str]]:
    """The first so many prompts of each kind, as the model reads them."""
    chats: Mapping[str, list[str | list[dict[str, str]]]] = json.loads(PROMPTS.read_text(encoding="utf-8"))

    def rendered(chat: str | list[dict[str, str]]) -> str:
        messages = [{"role": "user", "content": chat}] if isinstance(chat, str) else chat
        return str(writer.encoder.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))

    return {kind: [rendered(chat) for chat in some[:each]] for kind, some in chats.items()}


def own_end(text: Text) -> int:
    """The number of tokens before the one at which a text would have ended with a chance of one half or more."""
    ended = np.flatnonzero(np.cumprod(1 - np.array(text.end)) <= 1 / 2)
    return int(ended[0]) if len(ended) else len(text.ids)


def answer(decoder: Decoder, recipe: Recipe, text: Text, lengths: Sequence[int]) -> Answer:
    """Read an answer."""
    end, found = own_end(text), decoder.decode(text.text).code == text.code
    *by_length, at_end = (outcome.found for outcome in read(decoder.proxy, recipe, text, [*lengths, end]))
    return Answer(text, found, by_length, end, at_end)


def mean_of(answers: Sequence[Answer], values: Callable[[Answer], Sequence[float]]) -> float:
    """The mean over answers of what each has at its tokens."""
    return round(float(np.mean([np.mean(values(each)) for each in answers])), 3)


def summary(answers: Sequence[Answer], lengths: Sequence[int], seed: int) -> dict[str, Any]:
    """What was read of answers of one kind."""
    good = np.array([each.by_length for each in answers])
    allow = [each for each in answers if each.text.allows]
    choice = np.concatenate([each.text.choice for each in answers])
    return {
        "answers": len(answers),
        "entropy of the choice": mean_of(answers, lambda each: each.text.choice),
        "entropy up to the own end": mean_of(answers, lambda each: each.text.choice[: each.end] or [0.0]),
        "tokens without a choice": round(float((choice < FIXED).mean()), 3),
        "own end, median": float(np.median([each.end for each in answers])),
        "ended before the full length": sum(each.end < len(each.text.ids) for each in answers),
        "found": rate(sum(each.found for each in answers), len(answers)),
        "allow a mark": len(allow),
        "found, of these": rate(sum(each.found for each in allow), len(allow)) if allow else None,
        "found at the own end": rate(sum(each.found_at_end for each in answers), len(answers)),
        "tokens for 90 % at p <= 1e-4": tokens_needed(good, lengths, np.random.default_rng(seed)),
        "tokens for 50 % at p <= 1e-4": tokens_needed(good, lengths, np.random.default_rng(seed), tenths=5),
    }


@experiment(quick={"each": 1, "tokens": 40}, each=12, tokens=200, seed=1, batch=27)
def main(options: Options) -> Result:
    """Run the experiment."""
    lengths = [length for length in LENGTHS if length <= options.tokens]
    writer = Writer()
    decoder, asked = reader(writer.proxy), prompts(writer, options.each)
    kinds = [kind for kind, some in asked.items() for _ in some]
    rows: list[dict[str, Any]] = []
    for temperature, top_p in SETTINGS:
        recipe = Recipe(
            strategy_for(None, temperature).value, tokens=options.tokens, temperature=temperature, top_p=top_p,
            provider=PROVIDER, version=VERSION, seed=options.seed, batch=options.batch,
        )  # fmt: skip
        texts = writer.answers(recipe, [prompt for some in asked.values() for prompt in some])
        answers = [answer(decoder, recipe, text, lengths) for text in tracked(texts, f"T = {temperature}")]
        for kind in (*asked, "all kinds"):
            of_kind = [each for each, its in zip(answers, kinds, strict=True) if kind in (its, "all kinds")]
            row = {"kind": kind, "temperature": temperature, "top-p": top_p, "strategy": recipe.method}
            rows.append(row | summary(of_kind, lengths, options.seed))
    return {"settings": {"level": LEVEL, "allows a mark, nats a token": ALLOWS, "no choice, nats": FIXED}, "rows": rows}


if __name__ == "__main__":
    main()

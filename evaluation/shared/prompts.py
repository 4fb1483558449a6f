"""Openings of made-up news items, and the texts of the encoder that go on from them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

from ctwl_encoder import Encoder, Generation

from .experiment import tracked

_WHO = [
    "The state government", "A spokesman for the farmers' federation", "The mayor of the coastal town",
    "Scientists at the university", "The water authority", "Police in the northern district", "The wheat board",
    "A parliamentary committee", "The head of the hospital", "Residents of the valley", "The fishing industry",
    "The transport minister", "The shire council",
]  # fmt: skip
_WHAT = [
    "said on Monday that heavy rain over the weekend had",
    "has warned that the rising cost of fuel will",
    "is calling for an inquiry into the way that",
    "announced a plan to spend 12 million dollars on",
    "has rejected claims that last year's drought",
    "says the new rules, which start next month, are",
    "expects a better season after a difficult year, but",
    "has welcomed the decision of the court to",
    "will meet representatives of the union today to discuss",
]


def news_prompts(count: int) -> list[str]:
    """Openings of made-up news items in an order that mixes who and what; 117 different ones, then they come again."""
    pairs = [f"{who} {what}" for what, who in product(_WHAT, _WHO)]
    return [pairs[i * 55 % len(pairs)] for i in range(count)]  # 55 is coprime to 117


def generated(
    encoder: Encoder,
    texts: int,
    tokens: int,
    *,
    batch: int,
    seed: int,
    beacon: Callable[[int], tuple[int, int]] = lambda start: ((37 * start + 5) % 1024, start % 16),
    **options: Any,
) -> list[Generation]:
    """Texts of so many tokens from news prompts, by the encoder.

    Args:
        encoder: the encoder.
        texts: their number.
        tokens: of each.
        batch: texts that are written together.
        seed: plus the number of a batch's first text, it seeds the batch.
        beacon: gives provider and version of the batch that begins with the text of a number.
        **options: see :meth:`ctwl_encoder.Encoder.generate`.
    """
    prompts, found = news_prompts(texts), list[Generation]()
    for start in tracked(range(0, texts, batch), "writing"):
        found += encoder.generate(
            prompts[start : start + batch], *beacon(start), max_new_tokens=tokens, min_new_tokens=tokens,
            seed=seed + start, **options,
        )  # fmt: skip
    return found

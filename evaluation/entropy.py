"""How many tokens does a code take, given how the model is sampled?

A watermark needs choice: where the next token is certain, it carries nothing. Texts from the same prompts under
several settings are read at several lengths. Each setting is stated with the mean entropy along its texts, of the
model and of what the tokens were drawn from, after temperature and top-p. Needed: the shortest of these lengths at
which nine in ten codes are exact, and at which nine in ten are also found at p <= 1e-4 in one test over all codes (the
decoder tests windows and records too, which costs it a few tokens more), with intervals over 2,000 draws of the texts.

    python evaluation/entropy.py --out evaluation/results/entropy.json
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from experiment import Options, Result, experiment, tracked
from numpy.typing import NDArray
from reading import rates, read
from texts import Recipe, Text, Writer

from ctwl_protocol.proxy import Weigher

LENGTHS = (40, 60, 80, 100, 125, 150, 200)
SAMPLING: dict[str, dict[str, Any]] = {
    "unbiased, T = 1": {},
    "unbiased, T = 1, top-p 0.9": {"top_p": 0.9},
    "unbiased, T = 0.7": {"temperature": 0.7},
    "unbiased, T = 0.3": {"temperature": 0.3},
    "delta 2, T = 1": {"method": "delta", "delta": 2.0},
    "delta 2, T = 0.3": {"method": "delta", "delta": 2.0, "temperature": 0.3},
    "delta 2, greedy": {"method": "delta", "delta": 2.0, "temperature": 0.0},
    "delta 2, 4 beams, repetition penalty 1.5": {"method": "delta", "delta": 2.0, "beams": 4, "penalty": 1.5},
}


def shortest(good: NDArray[np.bool_], lengths: Sequence[int], tenths: int = 9) -> float:
    """The shortest length at which nine in ten of the texts are good; infinite where there is none.

    Args:
        good: bool (texts, lengths).
        lengths: ascending.
        tenths: so many in ten instead of nine.
    """
    enough = np.flatnonzero(10 * good.sum(axis=0) >= tenths * len(good))
    return lengths[enough[0]] if len(enough) else np.inf


def needed(
    good: NDArray[np.bool_], lengths: Sequence[int], rng: np.random.Generator, tenths: int = 9
) -> dict[str, Any]:
    """:func:`shortest` with its interval; None for more than the longest length."""
    drawn = [shortest(good[rows], lengths, tenths) for rows in rng.integers(len(good), size=(2000, len(good)))]
    values = [shortest(good, lengths, tenths), *np.quantile(drawn, (0.025, 0.975), method="inverted_cdf")]
    value, low, high = (None if np.isinf(each) else int(each) for each in values)
    return {"tokens": value, "interval_95": [low, high]}


def tokens_needed(weigher: Weigher, recipe: Recipe, texts: Sequence[Text], lengths: Sequence[int]) -> dict[str, Any]:
    """What texts cut to so many tokens say: how many are needed, and how many were read at each length."""
    outcomes = [read(weigher, recipe, text, lengths) for text in texts]
    exact = np.array([[outcome.exact for outcome in each] for each in outcomes])
    found = np.array([[outcome.found for outcome in each] for each in outcomes])
    rng = np.random.default_rng(recipe.seed)
    return {
        "tokens for 90 % exact": needed(exact, lengths, rng),
        "tokens for 90 % at p <= 1e-4": needed(found, lengths, rng),
        **rates(outcomes, lengths),
    }


@experiment(quick={"texts": 1, "tokens": 60}, texts=40, tokens=200, seed=1, batch=40)
def main(options: Options) -> Result:
    """Run the experiment."""
    lengths = [length for length in LENGTHS if length <= options.tokens]
    writer = Writer()
    rows = []
    for name, sampling in tracked(list(SAMPLING.items()), "entropy"):
        batch = options.batch if sampling.get("beams", 1) == 1 else options.batch // 4
        recipe = Recipe(tokens=max(lengths), seed=options.seed, batch=batch, **sampling)
        texts = writer.texts(recipe, options.texts)
        rows.append(
            {
                "sampling": name,
                "entropy of the model": round(float(np.mean([np.mean(text.entropy) for text in texts])), 3),
                "entropy of the choice": round(float(np.mean([np.mean(text.choice) for text in texts])), 3),
                **tokens_needed(writer.weigher, recipe, texts, lengths),
            }
        )
    return {"rows": rows}


if __name__ == "__main__":
    main()

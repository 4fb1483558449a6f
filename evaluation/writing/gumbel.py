"""What does ``gumbel`` gain over ``unbiased``, and what does it cost?

- Tokens needed, as ``reading/entropy.py`` counts them, at several temperatures: one test over all codes, of each
  method by the score that was made for it.
- The cost in a text: NLL beside plain texts from the same prompts, pairs of tokens that repeat.
- The cost between texts: several texts continue each prompt with one code, and self-BLEU says how much they resemble
  each other. Only their first ``L_prefix`` tokens are drawn freely.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.measures import beside, mean, repeats, self_bleu
from ..shared.outcomes import needed
from ..shared.texts import Recipe, Writer, mean_choice, mean_nll

METHODS = ("plain", "unbiased", "gumbel")
TEMPERATURES = (1.0, 0.7)
LENGTHS = (20, 25, 30, 40, 50, 60, 80, 100, 125, 150, 200)
SHORT = 60
"""Tokens of the texts that go on from one prompt."""


def alike(writer: Writer, method: str, prompts: int, again: int) -> NDArray[np.float64]:
    """Self-BLEU among the texts of each prompt, all with one code: float64 (prompts,)."""
    recipes = [
        Recipe(method, tokens=SHORT, provider=42, nonce=0, seed=seed, batch=prompts) for seed in range(1, again + 1)
    ]
    texts = [writer.texts(recipe, prompts) for recipe in recipes]
    return np.array([self_bleu([text.text for text in group]).mean() for group in zip(*texts, strict=True)])


@experiment(
    quick={"texts": 2, "tokens": 60, "prompts": 2, "again": 2},
    texts=40, tokens=200, prompts=20, again=5, seed=1, batch=40,
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment."""
    lengths = [length for length in LENGTHS if length <= options.tokens]
    writer = Writer()
    rows: list[dict[str, Any]] = []
    for temperature in tracked(TEMPERATURES, "temperatures"):
        plain = np.zeros(0)
        for method in METHODS:
            recipe = Recipe(
                method, tokens=max(lengths), temperature=temperature, seed=options.seed, batch=options.batch
            )
            texts = writer.texts(recipe, options.texts)
            nll = mean_nll(texts)
            plain = plain if len(plain) else nll
            row: dict[str, Any] = {"method": method, "temperature": temperature, "NLL": mean(nll)}
            row["pairs that repeat"] = round(float(np.mean([repeats(text.ids) for text in texts])), 4)
            if method != "plain":
                row["NLL"] = beside(nll, plain)
                row["entropy of the choice"] = mean_choice(texts)
                row |= needed(writer.proxy, recipe, texts, lengths)
            rows.append(row)
    between = {method: alike(writer, method, options.prompts, options.again) for method in METHODS}
    return {
        "rows": rows,
        "self-BLEU of one prompt's texts, one code": {
            method: {"mean": round(float(values.mean()), 4)}
            | ({} if method == "plain" else beside(values, between["plain"]))
            for method, values in between.items()
        },
    }


if __name__ == "__main__":
    main()

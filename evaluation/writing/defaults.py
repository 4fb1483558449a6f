"""Which strategy suits which way of sampling?

Texts by ``unbiased`` and by ``gumbel`` at several temperatures and values of top-p, each with a nonce of its own, as a
provider writes them. For each setting:

- found: texts of one news prompt each, by the decoder at its default level, with the right code, of all
  texts and of those that allow a mark, see ``ALLOWS`` in ``shared/texts.py``.
- variety: several texts of each of a few prompts. Shared runs: the share of a text's runs of three tokens that another
  text of its prompt has, too. self-BLEU: BLEU of each text against the others of its prompt. Both beside plain texts.
- the change of the NLL to plain texts, of the same prompts.

It measures the encoder's choice, see ``ctwl_encoder.options.strategy_for``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctwl_decoder import Decoder
from ctwl_encoder.options import strategy_for
from ctwl_encoder.plan.statistics import shared_runs

from ..shared.cache import recalled, sources
from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.measures import beside, rate, self_bleu
from ..shared.outcomes import LEVEL
from ..shared.prompts import news_prompts
from ..shared.readers import reader
from ..shared.texts import ALLOWS, ARITHMETIC, PROVIDER, VERSION, Recipe, Text, Writer, mean_choice, mean_nll

SETTINGS = ((0.7, 0.95), (0.9, 0.95), (1.0, 0.95), (1.0, 1.0))
"""Temperature and top-p."""


def alike_runs(texts: Sequence[Text]) -> NDArray[np.float64]:
    """The share of each text's runs of three tokens that others of these texts have, too: float64 (texts,)."""
    return np.array([shared_runs(own.ids, [other.ids for other in texts if other is not own]) for own in texts])


def of_one_prompt(writer: Writer, recipe: Recipe, prompts: int) -> list[list[Text]]:
    """Texts of several prompts, a batch of each."""
    found = []
    for start, prompt in enumerate(news_prompts(prompts)):
        write = partial(writer.write, recipe, start, [prompt] * recipe.batch)
        found.append(recalled(write, "texts of one prompt", sources(), ARITHMETIC, recipe, start, prompt))
    return found


def reading(decoder: Decoder, texts: Sequence[Text]) -> dict[str, Any]:
    """How many of all texts are found, and how many of those that allow a mark."""
    right = np.array([decoder.decode(text.text).code == text.code for text in tracked(texts, "reading")])
    allows = np.array([text.allows for text in texts])
    return {
        "found": rate(int(right.sum()), len(texts)),
        "allow a mark": int(allows.sum()),
        "found, of these": rate(int(right[allows].sum()), max(int(allows.sum()), 1)),
        "entropy of the choice": mean_choice(texts),
    }


@experiment(
    quick={"texts": 2, "tokens": 40, "prompts": 1, "alike": 2}, texts=64, tokens=200, prompts=4, alike=16, seed=1,
    batch=32,
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment."""
    writer = Writer()
    decoder = reader(writer.proxy)
    rows: list[dict[str, Any]] = []
    for temperature, top_p in tracked(SETTINGS, "settings"):
        plain_nll, plain = np.empty(0), dict[str, NDArray[np.float64]]()
        for method in ("plain", "unbiased", "gumbel"):
            recipe = Recipe(
                method, tokens=options.tokens, temperature=temperature, top_p=top_p, provider=PROVIDER,
                version=VERSION, seed=options.seed, batch=options.batch,
            )  # fmt: skip
            texts = writer.texts(recipe, options.texts)
            alike = of_one_prompt(writer, Recipe(**{**vars(recipe), "batch": options.alike}), options.prompts)
            variety = {
                "shared runs of three": np.concatenate([alike_runs(each) for each in alike]),
                "self-BLEU": np.concatenate([self_bleu([text.text for text in each]) for each in alike]),
            }
            row: dict[str, Any] = {"temperature": temperature, "top-p": top_p, "method": method}
            if method == "plain":
                plain_nll, plain = mean_nll(texts), variety
            else:
                row |= reading(decoder, texts) | {"NLL": beside(mean_nll(texts), plain_nll)}
                row["the default"] = method == strategy_for(None, temperature)
            row |= {
                name: {
                    "mean": round(float(values.mean()), 4),
                    "over plain": round(float(values.mean() / plain[name].mean()), 3) if plain[name].any() else None,
                }
                for name, values in variety.items()
            }
            rows.append(row)
    return {"settings": {"level": LEVEL, "allows a mark, nats a token": ALLOWS}, "rows": rows}


if __name__ == "__main__":
    main()

"""Which strategy suits which way of sampling?

Texts by ``unbiased`` and by ``gumbel`` at several temperatures and values of top-p, each with a nonce of its own, as a
provider writes them. For each setting:

- found: texts of one news prompt each, by the decoder at its default level, with the right code. Some texts leave a
  mark no room: a model that repeats itself is sure of each word. A text *allows* a mark if what its tokens were drawn
  from has an entropy of at least ALLOWS nats a token on average. The rule was set before the texts were read.
- variety: several texts of each of a few prompts. Shared runs: the share of a text's runs of three tokens that another
  text of its prompt has, too. self-BLEU: BLEU of each text against the others of its prompt. Both beside plain texts.
- the change of the NLL to plain texts, of the same prompts.

It measures the encoder's choice, see ``ctwl_encoder.options.strategy_for``.

    python evaluation/defaults.py --out evaluation/results/defaults.json
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from common import beside, news_prompts, rate, reader, recalled, sources
from diversity import self_bleu
from experiment import Options, Result, experiment, tracked
from numpy.typing import NDArray
from reading import LEVEL
from texts import Recipe, Text, Writer, mean_nll

from ctwl_decoder import Decoder
from ctwl_encoder.options import strategy_for
from ctwl_encoder.plan.statistics import shared_runs

SETTINGS = ((0.7, 0.95), (0.9, 0.95), (1.0, 0.95), (1.0, 1.0))
"""Temperature and top-p."""

ALLOWS = 0.5
PROVIDER, VERSION = 42, 3


def alike_runs(texts: Sequence[Text]) -> NDArray[np.float64]:
    """The share of each text's runs of three tokens that others of these texts have, too: float64 (texts,)."""
    return np.array([shared_runs(own.ids, [other.ids for other in texts if other is not own]) for own in texts])


def of_one_prompt(writer: Writer, recipe: Recipe, prompts: int) -> list[list[Text]]:
    """Texts of several prompts, a batch of each."""
    found = []
    for start, prompt in enumerate(news_prompts(prompts)):
        write = partial(writer.write, recipe, start, [prompt] * recipe.batch)
        found.append(recalled(write, "texts of one prompt", sources(), writer.proxy.arithmetic, recipe, start, prompt))
    return found


def reading(decoder: Decoder, texts: Sequence[Text]) -> dict[str, Any]:
    """How many of all texts are found, and how many of those that allow a mark."""
    right = np.array([decoder.decode(text.text).code == text.code for text in tracked(texts, "reading")])
    allows = np.array([np.mean(text.choice) >= ALLOWS for text in texts])
    return {
        "found": rate(int(right.sum()), len(texts)),
        "allow a mark": int(allows.sum()),
        "found, of these": rate(int(right[allows].sum()), max(int(allows.sum()), 1)),
        "entropy of the choice": round(float(np.mean([np.mean(text.choice) for text in texts])), 3),
    }


@experiment(
    quick={"texts": 2, "tokens": 40, "prompts": 1, "alike": 2}, texts=64, tokens=200, prompts=4, alike=16, seed=1,
    batch=32,
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment."""
    writer = Writer()
    decoder = reader(writer.weigher)
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

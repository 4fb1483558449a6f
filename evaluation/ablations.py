"""What do the profile's parameters do, as in the paper's ablations?

One parameter at a time differs from the published profile's: A, the permutations that a code chooses from; L_prefix,
the tokens that the proxy LM reads; the code space; and the proxy LM itself. It is SmolLM2, the provider's model too;
or only its first layers, never trained to end there; or none, all tokens alike. The first row is as published. Texts
are written by ``delta``, which asks the proxy LM, and by ``unbiased``, which does not. They are read at several
lengths, so a row shows how success grows with the text. Times are of this machine: milliseconds a token of writing,
plain and by ``delta``, and of reading.

    python evaluation/ablations.py --out evaluation/results/ablations.json
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from common import beside, news_prompts
from experiment import Options, Result, experiment, interleaved, tracked
from numpy.typing import NDArray
from reading import rates, read
from texts import Recipe, Writer, mean_nll

from ctwl_decoder.statistics.evidence import observe
from ctwl_protocol.text.positions import positions

LENGTHS = (40, 60, 80, 100)
PUBLISHED = {name: getattr(Recipe(), name) for name in ("colours", "prefix_length", "code_bits", "layers")}
CHANGED: dict[str, tuple[int, ...]] = {
    "colours": (25, 250),
    "prefix_length": (5, 20),
    "code_bits": (5, 10),
    "layers": (15, 0),
}
"""The values beside the published profile's."""


def measured(writer: Writer, recipe: Recipe, plain: NDArray[np.float64]) -> dict[str, Any]:
    """Success at each length, and NLL beside that of plain texts from the same prompts."""
    written = writer.texts(recipe, len(plain))
    return {
        **rates([read(writer.proxy, recipe, text, LENGTHS) for text in written], LENGTHS),
        "mean NLL": round(float(mean_nll(written).mean()), 4),
        **beside(mean_nll(written), plain),
    }


def timed(writer: Writer, recipe: Recipe, runs: int) -> dict[str, float]:
    """Milliseconds a token, the least of some runs over four texts."""
    recipe = replace(recipe, tokens=50, batch=4)
    prompts, codes = news_prompts(4), recipe.codes(0, 4)
    proxy, profile = recipe.proxy(writer.proxy), recipe.profile()
    ids = [proxy.tokenizer.encode(text)[:60] for text in prompts * 2]
    cut = positions(np.concatenate(ids), profile.prefix_length, profile.context_length)
    jobs: dict[str, Callable[[], object]] = {
        "writing, plain": lambda: writer.generate(replace(recipe, method="plain"), 0, prompts, codes),
        "writing": lambda: writer.generate(recipe, 0, prompts, codes),
        "reading": lambda: observe(proxy, cut),
    }
    tokens = {"reading": len(cut)}
    return {
        name: round(1e3 * min(seconds) / tokens.get(name, 4 * recipe.tokens), 2)
        for name, seconds in interleaved(jobs, runs).items()
    }


@experiment(quick={"texts": 2, "runs": 1, "values": 1}, texts=40, seed=1, batch=40, runs=2, values=2)
def main(options: Options) -> Result:
    """Run the experiment."""
    writer = Writer()
    shared: dict[str, Any] = {"tokens": max(LENGTHS), "seed": options.seed, "batch": options.batch}
    bases = [Recipe("unbiased", **shared), Recipe("delta", 2.0, **shared)]
    plain = mean_nll(writer.texts(Recipe("plain", **shared), options.texts))
    rows: list[dict[str, Any]] = []
    changes: list[dict[str, int]] = [
        {},
        *({name: value} for name, values in CHANGED.items() for value in values[-options.values :]),
    ]
    for change, base in tracked(list(product(changes, bases)), "ablations"):
        recipe = replace(base, **change)
        row: dict[str, Any] = {"changed": change, "method": base.method}
        row |= measured(writer, recipe, plain)
        if base.method == "delta":
            row["milliseconds a token"] = timed(writer, recipe, options.runs)
        rows.append(row)
    return {"settings": {"lengths": LENGTHS, "published": PUBLISHED}, "rows": rows}


if __name__ == "__main__":
    main()

"""What do the profile's parameters do, as in the paper's ablations?

One parameter at a time differs from the published profile's: A, the permutations that a code chooses from, or the code
space. The first row is as published. Texts are written by ``delta``, which asks the proxy LM, and by ``unbiased``,
which does not. They are read at several lengths, so a row shows how success grows with the text.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.measures import beside
from ..shared.outcomes import rates, read
from ..shared.texts import Recipe, Writer, mean_nll

LENGTHS = (40, 60, 80, 100)
PUBLISHED = {name: getattr(Recipe(), name) for name in ("colours", "code_bits")}
CHANGED: dict[str, tuple[int, ...]] = {"colours": (25, 250), "code_bits": (5, 10)}
"""The values beside the published profile's."""


def measured(writer: Writer, recipe: Recipe, plain: NDArray[np.float64]) -> dict[str, Any]:
    """Success at each length, and NLL beside that of plain texts from the same prompts."""
    written = writer.texts(recipe, len(plain))
    return {
        **rates([read(writer.proxy, recipe, text, LENGTHS) for text in written], LENGTHS),
        "mean NLL": round(float(mean_nll(written).mean()), 4),
        **beside(mean_nll(written), plain),
    }


@experiment(quick={"texts": 2, "values": 1}, texts=40, seed=1, batch=40, values=2)
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
        rows.append(row | measured(writer, recipe, plain))
    return {"settings": {"lengths": LENGTHS, "published": PUBLISHED}, "rows": rows}


if __name__ == "__main__":
    main()

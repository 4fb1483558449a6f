"""Can one tell marked text from other text?

There are marked texts, plain ones by the same model from the same prompts, and passages from the given files of human
text. Each method says by one number how marked a text looks: Balance- and Vanilla-Marking by the exact p-value of the
best of all codes, the baselines by how far the best message's hits stand out. For each method and length the areas
under the curve are stated, with plain and with human texts as negatives, and their intervals over 2,000 draws of the
texts. A p-value needs no other texts to set its threshold: for methods that have one, the share of each kind of texts
at p <= 1e-4 is stated too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.human import passages
from ..shared.measures import rate
from ..shared.outcomes import Outcome, read
from ..shared.texts import Recipe, Text, Writer

LENGTHS = (25, 50, 100, 200)
METHODS: dict[str, dict[str, Any]] = {
    "unbiased": {"method": "unbiased"},
    "delta 2": {"method": "delta", "delta": 2.0},
    "vanilla, delta 2": {"method": "vanilla", "delta": 2.0},
    "mpac, delta 2": {"method": "mpac", "delta": 2.0},
    "cyclic, delta 2": {"method": "cyclic", "delta": 2.0},
}


def area(marked: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """How often a marked text looks more marked than another one, equal ones counted half."""
    return float(stats.mannwhitneyu(marked, other).statistic) / (len(marked) * len(other))


def told_apart(marked: list[Outcome], others: list[Outcome], rng: np.random.Generator) -> dict[str, Any]:
    """How well two sets of texts of one length are told apart."""
    a, b = (np.array([outcome.strength for outcome in each]) for each in (marked, others))
    drawn = [area(rng.choice(a, len(a)), rng.choice(b, len(b))) for _ in range(2000)]
    return {
        "area": round(area(a, b), 4),
        "interval_95": [round(float(bound), 4) for bound in np.quantile(drawn, (0.025, 0.975))],
    }


@experiment(quick={"texts": 4, "passages": 6}, takes="human", texts=40, passages=100, seed=1, batch=40)
def main(options: Options) -> Result:
    """Run the experiment."""
    writer = Writer()
    rng = np.random.default_rng(options.seed)
    texts = [file.read_text(encoding="utf-8") for file in options.files]
    by_people = passages(writer.proxy.tokenizer, texts, options.passages, rng, max(LENGTHS), max(LENGTHS))
    human = [Text(text, -1, [], [], [], []) for text in by_people]
    shared: dict[str, Any] = {"tokens": max(LENGTHS), "seed": options.seed, "batch": options.batch}
    plain = writer.texts(Recipe("plain", **shared), options.texts)
    rows = []
    for name, method in tracked(list(METHODS.items()), "methods"):
        recipe = Recipe(**method, **shared)
        kinds = {"marked": writer.texts(recipe, options.texts), "plain": plain, "human": human}
        outcomes = {
            kind: [read(writer.proxy, recipe, text, LENGTHS) for text in texts] for kind, texts in kinds.items()
        }
        for i, length in enumerate(LENGTHS):
            found = {kind: [of_text[i] for of_text in each] for kind, each in outcomes.items()}
            row: dict[str, Any] = {"method": name, "tokens": length}
            row |= {f"against {kind}": told_apart(found["marked"], found[kind], rng) for kind in ("plain", "human")}
            if found["marked"][0].p_value is not None:
                # A strength of 4 is p = 1e-4.
                passing = {kind: sum(o.strength >= 4 for o in each) for kind, each in found.items()}
                row |= {f"{kind} at p <= 1e-4": rate(passing[kind], len(each)) for kind, each in found.items()}
            rows.append(row)
    return {"settings": {"human": len(human)}, "rows": rows}


if __name__ == "__main__":
    main()

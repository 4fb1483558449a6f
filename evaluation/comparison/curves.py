"""How much quality do the paper's two methods cost for how much success?

The paper's figure 2 a and b; ``peers`` has the schemes of others. Each method writes the same number of texts from the
same prompts at several strengths. Success: the code is read back exactly, from 200 tokens (10 to a bit) and from the
first 100 of them (5 to a bit). Quality: by how much the mean NLL under the model that wrote the text differs from that
of plain sampling. ``race``, at its default share, stands beside them.

Balance- and Vanilla-Marking are compared at equal success over 2,000 bootstrap samples of the prompts. In each sample
NLL is interpolated at that success, linearly between the strengths, from plain texts on, which never succeed. A sample
in which one of the two does not reach the success is left out, at most one in forty. Their texts are read by
the score ``half``, and those of ``race`` by ``race``. The proxy LM is the provider's own model, the best case for
Balance-Marking.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.measures import beside, rate
from ..shared.outcomes import read
from ..shared.texts import Recipe, Writer, mean_nll

METHODS: dict[str, tuple[float, ...]] = {
    "race": (0.0,),
    "delta": (1.0, 2.0, 4.0),
    "vanilla": (1.0, 2.0, 4.0),
}

MARKINGS = ("delta", "vanilla")
"""The paper's two, which are compared at equal success."""

LEVELS = (0.5, 0.8, 0.9, 0.95)
"""Success rates at which methods are compared."""

_SAMPLES = 2000


def at_success(success: NDArray[np.float64], loss: NDArray[np.float64], level: float) -> float:
    """The loss at a success rate, between the two strengths around it; not a number where none reaches it.

    Args:
        success: float64 (strengths,), by growing strength, from 0 at none; taken to grow.
        loss: float64 (strengths,).
        level: the success rate.
    """
    for (s, a), (t, b) in pairwise(zip(np.maximum.accumulate(success), loss, strict=True)):
        if s < level <= t:
            return float(a + (b - a) * (level - s) / (t - s))
    return float("nan")


def compared(
    right: dict[str, NDArray[np.bool_]],
    loss: dict[str, NDArray[np.float64]],
    level: float,
    rng: np.random.Generator,
) -> dict[str, Any] | None:
    """By how much the NLL of Balance-Marking differs from Vanilla-Marking's where both succeed equally often.

    Args:
        right: of each method, bool (strengths, texts), none first.
        loss: of each method, float64 (strengths, texts).
        level: the success rate.
        rng: draws the texts anew.
    """
    count = right["delta"].shape[1]
    draws = [np.arange(count), *rng.integers(count, size=(_SAMPLES, count))]
    found = np.array(
        [[at_success(right[m][:, d].mean(axis=1), loss[m][:, d].mean(axis=1), level) for m in MARKINGS] for d in draws]
    )
    differences = found[:, 0] - found[:, 1]
    if np.isnan(differences[0]) or np.isnan(differences).mean() > 0.025:
        return None  # one of them does not get there
    low, high = np.nanquantile(differences[1:], (0.025, 0.975))
    return {
        "delta": round(float(found[0, 0]), 4),
        "vanilla": round(float(found[0, 1]), 4),
        "difference": round(float(differences[0]), 4),
        "interval_95": [round(float(low), 4), round(float(high), 4)],
    }


@experiment(quick={"texts": 2, "strengths": 1, "tokens": 40}, texts=40, strengths=3, tokens=200, seed=1, batch=40)
def main(options: Options) -> Result:
    """Run the experiment."""
    lengths = (options.tokens // 2, options.tokens)
    writer = Writer()
    shared: dict[str, Any] = {"tokens": options.tokens, "seed": options.seed, "batch": options.batch}
    unmarked = writer.texts(Recipe("plain", **shared), options.texts)
    plain = {length: mean_nll(unmarked, length) for length in lengths}
    rows: list[dict[str, Any]] = []
    right = {(method, length): [np.zeros(options.texts, np.bool_)] for method in METHODS for length in lengths}
    loss = {(method, length): [plain[length]] for method in METHODS for length in lengths}
    points = [(method, delta) for method, deltas in METHODS.items() for delta in deltas[-options.strengths :]]
    for method, delta in tracked(points, "curves"):
        recipe = Recipe(method, delta, **shared)
        texts = writer.texts(recipe, options.texts)
        outcomes = [read(writer.proxy, recipe, text, lengths) for text in texts]
        for i, length in enumerate(lengths):
            exact = np.array([outcome[i].exact for outcome in outcomes])
            right[method, length].append(exact)
            loss[method, length].append(mean_nll(texts, length))
            row: dict[str, Any] = {"method": method, "tokens": length} | ({"delta": delta} if delta else {})
            row |= {"exact": rate(int(exact.sum()), len(exact))}
            rows.append(row | beside(mean_nll(texts, length), plain[length]))
    rng = np.random.default_rng(options.seed)
    equal = []
    for length in lengths:
        exact_of = {m: np.array(right[m, length]) for m in MARKINGS}
        loss_of = {m: np.array(loss[m, length]) for m in MARKINGS}
        equal += [
            {"tokens": length, "success": level, "NLL": compared(exact_of, loss_of, level, rng)} for level in LEVELS
        ]
    return {"rows": rows, "at equal success": equal}


if __name__ == "__main__":
    main()

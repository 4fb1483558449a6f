"""Can one tell marked text from human text?

Marked texts, and passages cut from the given files of human text, evenly spread. Each method says by one number how
marked a text looks: Balance- and Vanilla-Marking by the exact p-value of the best of all codes, the baselines by how
far the best message's hits stand out. Stated per method and length: the area under the curve of true against false
positives with its interval over 2,000 draws of the texts, and the share of marked texts that look more marked than
99 % of the human ones. A p-value needs no human texts to set its threshold: for methods that have one, the share of
marked and of human texts at p <= 1e-4 too.

    python evaluation/detection.py --out evaluation/results/detection.json FILE...
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from common import OFFLINE, arguments, rate, settings, tracked, write
from false_positives import passages
from numpy.typing import NDArray
from reading import Outcome, TextReader
from scipy import stats
from texts import Recipe, Text, Writer

from ctwl_decoder.units import Score
from ctwl_protocol.proxy import open_proxy

LENGTHS = (25, 50, 100, 200)
METHODS: dict[str, tuple[Score, dict[str, Any]]] = {
    "unbiased": (Score.SOFT, {"method": "unbiased"}),
    "delta 2": (Score.SOFT, {"method": "delta", "delta": 2.0}),
    "delta 2, by the count": (Score.COUNT, {"method": "delta", "delta": 2.0}),
    "vanilla, delta 2": (Score.COUNT, {"method": "vanilla", "delta": 2.0}),
    "mpac, delta 2": (Score.SOFT, {"method": "mpac", "delta": 2.0}),
    "cyclic, delta 2": (Score.SOFT, {"method": "cyclic", "delta": 2.0}),
}


def area(marked: NDArray[np.float64], human: NDArray[np.float64]) -> float:
    """How often a marked text looks more marked than a human one, equal ones counted half."""
    return float(stats.mannwhitneyu(marked, human).statistic) / (len(marked) * len(human))


def told_apart(marked: list[Outcome], human: list[Outcome], rng: np.random.Generator) -> dict[str, Any]:
    """How well two sets of texts of one length are told apart."""
    a, b = (np.array([outcome.strength for outcome in each]) for each in (marked, human))
    drawn = [area(rng.choice(a, len(a)), rng.choice(b, len(b))) for _ in range(2000)]
    threshold = float(np.quantile(b, 0.99, method="higher"))
    row: dict[str, Any] = {
        "area": round(area(a, b), 4),
        "interval_95": [round(float(bound), 4) for bound in np.quantile(drawn, (0.025, 0.975))],
        "marked above 99 % of human": rate(int((a > threshold).sum()), len(a)),
    }
    if marked[0].p_value is not None:
        for name, each in (("marked", marked), ("human", human)):
            passed = sum(outcome.p_value is not None and outcome.p_value <= 1e-4 for outcome in each)
            row[f"{name} at p <= 1e-4"] = rate(passed, len(each))
    return row


def main() -> None:
    """Run the experiment."""
    options = arguments(
        __doc__, quick={"texts": 4, "passages": 6}, files="human text, UTF-8", texts=40, passages=100, seed=1, batch=40
    )  # fmt: skip
    proxy = open_proxy(OFFLINE, fast=True)
    writer, reader = Writer(proxy), TextReader(proxy)
    rng = np.random.default_rng(options.seed)
    files: list[Path] = options.files
    each = -(-options.passages // len(files))
    cut = [passages(proxy, f.read_text(encoding="utf-8"), each, rng, max(LENGTHS)) for f in files]
    human = [Text(text, -1, [], [], [], []) for texts in cut for text in texts]
    rows = []
    for name, (score, method) in tracked(list(METHODS.items()), "methods"):
        recipe = Recipe(**method, tokens=max(LENGTHS), seed=options.seed, batch=options.batch)
        texts = writer.texts(recipe, options.texts)
        sets = [[reader.read(recipe, text, LENGTHS, score) for text in some] for some in (texts, human)]
        for i, length in enumerate(LENGTHS):
            marked, unmarked = ([outcomes[i] for outcomes in each] for each in sets)
            rows.append({"method": name, "tokens": length, **told_apart(marked, unmarked, rng)})
    given = {"model": "smollm2", "profile": OFFLINE, "files": [file.name for file in files], "human": len(human)}
    write({"experiment": "detection", "settings": settings(options, **given), "rows": rows}, options.out)


if __name__ == "__main__":
    main()

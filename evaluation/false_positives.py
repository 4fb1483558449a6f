"""Do the p-values hold on human text?

Passages of 100 to 200 tokens are cut from the given text files, evenly spread. For each, p-values of two kinds:

- of one code chosen before the text was seen, randomised, by the soft score and by the one of ranks: exactly uniform
  if the null is right, tested by Kolmogorov-Smirnov;
- the one that the decoder reports for the best of all codes by either score: conservative, so its distribution must not
  lie below uniform (one-sided Kolmogorov-Smirnov).

The paper's posterior at its threshold is counted beside them.

    python evaluation/false_positives.py --out evaluation/results/false_positives.json FILE...
"""

from __future__ import annotations

from typing import Any

import numpy as np
from common import scored_positions
from documents import cut
from experiment import OFFLINE, Options, Result, experiment, tracked
from scipy import stats

from ctwl_decoder.search.plan import SCORE_SHARES
from ctwl_decoder.search.posterior import THRESHOLD, posterior
from ctwl_decoder.statistics.code_scores import code_space, score_all
from ctwl_decoder.statistics.null import null_of
from ctwl_decoder.statistics.scored_positions import ScoreTable
from ctwl_decoder.statistics.scores import Score
from ctwl_protocol.proxy import Proxy, open_proxy


def passages(
    proxy: Proxy, text: str, count: int, rng: np.random.Generator, shortest: int = 100, longest: int = 200
) -> list[str]:
    """``count`` passages that start at lines, evenly spread over a text, their lengths in tokens drawn alike."""
    sizes = rng.integers(shortest, longest + 1, count)
    return cut(proxy.tokenizer, text, sizes.tolist(), room=4000)


def judge(proxy: Proxy, text: str, rng: np.random.Generator) -> dict[str, float]:
    """The p-values of one passage."""
    profile = proxy.profile
    ids, codes = proxy.tokenizer.encode(text), code_space(profile)
    by = (*SCORE_SHARES, Score.COUNT)
    scored = dict(zip(by, scored_positions(proxy, ids, *by), strict=True))
    code, u = int(rng.integers(profile.codes)), float(rng.random())
    randomised, reported = {}, []
    for score, share in SCORE_SHARES.items():
        table = ScoreTable.of(scored[score])
        scores, null = score_all(table, codes), null_of(table.scores)
        randomised[score.value] = null.randomised(int(scores[code]), u)
        reported.append(null.p_value(int(scores.max()), profile.codes / share))
    count = scored[Score.COUNT]
    hits = score_all(ScoreTable.of(count), codes)
    every = score_all(ScoreTable.of(count, repeats=True), codes)
    return {
        **randomised,
        "reported": min(reported),
        "posterior": posterior(every, int(every.argmax())),
        "binomial": float(min(1.0, profile.codes * stats.binom.sf(hits.max() - 1, ScoreTable.of(count).counted, 0.5))),
    }


def uniformity(p_values: list[float]) -> dict[str, Any]:
    """How near p-values are to a uniform distribution."""
    return {
        "mean": round(float(np.mean(p_values)), 4),
        "KS p": round(float(stats.kstest(p_values, "uniform").pvalue), 4),
    }


def summary(rows: list[dict[str, float]]) -> dict[str, Any]:
    """The tests over all passages."""
    reported = np.array([r["reported"] for r in rows])
    # Probability mass at 1 (the cap) is fine for a conservative p-value; only an excess of small ones is tested.
    below = stats.kstest(reported, "uniform", alternative="greater")
    return {
        "passages": len(rows),
        "randomised p of one code": uniformity([r["soft"] for r in rows]),
        "randomised p of one code, by rank": uniformity([r["rank"] for r in rows]),
        "reported p": {
            "mean": round(float(reported.mean()), 4),
            "smallest": float(reported.min()),
            "KS p, one-sided": round(float(below.pvalue), 4),
            "at most": {str(a): int((reported <= a).sum()) for a in (0.05, 0.01, 1e-3, 1e-4, 1e-5)},
        },
        "for comparison": {
            "the paper's posterior passes its threshold": int(sum(r["posterior"] >= THRESHOLD for r in rows)),
            "a binomial null with 1/2 gives p <= 1e-3": int(sum(r["binomial"] <= 1e-3 for r in rows)),
        },
    }


@experiment(quick={"passages": 4}, takes="human", passages=210, seed=1)
def main(options: Options) -> Result:
    """Run the experiment."""
    proxy, rng = open_proxy(OFFLINE), np.random.default_rng(options.seed)
    each = -(-options.passages // len(options.files))
    texts = [p for file in options.files for p in passages(proxy, file.read_text(encoding="utf-8"), each, rng)]
    return summary([judge(proxy, text, rng) for text in tracked(texts, "passages")])


if __name__ == "__main__":
    main()

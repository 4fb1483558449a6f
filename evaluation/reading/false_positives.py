"""Do the p-values hold on human text?

Passages of 100 to 200 tokens are cut from the given text files, evenly spread. For each, p-values of two kinds:

- of one code chosen before the text was seen, randomised, by each score of the proxy LM: exactly uniform if the null is
  right, tested by Kolmogorov-Smirnov;
- the one that the decoder reports for the best of all codes by either score: conservative, so its distribution must not
  lie below uniform (one-sided Kolmogorov-Smirnov).

The paper's posterior at its threshold is counted beside them, and a test that takes each hit for a fair coin.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from ctwl_decoder.search.plan import SCORE_SHARES
from ctwl_decoder.statistics.code_scores import code_space, score_all
from ctwl_decoder.statistics.null import null_of
from ctwl_decoder.statistics.scored_positions import ScoreTable
from ctwl_protocol.proxy import Proxy, open_proxy

from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked
from ..shared.human import passages
from ..shared.measures import small_p_values
from ..shared.paper import THRESHOLD, best_of, hits
from ..shared.readers import scored_positions


def judge(proxy: Proxy, text: str, rng: np.random.Generator) -> dict[str, float]:
    """The p-values of one passage."""
    profile = proxy.profile
    scored, codes = scored_positions(proxy, proxy.tokenizer.encode(text)), code_space(profile)
    code, u = int(rng.integers(profile.codes)), float(rng.random())
    randomised, reported = {}, []
    for score, share in SCORE_SHARES.items():
        table = ScoreTable.of(scored[score])
        scores, null = score_all(table, codes), null_of(table.scores)
        randomised[score.value] = null.randomised(int(scores[code]), u)
        reported.append(null.p_value(int(scores.max()), profile.codes / share))
    return {**randomised, "reported": min(reported)}


def compared(proxy: Proxy, text: str) -> dict[str, float]:
    """What the paper's test says of one passage, and a binomial test of its hits."""
    found = hits(proxy, proxy.tokenizer.encode(text))
    table = ScoreTable.of(found)
    most = int(score_all(table, code_space(proxy.profile)).max())
    return {
        "posterior": best_of(proxy, found).posterior,
        "binomial": float(min(1.0, proxy.profile.codes * stats.binom.sf(most - 1, table.counted, 0.5))),
    }


def uniformity(p_values: list[float]) -> dict[str, Any]:
    """How near p-values are to a uniform distribution."""
    return {
        "mean": round(float(np.mean(p_values)), 4),
        "KS p": round(float(stats.kstest(p_values, "uniform").pvalue), 4),
    }


def summary(rows: list[dict[str, float]]) -> dict[str, Any]:
    """The tests over all passages."""
    return {
        "passages": len(rows),
        "randomised p of one code": uniformity([r["half"] for r in rows]),
        "randomised p of one code, by rank": uniformity([r["race"] for r in rows]),
        "reported p": small_p_values(np.array([r["reported"] for r in rows]), (0.05, 0.01, 1e-3, 1e-4, 1e-5)),
    }


@experiment(quick={"passages": 4}, takes="human", passages=210, seed=1)
def main(options: Options) -> Result:
    """Run the experiment."""
    proxy, rng = open_proxy(OFFLINE), np.random.default_rng(options.seed)
    texts = passages(proxy.tokenizer, options.files, options.passages, rng, 100, 200)
    found = summary([judge(proxy, text, rng) for text in tracked(texts, "passages")])
    others = [compared(proxy, text) for text in tracked(texts, "for comparison")]
    lengths = [len(proxy.tokenizer.encode(text)) for text in texts]
    return found | {
        "tokens": {"least": min(lengths), "most": max(lengths)},
        "for comparison": {
            "the paper's posterior passes its threshold": sum(each["posterior"] >= THRESHOLD for each in others),
            "a binomial null with 1/2 gives p <= 1e-3": sum(each["binomial"] <= 1e-3 for each in others),
        },
    }


if __name__ == "__main__":
    main()

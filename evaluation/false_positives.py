"""Do the p-values hold on human text?

Passages of 100 to 200 tokens are cut from the given text files, evenly spread. For each, p-values of two kinds:

- of one code chosen before the text was seen, randomised, by the soft score and by the one of ranks: exactly uniform
  if the null is right, tested by Kolmogorov-Smirnov;
- the one that the decoder reports for the best of all codes by either score: conservative, so its distribution must not
  lie below uniform (one-sided Kolmogorov-Smirnov).

The paper's posterior at its threshold is counted beside them.

    python evaluation/false_positives.py --passages 210 --out evaluation/results/false_positives.json FILE...
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from common import OFFLINE, kept, settings, tracked, write
from scipy import stats

from ctwl_decoder.search.plan import SCORE_SHARES
from ctwl_decoder.search.posterior import THRESHOLD, posterior
from ctwl_decoder.statistics.code_scores import code_space, score_all
from ctwl_decoder.statistics.evidence import ScoredPositions, ScoreTable
from ctwl_decoder.statistics.null import null_of
from ctwl_decoder.statistics.scores import Score, position_scores
from ctwl_protocol.proxy import Proxy, open_proxy
from ctwl_protocol.text.positions import positions


def passages(
    proxy: Proxy, text: str, count: int, rng: np.random.Generator, shortest: int = 100, longest: int = 200
) -> list[str]:
    """``count`` passages that start at lines, evenly spread over a text, their lengths in tokens drawn alike."""
    cut = []
    for start in np.linspace(0, len(text) - 4000, count).astype(int):
        piece = text[text.find("\n", start) + 1 :][:3000]
        ids = proxy.tokenizer.encode(piece)[: rng.integers(shortest, longest + 1)]
        cut.append(proxy.tokenizer.decode(ids))
    return cut


def judge(proxy: Proxy, text: str, rng: np.random.Generator) -> dict[str, float]:
    """The p-values of one passage."""
    profile = proxy.profile
    ids, codes = proxy.tokenizer.encode(text), code_space(profile)
    cut = positions(ids, profile.prefix_length, profile.context_length)
    evidence = kept(proxy)(cut, lambda done: None)
    marks = {
        score: ScoredPositions.of(profile, cut, position_scores(score, evidence, profile.sigma)) for score in Score
    }
    code, u = int(rng.integers(profile.codes)), float(rng.random())
    randomised, reported = {}, []
    for score, share in SCORE_SHARES.items():
        table = ScoreTable.of(marks[score])
        scores, null = score_all(table, codes), null_of(table.scores)
        randomised[score.value] = null.randomised(int(scores[code]), u)
        reported.append(null.p_value(int(scores.max()), profile.codes / share))
    count = marks[Score.COUNT]
    hits = score_all(ScoreTable.of(count), codes)
    every = score_all(ScoreTable.of(count, repeats=True), codes)
    return {
        **randomised,
        "reported": min(reported),
        "posterior": posterior(every, int(every.argmax())),
        "binomial": float(min(1.0, profile.codes * stats.binom.sf(hits.max() - 1, ScoreTable.of(count).counted, 0.5))),
        "tokens": len(ids),
    }


def uniformity(p_values: list[float]) -> dict[str, Any]:
    """How near p-values are to a uniform distribution."""
    found, test = np.array(p_values), stats.kstest(p_values, "uniform")
    return {
        "mean": round(float(found.mean()), 4),
        "quantiles 5, 50, 95 %": [round(float(q), 4) for q in np.quantile(found, (0.05, 0.5, 0.95))],
        "KS statistic": round(float(test.statistic), 4),
        "KS p": round(float(test.pvalue), 4),
        "uniform at 1 %": bool(test.pvalue > 0.01),
    }


def summary(rows: list[dict[str, float]]) -> dict[str, Any]:
    """The tests over all passages."""
    reported = np.array([r["reported"] for r in rows])
    # Probability mass at 1 (the cap) is fine for a conservative p-value; only an excess of small ones is tested.
    below = stats.kstest(reported, "uniform", alternative="greater")
    return {
        "passages": len(rows),
        "tokens": {"least": min(r["tokens"] for r in rows), "most": max(r["tokens"] for r in rows)},
        "randomised p of one code": uniformity([r["soft"] for r in rows]),
        "randomised p of one code, by rank": uniformity([r["rank"] for r in rows]),
        "reported p": {
            "mean": round(float(reported.mean()), 4),
            "quantiles 5, 50, 95 %": [round(float(q), 4) for q in np.quantile(reported, (0.05, 0.5, 0.95))],
            "smallest": float(reported.min()),
            "KS p, one-sided": round(float(below.pvalue), 4),
            "never below uniform": bool(below.pvalue > 0.01),
            "at most": {str(a): int((reported <= a).sum()) for a in (0.05, 0.01, 1e-3, 1e-4, 1e-5)},
        },
        "for comparison": {
            "the paper's posterior passes its threshold": int(sum(r["posterior"] >= THRESHOLD for r in rows)),
            "a binomial null with 1/2 gives p <= 1e-3": int(sum(r["binomial"] <= 1e-3 for r in rows)),
        },
    }


def main() -> None:
    """Run the experiment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="human text, UTF-8")
    parser.add_argument("--passages", type=int, default=210, help="passages in all (default 210)")
    parser.add_argument("--profile", default=OFFLINE)
    parser.add_argument("--proxy", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    proxy, rng = open_proxy(options.profile, path=options.proxy), np.random.default_rng(options.seed)
    each = -(-options.passages // len(options.files))
    texts = [p for file in options.files for p in passages(proxy, file.read_text(encoding="utf-8"), each, rng)]
    rows = [judge(proxy, text, rng) for text in tracked(texts, "false positives")]
    given = {"profile": proxy.profile.name, "files": [file.name for file in options.files], "seed": options.seed}
    write({"experiment": "false positives", "settings": settings(**given), **summary(rows)}, options.out)


if __name__ == "__main__":
    main()

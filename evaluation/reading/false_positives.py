"""Do the p-values hold on human text?

Passages of 100 to 200 tokens are cut, evenly spread, half of them from the given text files, half from texts of many
kinds that the installed packages hold: code, licences, tables, lists, messages in many languages. For each, p-values of
two kinds:

- of one code chosen before the text was seen, randomised, by each score of the proxy LM: exactly uniform if the null is
  right, tested by Kolmogorov-Smirnov;
- the one that the decoder reports over all codes: conservative, so its distribution must not lie below uniform
  (one-sided Kolmogorov-Smirnov).

For some of the passages the paper's posterior at its threshold is counted beside them, and a test that takes each hit
for a fair coin. What was read of a passage is kept, so a run that was stopped goes on where it was.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import stats

import ctwl_decoder.search
import ctwl_decoder.statistics
import ctwl_decoder.text
import ctwl_protocol.numbers
import ctwl_protocol.partition
import ctwl_protocol.proxy
import ctwl_protocol.text
from ctwl_decoder import Decoder
from ctwl_decoder.statistics.code_scores import code_space, score_all
from ctwl_decoder.statistics.null import null_of
from ctwl_decoder.statistics.scored_positions import ScoreTable
from ctwl_protocol.proxy import Proxy

from ..shared.cache import digest, recalled
from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.human import ROOM, packaged_kinds, passages
from ..shared.measures import small_p_values
from ..shared.outcomes import LEVEL
from ..shared.paper import THRESHOLD, best_of, hits
from ..shared.readers import reader, scored_positions

READER = (
    ctwl_decoder.search, ctwl_decoder.statistics, ctwl_decoder.text,
    ctwl_protocol.numbers, ctwl_protocol.partition, ctwl_protocol.proxy, ctwl_protocol.text,
)  # fmt: skip
"""What a p-value depends on."""

MOST_COMPARED = 40
"""Reading by the paper's windows takes ten times as long, so only so many passages are read in this way."""


def judge(decoder: Decoder, text: str, code: int, u: float) -> dict[str, float]:
    """The p-values of one passage.

    Args:
        decoder: the decoder.
        text: the passage.
        code: chosen before the text was seen.
        u: uniform on [0, 1], which makes its p-value continuous.
    """
    p_values = {"reported": decoder.decode(text).p_value}
    for score, positions in scored_positions(decoder.proxy, decoder.tokenizer.encode(text)).items():
        table = ScoreTable.of(positions)
        p_values[score.value] = null_of(table.scores).randomised(table.score(code), u)
    return p_values


def many_kinds(proxy: Proxy, options: Options, rng: np.random.Generator) -> list[str]:
    """The passages: half from the given files, half from the installed packages."""
    half = options.passages // 2
    packaged = [text for text in packaged_kinds().values() if len(text) > 3 * ROOM]
    own = [file.read_text(encoding="utf-8") for file in options.files]
    parts = [passages(proxy.tokenizer, texts, half, rng, 100, 200) for texts in (own, packaged)]
    return [text for part in parts for text in part]


def compared(proxy: Proxy, text: str) -> dict[str, float]:
    """What the paper's test says of one passage, and a binomial test of its hits."""
    found = hits(proxy, proxy.tokenizer.encode(text))
    table = ScoreTable.of(found)
    most, counted = int(score_all(table, code_space(proxy.profile)).max()), int(found.first_occurrences().sum())
    return {
        "posterior": best_of(proxy, found).posterior,
        "binomial": float(min(1.0, proxy.profile.codes * stats.binom.sf(most - 1, counted, 0.5))),
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
        "reported p": small_p_values(np.array([r["reported"] for r in rows]), (0.05, 0.01, 1e-3, LEVEL, 1e-5)),
    }


@experiment(quick={"passages": 4}, takes="human", passages=2000, seed=1)
def main(options: Options) -> Result:
    """Run the experiment."""
    decoder, rng = reader(), np.random.default_rng(options.seed)
    proxy = decoder.proxy
    texts = many_kinds(proxy, options, rng)
    codes, us = rng.integers(proxy.profile.codes, size=len(texts)).tolist(), rng.random(len(texts)).tolist()
    source = digest(*READER)
    rows = [
        recalled(partial(judge, decoder, *each), "judged", source, *each)
        for each in tracked(list(zip(texts, codes, us, strict=True)), "passages")
    ]
    found = summary(rows)
    some = texts[:: max(1, len(texts) // MOST_COMPARED)]
    others = [recalled(partial(compared, proxy, text), "compared", source, text) for text in tracked(some, "compared")]
    lengths = [len(proxy.tokenizer.encode(text)) for text in texts]
    return found | {
        "tokens": {"least": min(lengths), "most": max(lengths)},
        "for comparison": {
            "passages": len(others),
            "the paper's posterior passes its threshold": sum(each["posterior"] >= THRESHOLD for each in others),
            "a binomial null with 1/2 gives p <= 1e-3": sum(each["binomial"] <= 1e-3 for each in others),
        },
    }


if __name__ == "__main__":
    main()

"""How well does a code survive that tokens are replaced?

A share of each text's tokens is replaced by others that the same LM finds likely there: of its four likeliest
proposals, other than the token itself, one is drawn by its probability after the text before and with the three tokens
behind it. The same texts are read in two ways: as the decoder does, which reads by two scores, looks for registered
codes, for parts of the text and for records of several codes too, and where it finds nothing names the likeliest; and
by one test of the whole text over all codes by the strategy's own score, which pays for nothing else. Both again by the
paper's count.

    python evaluation/substitution.py --out evaluation/results/substitution.json
"""

from __future__ import annotations

from functools import partial
from itertools import product
from pathlib import Path
from typing import Literal

import proposals
import torch
from common import (
    OFFLINE,
    arguments,
    kept,
    marks_of,
    rate,
    recalled,
    settings,
    tracked,
    versions,
    write,
)
from proposals import SHARES, edited
from reading import own_score, read_whole

import ctwl_encoder
import ctwl_protocol
from ctwl_decoder import Decoder
from ctwl_decoder.statistics.scores import Score
from ctwl_encoder import Encoder
from ctwl_encoder.options import Strategy

STRATEGIES = (Strategy.UNBIASED, Strategy.GUMBEL, Strategy.DELTA)
NAMES = ("exact", "exact at p <= 1e-4", "whole text: exact", "whole text: exact at p <= 1e-4")


def main() -> None:
    """Run the experiment."""
    options = arguments(__doc__, texts=100, delta_texts=50, tokens=200, batch=20, seed=1)
    encoder, proxy = Encoder.open("smollm2", OFFLINE), Decoder.open(OFFLINE).proxy
    observe = kept(proxy)
    decoder = Decoder(proxy, observe)
    made_by = versions(ctwl_protocol, ctwl_encoder, Path(proposals.__file__))
    rows = []
    for strategy in STRATEGIES:
        texts = options.delta_texts if strategy is Strategy.DELTA else options.texts
        told = [strategy.value, SHARES, texts, options.tokens, options.batch, options.seed, made_by, proxy.arithmetic]
        scores: dict[str, tuple[Literal["both", "count"], Score]]
        scores = {"its own": ("both", own_score(strategy)), "count": ("count", Score.COUNT)}
        found: dict[tuple[float, str], list[tuple[bool, bool, bool, bool]]] = {}
        for written in tracked(recalled(told, partial(edited, encoder, strategy, texts, options)), "read"):
            code = written["code"]
            for (share, text), name in product(zip(SHARES, written["texts"], strict=True), scores):
                asked, score = scores[name]
                report = decoder.decode(text, score=asked)
                right = report.code == code
                whole = read_whole(proxy.profile, marks_of(proxy, proxy.tokenizer.encode(text), score, observe), code)
                found.setdefault((share, name), []).append((right, right and report.detected, whole.exact, whole.found))
        for (share, name), outcomes in found.items():
            rates = (rate(sum(each), len(outcomes)) for each in zip(*outcomes, strict=True))
            row = {"strategy": strategy, "substituted": share, "score": name}
            rows.append(row | dict(zip(NAMES, rates, strict=True)))
    write({"experiment": "substitution", "settings": settings(options), "rows": rows}, options.out)


if __name__ == "__main__":
    torch.manual_seed(0)
    main()

"""How well does the decoder read a code after tokens were replaced?

A share of each text's tokens is replaced by others that the same LM finds likely there, see ``attacks.py``: one of its
four likeliest proposals, other than the token itself, drawn by its probability after the text before and with the three
tokens behind it. The same texts are read in two ways. The decoder reads by two scores, looks for registered codes, for
parts of the text and for records of several codes too, and names the likeliest code where it finds nothing. One test
of the whole text over all codes, by the strategy's own score, pays for nothing else.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch

from ctwl_encoder import Encoder
from ctwl_encoder.core.strategies import Strategy

from ..shared.cache import recalled, sources
from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked
from ..shared.measures import rate
from ..shared.outcomes import own_score, read_whole
from ..shared.prompts import generated
from ..shared.readers import likeliest, reader, scored_positions
from ..shared.texts import ARITHMETIC
from . import attacks

SHARES = (0.0, 0.1, 0.2, 0.3)
"""Shares of the tokens that are replaced."""

NAMES = ("exact", "found", "whole text: exact", "whole text: found")


def edited(
    encoder: Encoder, strategy: Strategy, count: int, tokens: int, batch: int, seed: int
) -> list[dict[str, Any]]:
    """Codes and their texts, one text for each of :data:`SHARES`."""
    rng, found = np.random.default_rng(seed), []
    for generation in generated(encoder, count, tokens, batch=batch, seed=seed, strategy=strategy):
        ids = encoder.tokenizer(generation.text, add_special_tokens=False)["input_ids"]
        changed = [encoder.tokenizer.decode(attacks.substitute(encoder, ids, share, rng)) for share in SHARES[1:]]
        found.append({"code": generation.beacon.code, "texts": [generation.text, *changed]})
    return found


@experiment(quick={"texts": 2, "delta_texts": 2, "tokens": 60}, texts=100, delta_texts=50, tokens=200, batch=20, seed=1)
def main(options: Options) -> Result:
    """Run the experiment."""
    torch.manual_seed(0)
    encoder, decoder = Encoder.open("smollm2", OFFLINE), reader()
    rows = []
    for strategy in Strategy:
        texts = options.delta_texts if strategy is Strategy.DELTA else options.texts
        found: dict[float, list[tuple[bool, bool, bool, bool]]] = {}
        given = strategy, texts, options.tokens, options.batch, options.seed
        decided = sources(__file__, attacks.__file__), ARITHMETIC, *given
        written = recalled(partial(edited, encoder, *given), "substitution", *decided)
        for each in tracked(written, f"{strategy}: reading"):
            code = each["code"]
            for share, text in zip(SHARES, each["texts"], strict=True):
                report = decoder.decode(text, score="whole")
                right = likeliest(report) == code
                scored = scored_positions(decoder.proxy, decoder.tokenizer.encode(text))[own_score(strategy)]
                whole = read_whole(decoder.profile, scored, code)
                found.setdefault(share, []).append((right, right and report.detected, whole.exact, whole.found))
        for share, outcomes in found.items():
            rates = (rate(sum(each), len(outcomes)) for each in zip(*outcomes, strict=True))
            rows.append({"strategy": strategy, "substituted": share} | dict(zip(NAMES, rates, strict=True)))
    return {"rows": rows}


if __name__ == "__main__":
    main()

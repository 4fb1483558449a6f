"""What does reading by whole context cost ``delta``, which writes by prefixes?

``delta`` asks the proxy LM what it expects after the last ``L_prefix`` tokens. A reader weighs by all tokens before a
position. Texts of one code are read at several lengths, over all codes, in three ways:

- whole context: as the decoder does it, by the score ``half``;
- prefix alone: the same test of the same score, but a position is weighed by the ``L_prefix`` tokens before it;
- the paper's: it weighs so too, counts hits, and asks for a posterior of 1 - 1e-5, which is no false-positive rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctwl_decoder.statistics.evidence import permutations
from ctwl_decoder.statistics.scored_positions import ScoredPositions
from ctwl_decoder.statistics.scores import Score, position_scores
from ctwl_protocol.proxy import Proxy
from ctwl_protocol.proxy.rivals import Rivals
from ctwl_protocol.text.positions import positions

from ..shared import paper
from ..shared.cache import recalled, sources
from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.measures import rate
from ..shared.outcomes import read_whole
from ..shared.paper import hits
from ..shared.readers import scored_positions
from ..shared.texts import Recipe, Text, Writer

LENGTHS = (100, 150, 200, 400)
"""Proxy tokens that are read."""

SAMPLING: Mapping[str, Mapping[str, Any]] = {
    "delta 2, T = 1": {"delta": 2.0},
    "delta 2, T = 0.7, top-p 0.95": {"delta": 2.0, "temperature": 0.7, "top_p": 0.95},
}


def rivals_by_prefix(proxy: Proxy, ids: NDArray[np.int64]) -> Rivals:
    """The rivals at a text's positions, each weighed by the ``L_prefix`` tokens before it."""
    cut = positions(ids, proxy.profile.prefix_length, proxy.profile.context_length)
    places = np.arange(proxy.profile.prefix_length, len(ids))
    return Rivals.joined(
        [Rivals.of(places[rows], weights, cut.observed[rows]) for rows, weights in proxy.batches(cut.prefixes)]
    )


def by_prefix(proxy: Proxy, ids: NDArray[np.int64]) -> tuple[Rivals, ScoredPositions]:
    """What the proxy LM says of a text by prefixes alone, and the hits that the paper counts."""
    return rivals_by_prefix(proxy, ids), hits(proxy, ids)


def found_in(writer: Writer, text: Text, lengths: Sequence[int]) -> dict[str, list[bool]]:
    """Whether a text's first so many tokens give its code away, in each way."""
    proxy, profile = writer.proxy, writer.proxy.profile
    first = profile.prefix_length
    ids = proxy.tokenizer.encode(text.text)[: max(lengths)]
    decided = sources(__file__, paper.__file__), proxy.load_for_writing(), ids
    rivals, counted = recalled(partial(by_prefix, proxy, ids), "prefixes", *decided)
    cut = positions(ids, first, profile.context_length)
    units = position_scores(rivals, first, permutations(profile, cut.contexts), profile.sigma)
    halves = {
        "whole context": scored_positions(proxy, ids)[Score.RACE],
        "prefix alone": ScoredPositions.of(profile, cut, units[Score.RACE]),
    }
    ends = [max(0, length - first) for length in lengths]
    found = {name: [read_whole(profile, half[:end], text.code).found for end in ends] for name, half in halves.items()}
    best = [paper.best_of(proxy, counted[:end]) for end in ends]
    return found | {"the paper's": [each.code == text.code and each.posterior >= paper.THRESHOLD for each in best]}


@experiment(quick={"texts": 2, "tokens": 100, "batch": 2}, texts=40, tokens=400, batch=40, seed=1)
def main(options: Options) -> Result:
    """Run the experiment."""
    lengths, writer, rows = [length for length in LENGTHS if length <= options.tokens], Writer(), []
    for name, sampling in SAMPLING.items():
        recipe = Recipe(method="delta", **sampling, tokens=options.tokens, seed=options.seed, batch=options.batch)
        texts = tracked(writer.texts(recipe, options.texts), name)
        read = [found_in(writer, text, lengths) for text in texts]
        found = {
            way: {str(length): rate(sum(each[way][i] for each in read), len(read)) for i, length in enumerate(lengths)}
            for way in read[0]
        }
        rows.append({"sampling": name, **found})
    return {"rows": rows}


if __name__ == "__main__":
    main()

"""What do the parts of the token bridge add?

Texts from the same prompts are written with the whole bridge, without branches behind a candidate's first proxy token,
and without tokenizing a candidate together with the word that it may continue. Stated: the hit rate of the code that
was written, and exact codes.

    python evaluation/lookahead.py --out evaluation/results/lookahead.json
"""

from __future__ import annotations

from typing import Any

import numpy as np
from bridge import read
from common import generated, rate
from experiment import OFFLINE, Options, Result, experiment, tracked
from numpy.typing import NDArray
from transplant import provider
from typing_extensions import override

from ctwl_decoder import Decoder
from ctwl_encoder import Bridge, Encoder
from ctwl_encoder.core.reading import Reading
from ctwl_protocol.proxy import open_proxy


class Shallow(Bridge):
    """Marks a candidate at its first new proxy token only."""

    @override
    def _deepen(self, *_: Any) -> None:
        pass


class Apart(Bridge):
    """Takes every candidate for one that leaves the text's proxy tokens as they are."""

    @override
    def _joined(self, reading: Reading, candidates: NDArray[np.int64]) -> dict[int, tuple[int, ...]]:
        return {}


VARIANTS = {"whole": Bridge, "first proxy token only": Shallow, "no candidate joins the tail": Apart}


@experiment(quick={"texts": 2, "tokens": 40}, texts=32, tokens=100, batch=32, seed=1)
def main(options: Options) -> Result:
    """Run the experiment."""
    decoder = Decoder.open(OFFLINE)
    length = round(1.2 * options.tokens)  # a provider's tokens may be shorter than the proxy's
    rows = []
    for family in tracked(("gpt2", "mistral"), "families"):
        encoder = Encoder(*provider(family), open_proxy(OFFLINE, lazy=True))
        for name, kind in VARIANTS.items():
            encoder.bridge = kind(encoder.tokenizer, encoder.proxy)
            written = generated(
                encoder, options.texts, length, batch=options.batch, seed=options.seed, strategy="unbiased"
            )
            found = [read(decoder, generation, options.tokens) for generation in written]
            rows.append(
                {
                    "family": family,
                    "bridge": name,
                    "hit rate": round(float(np.mean([f["hits"] for f in found])), 4),
                    "exact": rate(sum(bool(f["exact"]) for f in found), len(found)),
                    "median p": float(np.median([f["p"] for f in found])),
                }
            )
    return {"rows": rows}


if __name__ == "__main__":
    main()

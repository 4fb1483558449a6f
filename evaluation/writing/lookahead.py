"""What do candidates add that make the text's last word go on?

The bridge tokenizes such candidates together with the word, at most so many at a step; the others keep their
probability. Texts from the same prompts are written with each number, over the vocabularies of several families.
Stated: the hit rate of the code that was written, exact codes, and the median p-value.
"""

from __future__ import annotations

import numpy as np

from ctwl_encoder import Bridge, Encoder
from ctwl_encoder.models import load_model
from ctwl_protocol.proxy import open_proxy

from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked
from ..shared.measures import rate
from ..shared.outcomes import seen
from ..shared.prompts import generated
from ..shared.transplant import provider

JOINED = (0, 4, 16, 64)


@experiment(quick={"texts": 2, "tokens": 40}, texts=24, tokens=80, batch=24, seed=1)
def main(options: Options) -> Result:
    """Run the experiment."""
    proxy = open_proxy(OFFLINE)
    length = round(1.2 * options.tokens)  # a provider's tokens may be shorter than the proxy's
    rows = []
    for family in tracked(("gpt2", "smollm2", "mistral", "tekken"), "families"):
        parts = load_model("smollm2") if family == "smollm2" else provider(family)
        encoder = Encoder(*parts, proxy)
        for joined in JOINED:
            encoder.bridge = Bridge(encoder.tokenizer, proxy, joined=joined)
            written = generated(encoder, options.texts, length, batch=options.batch, seed=options.seed)
            found = [seen(proxy, generation, options.tokens) for generation in written]
            rows.append(
                {
                    "family": family,
                    "joined": joined,
                    "hit rate": round(float(np.mean([f["hits"] for f in found])), 4),
                    "exact": rate(sum(bool(f["exact"]) for f in found), len(found)),
                    "median p": float(np.median([f["p"] for f in found])),
                }
            )
    return {"rows": rows}


if __name__ == "__main__":
    main()

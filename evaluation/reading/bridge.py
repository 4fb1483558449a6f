"""How much of the watermark crosses the token bridge?

Providers of three families write with their own tokenizer, the public reads with the proxy's: SmolLM2 as it is, and
with the vocabularies of GPT-2 and Mistral transplanted (``shared/transplant.py``). Texts are cut to a fixed number of
proxy tokens. The first pair has one vocabulary on both sides. What marking does to the texts is asked by
``writing/quality.py``.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ctwl_protocol.proxy import open_proxy

from ..shared.cache import recalled, sources
from ..shared.experiment import Options, Result, experiment, tracked
from ..shared.measures import rate
from ..shared.outcomes import LEVEL, seen
from ..shared.prompts import generated
from ..shared.transplant import PAIRS, encoder_of, profile_of, transplant


def measured(pair: tuple[str, str], folder: Path, strategy: str, options: Options) -> Result:
    """One row of the table: a pair of families (the provider's, the proxy's) and a strategy."""
    encoder, proxy = encoder_of(*pair, folder), open_proxy(**profile_of(pair[1], folder))
    tokens = getattr(options, strategy)
    length = round(1.2 * tokens)  # a provider's tokens may be shorter than the proxy's
    asked: dict[str, Any] = {"batch": options.batch, "seed": options.seed, "strategy": strategy}
    write = partial(generated, encoder, options.texts, length, **asked)
    written = recalled(write, "bridge", sources(), pair, options.texts, length, asked)
    found = [seen(proxy, generation, tokens) for generation in tracked(written, "reading")]
    marked = sum(generation.marked for generation in written)
    return {
        "provider's vocabulary": pair[0],
        "proxy's vocabulary": pair[1],
        "strategy": strategy,
        "proxy tokens": tokens,
        "exact": rate(sum(bool(f["exact"]) for f in found), len(found)),
        "p <= 1e-4": rate(sum(f["p"] <= LEVEL for f in found), len(found)),
        "hit rate": round(float(np.mean([f["hits"] for f in found])), 4),
        "hit rate of a wrong code": round(float(np.mean([f["wrong"] for f in found])), 4),
        "marked positions seen by the reader": round(1 - sum(g.lost for g in written) / marked, 5),
    }


@experiment(quick={"texts": 2, "unbiased": 40, "delta": 40}, texts=100, unbiased=150, delta=200, batch=25, seed=1)
def main(options: Options) -> Result:
    """Run the experiment."""
    torch.manual_seed(0)
    jobs = [(pair, way) for pair in PAIRS for way in ("unbiased", "delta") if way == "unbiased" or pair[0] != pair[1]]
    with tempfile.TemporaryDirectory() as folder:
        transplant(Path(folder))
        return {"pairs": [measured(pair, Path(folder), way, options) for pair, way in tracked(jobs, "pairs")]}


if __name__ == "__main__":
    main()

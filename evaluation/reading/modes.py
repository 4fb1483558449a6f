"""Every way of decoding, and how the hit rate rises with ``delta``.

For each mode a few texts are written and read back: sampling with several ``delta``, greedy decoding, four-way beam
search with repetition penalty 1.5, and the ``unbiased`` strategy at several temperatures.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ctwl_encoder import Encoder
from ctwl_protocol.proxy import open_proxy

from ..shared.experiment import OFFLINE, VANILLA, Options, Result, experiment, tracked
from ..shared.measures import rate
from ..shared.prompts import generated
from ..shared.readers import likeliest, reader

MODES: dict[str, dict[str, Any]] = {
    "delta 0.5, T = 1": {"strategy": "delta", "delta": 0.5},
    "delta 1, T = 1": {"strategy": "delta", "delta": 1.0},
    "delta 2, T = 1": {"strategy": "delta", "delta": 2.0},
    "delta 4, T = 1": {"strategy": "delta", "delta": 4.0},
    "delta 2, greedy": {"strategy": "delta", "delta": 2.0, "temperature": 0.0},
    "delta 2, greedy, repetition penalty 1.5": {
        "strategy": "delta", "delta": 2.0, "temperature": 0.0, "repetition_penalty": 1.5,
    },
    "delta 2, 4 beams, repetition penalty 1.5": {
        "strategy": "delta", "delta": 2.0, "num_beams": 4, "repetition_penalty": 1.5,
    },
    "unbiased, T = 1": {"strategy": "unbiased"},
    "unbiased, T = 1, repeats skipped": {"strategy": "unbiased", "skip_repeats": True},
    "unbiased, T = 0.7": {"strategy": "unbiased", "temperature": 0.7},
    "unbiased, top-p 0.9": {"strategy": "unbiased", "top_p": 0.9},
    "vanilla, delta 2, T = 1": {"strategy": "delta", "delta": 2.0},
}  # fmt: skip


@experiment(quick={"texts": 2, "tokens": 40}, texts=8, tokens=200, seed=1)
def main(options: Options) -> Result:
    """Run the experiment."""
    encoder, decoder = Encoder.open("smollm2", OFFLINE), reader()
    twin = open_proxy(VANILLA)
    vanilla = Encoder(encoder.model, encoder.tokenizer, twin), reader(twin)
    measured = {}
    for name, mode in tracked(list(MODES.items()), "modes"):
        writer, its = vanilla if name.startswith("vanilla") else (encoder, decoder)
        written = generated(
            writer, options.texts, options.tokens, batch=options.texts, seed=options.seed, beacon=lambda _: (77, 5),
            **mode,
        )  # fmt: skip
        reports = [its.decode(generation.text) for generation in written]
        exact = [likeliest(r) == g.beacon.code for r, g in zip(reports, written, strict=True)]
        measured[name] = {
            "exact": rate(sum(exact), len(exact)),
            "hit rate": round(float(np.mean([r.hits / max(r.scored, 1) for r in reports])), 3),
            "hit rate of a wrong code": round(float(np.mean([r.expected / max(r.scored, 1) for r in reports])), 3),
            "median p": float(np.median([r.p_value for r in reports])),
        }
    return {"modes": measured}


if __name__ == "__main__":
    main()

"""How often is the 20-bit code read back exactly?

SmolLM2 writes texts of a fixed length from news-like prompts for registered providers, each with a nonce of its own.
The public decoder reads them, with the registry and with one that lists nobody. Exact: the decoder's best code is the
one that was written. Detected: its p-value passes, too.
"""

from __future__ import annotations

import numpy as np

from ctwl_encoder import Encoder
from ctwl_protocol.registry import bundled

from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked
from ..shared.measures import rate
from ..shared.outcomes import LEVEL
from ..shared.prompts import generated
from ..shared.readers import likeliest, reader


@experiment(quick={"texts": 2, "tokens": 60}, texts=104, tokens=100, batch=8, seed=1)
def main(options: Options) -> Result:
    """Run the experiment."""
    encoder, registry = Encoder.open("smollm2", OFFLINE), bundled()
    decoder = reader(registry=registry)
    alike = reader(decoder.proxy, registry=registry.without_entries())  # to it all codes are alike
    registered = registry.registry.beacons()
    written = generated(
        encoder, options.texts, options.tokens, batch=options.batch, seed=options.seed,
        beacon=lambda start: registered[start % len(registered)],
    )  # fmt: skip
    codes = np.array([generation.beacon.code for generation in written])
    reports, others = (
        [each.decode(generation.text) for generation in tracked(written, "reading")] for each in (decoder, alike)
    )
    exact, exact_of_others = (codes == np.array([likeliest(report) for report in each]) for each in (reports, others))
    p_values, of_others = (np.array([report.p_value for report in each]) for each in (reports, others))
    hits, expected, scored = np.array([(report.hits, report.expected, report.scored) for report in reports]).T
    return {
        "exact": rate(int(exact.sum()), options.texts),
        "detected": {
            f"p <= {level}": rate(int((exact & (p_values <= level)).sum()), options.texts)
            for level in (1e-3, 1e-4, 1e-5, 1e-6)
        },
        "provider not registered": {
            "exact": rate(int(exact_of_others.sum()), options.texts),
            "found": rate(int((exact_of_others & (of_others <= LEVEL)).sum()), options.texts),
        },
        "median p": float(np.median(p_values)),
        "hit rate of exact ones": float((hits / scored)[exact].mean()) if exact.any() else None,
        "hit rate of a wrong code": float((expected / scored).mean()),
        "positions lost to re-tokenization": float(np.mean([generation.lost for generation in written])),
    }


if __name__ == "__main__":
    main()

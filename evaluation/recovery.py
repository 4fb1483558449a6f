"""How often is the 20-bit code read back exactly?

Texts of a fixed length from news-like prompts, each with a nonce of its own; SmolLM2 writes for registered providers,
the public decoder reads, with the registry and with one that lists nobody. Exact: the decoder's best code is the one
that was written. Detected: its p-value passes.

    python evaluation/recovery.py --out evaluation/results/recovery.json
"""

from __future__ import annotations

import numpy as np
from common import OFFLINE, arguments, kept, news_prompts, rate, registries, settings, tracked, write

from ctwl_decoder import Decoder
from ctwl_encoder import Encoder
from ctwl_protocol.proxy import open_proxy


def main() -> None:
    """Run the experiment."""
    options = arguments(
        __doc__, texts=104, tokens=100, batch=8, seed=1, strategy="unbiased", delta=2.0, temperature=1.0, top_p=1.0,
        skip_repeats=0,
    )  # fmt: skip
    encoder = Encoder.open("smollm2", OFFLINE)
    proxy, (trusted, nobody) = open_proxy(OFFLINE, fast=True), registries()
    observe = kept(proxy)
    decoder, alike = (Decoder(proxy, observe, registry=registry) for registry in (trusted, nobody))
    prompts, registered = news_prompts(options.texts), trusted.registry.beacons()
    rows, others = [], []
    for start in tracked(range(0, options.texts, options.batch), "recovery"):
        written = encoder.generate(
            prompts[start : start + options.batch],
            *registered[start % len(registered)],
            strategy=options.strategy,
            delta=options.delta,
            temperature=options.temperature,
            top_p=options.top_p,
            skip_repeats=bool(options.skip_repeats),
            max_new_tokens=options.tokens,
            min_new_tokens=options.tokens,
            seed=options.seed + start,
        )
        for generation in written:
            report, other = decoder.decode(generation.text), alike.decode(generation.text)
            rows.append((report.code == generation.beacon.code, report.p_value, generation, report))
            others.append((other.code == generation.beacon.code, other.p_value))
    p_values, of_others = np.array([p for _, p, _, _ in rows]), np.array([p for _, p in others])
    write(
        {
            "experiment": "recovery",
            "settings": settings(options, model="smollm2", profile=OFFLINE),
            "exact": rate(sum(exact for exact, *_ in rows), len(rows)),
            "detected": {
                f"p <= {level}": rate(int((p_values <= level).sum()), len(rows)) for level in (1e-3, 1e-4, 1e-5, 1e-6)
            },
            "provider not registered": {
                "exact": rate(sum(exact for exact, _ in others), len(others)),
                "p <= 0.0001": rate(int((of_others <= 1e-4).sum()), len(others)),
            },
            "wrong code at p <= 1e-3": sum(not exact and p <= 1e-3 for exact, p, _, _ in rows),
            "median p": float(np.median(p_values)),
            "median expected p": float(np.median([2**g.expected_log2_p for _, _, g, _ in rows])),
            "hit rate of exact ones": float(np.mean([r.hits / r.scored for e, _, _, r in rows if e])),
            "hit rate of a wrong code": float(np.mean([r.expected / r.scored for *_, r in rows])),
            "positions scored": float(np.mean([r.scored for *_, r in rows])),
            "positions lost to re-tokenization": float(np.mean([g.lost for _, _, g, _ in rows])),
        },
        options.out,
    )


if __name__ == "__main__":
    main()

"""Is a private profile's code read by its owner as a public one is, and by nobody else?

SmolLM2 writes texts of a fixed length under three profiles with the same numbers: the public one, a provider's private
one, and a user's exclusive one. The owner decodes each, in full and cut to 100 tokens. To outsiders, readers by the
public profile and by another user's, the texts of the two secret profiles must look like human text: the p-value of
one code chosen beforehand is exactly uniform, that of the best of all codes uniform or above.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ctwl_decoder import Report
from ctwl_encoder import Encoder
from ctwl_encoder.models import load_model
from ctwl_protocol import Profile
from ctwl_protocol.profile.private import for_user
from ctwl_protocol.proxy import open_proxy

from ..shared.experiment import OFFLINE, Options, Result, experiment
from ..shared.measures import rate
from ..shared.outcomes import LEVEL
from ..shared.prompts import generated
from ..shared.readers import first_tokens, likeliest, reader
from .false_positives import judge, summary

_SHORTER = 100


def rates(codes: list[int], reports: list[Report]) -> dict[str, Any]:
    """How often the owner read the code, and was sure of it."""
    exact = np.array(codes) == np.array([likeliest(report) for report in reports])
    p_values = np.array([report.p_value for report in reports])
    return {
        "exact": rate(int(exact.sum()), len(codes)),
        "detected at p <= 1e-4": rate(int((exact & (p_values <= LEVEL)).sum()), len(codes)),
        "median p": float(np.median(p_values)),
    }


@experiment(quick={"texts": 4, "tokens": 100}, texts=104, tokens=150, batch=8, seed=1)
def main(options: Options) -> Result:
    """Run the experiment."""
    if options.tokens < _SHORTER:
        raise SystemExit(f"--tokens is at least {_SHORTER}: texts are decoded cut to that, too")
    rng = np.random.default_rng(options.seed)
    proxy = open_proxy(OFFLINE)
    model, tokenizer = load_model("smollm2")
    provider = proxy.profile.model_copy(update={"name": "com.example.mark.1", "key": rng.bytes(32)})
    user, other = for_user(provider, "ann@example.com"), for_user(provider, "bob@example.com")
    profiles: dict[str, Profile] = {"public": proxy.profile, "private": provider, "user": user}
    outsiders: dict[str, Profile] = {"public": proxy.profile, "another user": other}
    owners: dict[str, dict[str, Any]] = {who: {} for who in profiles}
    found: dict[str, list[dict[str, float]]] = {outsider: [] for outsider in outsiders}
    for who, profile in profiles.items():
        encoder = Encoder(model, tokenizer, proxy.shared_with(profile))
        decoder = reader(proxy.shared_with(profile))
        written = generated(encoder, options.texts, options.tokens, batch=options.batch, seed=options.seed)
        codes, texts = [each.beacon.code for each in written], [each.text for each in written]
        for length in sorted({_SHORTER, options.tokens}):
            cut = [first_tokens(proxy.tokenizer, text, length) for text in texts]
            owners[who][f"{length} tokens"] = rates(codes, [decoder.decode(text) for text in cut])
        if who == "public":
            continue
        for outsider, profile_of in outsiders.items():
            theirs = reader(proxy.shared_with(profile_of))
            chosen = rng.integers(profile_of.codes, size=len(texts)).tolist()
            found[outsider] += [
                judge(theirs, text, code, rng.random()) for text, code in zip(texts, chosen, strict=True)
            ]
    return {"owners": owners, "outsiders": {outsider: summary(rows) for outsider, rows in found.items()}}


if __name__ == "__main__":
    main()

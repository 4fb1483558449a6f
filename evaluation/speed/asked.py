"""How often does ``delta`` ask the proxy LM?

An encoder that knows how tokens are chosen asks only where the answer can matter (spec section 8.2). The experiment
counts the prefixes that the proxy LM weighs for a token of text, the first tokens left out, which carry nothing; the
machine makes no difference. An encoder that always asks weighs one at least. SmolLM2 writes, sampled at two
temperatures and greedy, at several strengths.
"""

from __future__ import annotations

from itertools import product
from unittest.mock import patch

from ctwl_encoder import Encoder

from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked
from ..shared.prompts import generated

TEMPERATURES = (1.0, 0.7, 0.0)
DELTAS = (1.0, 2.0, 4.0)


def prefixes_a_token(encoder: Encoder, temperature: float, delta: float, options: Options) -> float:
    """Prefixes that are weighed for each token that may be marked."""
    texts, tokens = options.texts, options.tokens
    with patch.object(encoder.proxy, "weights", wraps=encoder.proxy.weights) as weigh:
        generated(
            encoder, texts, tokens, batch=texts, seed=options.seed, beacon=lambda _: (42, 1), strategy="delta",
            delta=delta, temperature=temperature,
        )  # fmt: skip
    prefixes = sum(len(call.args[0]) for call in weigh.call_args_list)
    return float(prefixes / (texts * (tokens - encoder.proxy.profile.prefix_length)))


@experiment(quick={"texts": 2, "tokens": 20}, texts=8, tokens=110, seed=1)
def main(options: Options) -> Result:
    """Run the experiment."""
    encoder = Encoder.open("smollm2", OFFLINE)
    rows = []
    for temperature, delta in tracked(list(product(TEMPERATURES, DELTAS)), "asked"):
        prefixes = prefixes_a_token(encoder, temperature, delta, options)
        rows.append({"temperature": temperature, "delta": delta, "windows a token": round(prefixes, 3)})
    return {"rows": rows}


if __name__ == "__main__":
    main()

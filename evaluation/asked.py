"""How often does ``delta`` ask the proxy?

An encoder that knows how tokens are chosen asks only where the answer can matter (spec section 8.2). Counted, whatever
the machine: the windows that the proxy weighs for a token of text behind the first ones, which carry nothing. One that
always asks weighs one at least. Texts by SmolLM2, sampled at two temperatures and greedy, for several strengths.

    python evaluation/asked.py --out evaluation/results/asked.json
"""

from __future__ import annotations

from itertools import product
from unittest.mock import patch

from common import OFFLINE, arguments, news_prompts, settings, tracked, write

from ctwl_encoder import Encoder

TEMPERATURES = (1.0, 0.7, 0.0)
DELTAS = (1.0, 2.0, 4.0)


def windows_a_token(encoder: Encoder, temperature: float, delta: float, texts: int, tokens: int, seed: int) -> float:
    """Windows that are weighed for each token that may be marked."""
    with patch.object(encoder.proxy, "weights", wraps=encoder.proxy.weights) as weigh:
        encoder.generate(
            news_prompts(texts), 42, 1, strategy="delta", delta=delta, temperature=temperature, seed=seed,
            max_new_tokens=tokens, min_new_tokens=tokens,
        )  # fmt: skip
    windows = sum(len(call.args[0]) for call in weigh.call_args_list)
    return windows / (texts * (tokens - encoder.proxy.profile.prefix_length))


def main() -> None:
    """Run the experiment."""
    options = arguments(__doc__, quick={"texts": 2, "tokens": 20}, texts=8, tokens=110, seed=1)
    encoder = Encoder.open("smollm2", OFFLINE)
    rows = [
        {
            "temperature": temperature,
            "delta": delta,
            "windows a token": round(
                windows_a_token(encoder, temperature, delta, options.texts, options.tokens, options.seed), 3
            ),
        }
        for temperature, delta in tracked(list(product(TEMPERATURES, DELTAS)), "asked")
    ]
    write(
        {"experiment": "asked", "settings": settings(options, model="smollm2", profile=OFFLINE), "rows": rows},
        options.out,
    )


if __name__ == "__main__":
    main()

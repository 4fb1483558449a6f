"""How much of the mark is lost where the tokens of provider and proxy LM end at different places?

SmolLM2 writes with its own vocabulary, which is the proxy's too, and with the genuine vocabularies of other families
in its place (``shared/transplant.py``). So all that differs is the bridge. The texts go on with news items, by the
default strategy of each way of sampling, and are read in their first tokens.

- marked: of the model's tokens, the share that the encoder marked; and of these, the share that the reader's tokens
  have as the encoder expected.
- evidence: the log-likelihood ratio of the written code by the proxy LM, over the entropy that the choice of the same
  tokens had, both in nats; and that beside the row with one vocabulary: the share that the bridge keeps.
- found: by the decoder at its default level, for a registered provider.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ctwl_decoder import Decoder
from ctwl_decoder.statistics.scores import NAT
from ctwl_protocol.proxy import open_proxy

from ..shared.answers import OWN, Answer, Writing, prompts_of
from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked
from ..shared.measures import mean, rate
from ..shared.outcomes import own_score
from ..shared.readers import reader, scored_positions

SETTINGS = ((0.7, 0.95), (1.0, 1.0))
"""Temperature and top-p."""


def measured(decoder: Decoder, written: Sequence[Answer]) -> dict[str, Any]:
    """One row of the table."""
    texts = [answer.whole for answer in written]
    score = own_score(texts[0].strategy.value)
    nats = []
    for text in texts:
        scored = scored_positions(decoder.proxy, decoder.tokenizer.encode(text.text))[score]
        nats.append(scored[scored.first_occurrences()].contributions(text.beacon.code).sum() / NAT)
    choice = np.array([sum(answer.choice) for answer in written])
    marked, tokens = (sum(getattr(text, name) for text in texts) for name in ("marked", "tokens"))
    right = sum(decoder.decode(text.text).code == text.beacon.code for text in texts)
    return {
        "strategy": texts[0].strategy.value,
        "tokens": round(tokens / len(texts), 1),
        "proxy tokens": round(float(np.mean([len(decoder.tokenizer.encode(text.text)) for text in texts])), 1),
        "marked": round(marked / tokens, 3),
        "marked positions seen by the reader": round(1 - sum(text.lost for text in texts) / marked, 4),
        "entropy of the choice": round(float(choice.sum() / tokens), 3),
        "evidence, of the choice": mean(np.array(nats) / choice),
        "found": rate(right, len(texts)),
    }


@experiment(
    quick={"texts": 2, "tokens": 60, "vocabularies": "smollm2 gpt2"},
    vocabularies="smollm2 gpt2 mistral tekken qwen", texts=40, tokens=200, seed=1, batch=40,
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the experiment; the first vocabulary is the proxy's own."""
    decoder, rows = reader(open_proxy(OFFLINE)), list[dict[str, Any]]()
    for vocabulary in tracked(options.vocabularies.split(), "vocabularies"):
        for temperature, top_p in SETTINGS:
            writing = Writing(vocabulary, temperature, top_p, options.tokens, seed=options.seed, batch=options.batch)
            written = [each for each in writing.answers(prompts_of(OWN, "prose", options.texts)) if sum(each.choice)]
            rows.append({"vocabulary": vocabulary, "temperature": temperature, "top-p": top_p})
            rows[-1] |= measured(decoder, written)
    return {"rows": rows}


if __name__ == "__main__":
    main()

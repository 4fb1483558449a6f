"""What does it cost to mark each context only once in a text?

Only so the whole text keeps the model's probabilities on average over codes, and not each step alone. A provider with a
large vocabulary (SmolLM2 over Tekken's 131,072 tokens, ``shared/transplant.py``) writes texts from the same prompts and
seeds in two ways: contexts that come back are marked, or left alone. The public reads them with the offline profile's
proxy. Stated for each way: how many texts are found with their code, the hit rate, and at each step the NLL that is
expected under what was marked, less that of what was not; the model's own distribution is meant, after temperature and
top-p.
"""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import patch

import numpy as np
import torch

from ctwl_encoder import Encoder
from ctwl_encoder.core.device.marker import DeviceMarker
from ctwl_encoder.core.text_state import TextState
from ctwl_protocol.proxy import open_proxy

from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked
from ..shared.measures import mean, rate
from ..shared.outcomes import LEVEL, own_score, seen
from ..shared.prompts import generated
from ..shared.readers import first_tokens, reader
from ..shared.transplant import provider

SETTINGS = (("unbiased", 1.0, 1.0), ("gumbel", 0.7, 0.95))
"""Strategy, temperature, top-p."""

WAYS = {"marked": False, "left alone": True}
"""What becomes of contexts that come back, and ``skip_repeats``."""


class Watched(DeviceMarker):
    """A marker that notes by how much the expected NLL changes: float64 (rows,) a step."""

    changes: list[np.ndarray]

    def mark(self, texts: Sequence[TextState], logits: torch.Tensor, *, wait: bool = True) -> None:
        """See :meth:`DeviceMarker.mark`."""
        before = logits.log_softmax(dim=1)
        super().mark(texts, logits, wait=wait)
        moved = logits.softmax(dim=1) - before.exp()
        self.changes.append(-(moved * before.masked_fill(before.isneginf(), 0.0)).double().sum(dim=1).numpy())


@experiment(quick={"texts": 2, "tokens": 40}, texts=100, tokens=150, batch=25, seed=1)
def main(options: Options) -> Result:
    """Run the experiment."""
    decoder = reader()
    encoder = Encoder(*provider("tekken"), open_proxy(OFFLINE))
    batch, length = min(options.batch, options.texts), round(1.2 * options.tokens)
    rows = []
    for strategy, temperature, top_p in SETTINGS:
        for way, skip_repeats in tracked(list(WAYS.items()), strategy):
            Watched.changes = []
            with patch("ctwl_encoder.integrations.transformers.processor.DeviceMarker", Watched):
                texts = generated(
                    encoder, options.texts, length, batch=batch, seed=options.seed, strategy=strategy,
                    temperature=temperature, top_p=top_p, skip_repeats=skip_repeats,
                )  # fmt: skip
            change = np.stack(Watched.changes).reshape(-1, length, batch).mean(axis=1).reshape(-1)
            shown = [first_tokens(decoder.tokenizer, text.text, options.tokens) for text in texts]
            reports = [decoder.decode(text, score="whole") for text in shown]
            counted = [seen(decoder.proxy, generation, options.tokens, own_score(strategy)) for generation in texts]
            right = [
                report.code == generation.beacon.code and report.p_value <= LEVEL
                for report, generation in zip(reports, texts, strict=True)
            ]
            rows.append(
                {
                    "strategy": strategy, "temperature": temperature, "top-p": top_p, "repeats": way,
                    "found with its code": rate(sum(right), len(right)),
                    "hit rate": round(float(np.mean([each["hits"] for each in counted])), 4),
                    "hit rate of a wrong code": round(float(np.mean([each["wrong"] for each in counted])), 4),
                    "change of the expected NLL, nats a token": mean(change),
                }
            )  # fmt: skip
    return {"settings": {"provider's vocabulary": "tekken"}, "rows": rows}


if __name__ == "__main__":
    main()

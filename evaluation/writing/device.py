"""Does marking on the device write what the NumPy reference writes?

A provider with a large vocabulary (SmolLM2 over Tekken's 131,072 tokens, ``shared/transplant.py``) writes texts from
the same prompts and seeds in two ways: as the encoder marks, with torch, and by the NumPy functions that define the
strategies (spec sections 8.3 and 8.4). A third way marks on the device, and each context only once in a text: only so
the whole text keeps the model's probabilities. The public reads them with the offline profile's proxy. Stated for each
way: how many texts are found with their code, the hit rate, and at each step the NLL that is expected under what was
marked, less that of what was not; the model's own distribution is meant, after temperature and top-p.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import eq
from unittest.mock import patch

import numpy as np
import torch

from ctwl_encoder import Encoder
from ctwl_encoder.core.device.marker import DeviceMarker
from ctwl_encoder.core.host import HostMarker
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


def by_reference() -> Callable[..., None]:
    """Marks as :meth:`ctwl_encoder.core.device.marker.DeviceMarker.mark` does, by NumPy."""
    markers: dict[int, HostMarker] = {}

    def mark(marker: DeviceMarker, texts: Sequence[TextState], logits: torch.Tensor) -> None:
        own = markers.setdefault(id(marker), HostMarker(marker.bridge, marker.strategy))
        own.mark(texts, logits.numpy())

    return mark


WAYS = {
    "device": (DeviceMarker.mark, False),
    "reference": (by_reference(), False),
    "device, repeats skipped": (DeviceMarker.mark, True),
}
"""How to mark, and whether each context is marked only once in a text."""


def watched(mark: Callable[..., None], changes: list[np.ndarray]) -> Callable[..., None]:
    """A way of marking that notes by how much the expected NLL changes: float64 (rows,) a step."""

    def wrapper(marker: DeviceMarker, texts: Sequence[TextState], logits: torch.Tensor) -> None:
        before = logits.log_softmax(dim=1)
        mark(marker, texts, logits)
        moved = logits.softmax(dim=1) - before.exp()
        changes.append(-(moved * before.masked_fill(before.isneginf(), 0.0)).double().sum(dim=1).numpy())

    return wrapper


@experiment(quick={"texts": 2, "tokens": 40}, texts=100, tokens=150, batch=25, seed=1)
def main(options: Options) -> Result:
    """Run the experiment."""
    decoder = reader()
    encoder = Encoder(*provider("tekken"), open_proxy(OFFLINE))
    batch, length = min(options.batch, options.texts), round(1.2 * options.tokens)
    rows = []
    for strategy, temperature, top_p in SETTINGS:
        written = dict[str, list[str]]()
        for way, (mark, skip_repeats) in tracked(list(WAYS.items()), strategy):
            changes: list[np.ndarray] = []
            with patch.object(DeviceMarker, "mark", watched(mark, changes)):
                texts = generated(
                    encoder, options.texts, length, batch=batch, seed=options.seed, strategy=strategy,
                    temperature=temperature, top_p=top_p, skip_repeats=skip_repeats,
                )  # fmt: skip
            written[way] = [generation.text for generation in texts]
            change = np.stack(changes).reshape(-1, length, batch).mean(axis=1).reshape(-1)
            shown = [first_tokens(decoder.tokenizer, text, options.tokens) for text in written[way]]
            reports = [decoder.decode(text, score="whole") for text in shown]
            counted = [seen(decoder.proxy, generation, options.tokens, own_score(strategy)) for generation in texts]
            right = [
                report.code == generation.beacon.code and report.p_value <= LEVEL
                for report, generation in zip(reports, texts, strict=True)
            ]
            rows.append(
                {
                    "strategy": strategy, "temperature": temperature, "top-p": top_p, "way": way,
                    "found with its code": rate(sum(right), len(right)),
                    "hit rate": round(float(np.mean([each["hits"] for each in counted])), 4),
                    "hit rate of a wrong code": round(float(np.mean([each["wrong"] for each in counted])), 4),
                    "change of the expected NLL, nats a token": mean(change),
                    "texts equal to the device's": sum(map(eq, written[way], written["device"])),
                }
            )  # fmt: skip
    return {"settings": {"provider's vocabulary": "tekken"}, "rows": rows}


if __name__ == "__main__":
    main()

"""What does a step of marking cost beside the step of a real model with a large vocabulary?

Qwen2.5-Coder-0.5B, with its own vocabulary of 151,936 tokens, reads different texts as a server writes them: token by
token, with its cache, in bfloat16 on the processor. At each step its logits are drawn from by the plain sampler
(softmax and multinomial), and marked: the new tokens are read, the places are planned, and all rows are marked. Seconds
are those of the processor, so other work on the machine counts little; the ratios say most. A larger model takes longer
for its step, and marking does not.
"""

from __future__ import annotations

import pydoc_data.topics
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
import torch

from ctwl_encoder import Bridge
from ctwl_encoder.core.device.marker import DeviceMarker
from ctwl_encoder.core.strategies import Strategy
from ctwl_protocol.proxy import open_proxy
from ctwl_protocol.text.normalization import normalize

from ..shared import real_models
from ..shared.experiment import OFFLINE, SAMPLED, Options, Result, experiment
from .serving import WARM_UP, started

T = TypeVar("T")
MODEL = "qwen2.5-coder-0.5b"
BATCHES = (1, 8, 32)
PAST = 100
"""Tokens that each text has before the first step."""


class Marking:
    """Texts that are marked by one strategy, each with another code, by a marker that is as new as its server."""

    def __init__(self, bridge: Bridge, strategy: Strategy, count: int) -> None:
        self._marker = DeviceMarker(bridge, strategy)
        self._marker.warm_up_host()
        self._texts = started(self._marker, count)

    def step(self, logits: torch.Tensor, tokens: list[int]) -> None:
        """Mark a step's logits, float32 (rows, size), in place; then the texts have these tokens."""
        self._marker.mark(self._texts, logits)
        self._marker.extend(self._texts, tokens)


def drawn(logits: torch.Tensor) -> torch.Tensor:
    """The plain sampler."""
    return torch.multinomial(torch.softmax(logits, dim=-1), 1)


def timed(call: Callable[..., T], *given: Any, **named: Any) -> tuple[float, T]:
    """Seconds of the processor that a call takes, and what it gives."""
    start = time.process_time()
    found = call(*given, **named)
    return time.process_time() - start, found


def steps(model: Any, markings: Mapping[str, Marking], tokens: torch.Tensor) -> Iterator[dict[str, float]]:
    """Seconds of the parts of each step of a batch, int64 (rows, PAST + steps)."""
    given = model(tokens[:, :PAST], use_cache=True, logits_to_keep=1)
    for column in tokens[:, PAST:].T:
        past = given.past_key_values
        took, given = timed(model, column[:, None], past_key_values=past, use_cache=True)
        logits = given.logits[:, -1].float()
        parts = {"model": took, "plain sampler": timed(drawn, logits)[0]}
        parts |= {name: timed(each.step, logits.clone(), column.tolist())[0] for name, each in markings.items()}
        yield parts


@experiment(quick={"steps": 26, "batches": "1"}, steps=48, batches=",".join(map(str, BATCHES)))
def main(options: Options) -> Result:
    """Run the benchmark; ``batches`` are numbers of texts, with commas between."""
    model, tokenizer = real_models.load(MODEL)
    proxy, rows = open_proxy(OFFLINE), []
    ids = np.array(tokenizer(normalize(" ".join(pydoc_data.topics.topics.values())))["input_ids"])
    for batch in map(int, options.batches.split(",")):
        tokens = torch.from_numpy(ids[: len(ids) // batch * batch].reshape(batch, -1)[:, : PAST + options.steps])
        markings = {each.value: Marking(Bridge(tokenizer, proxy), each, batch) for each in SAMPLED}
        with torch.inference_mode():
            parts = list(steps(model, markings, tokens))[WARM_UP:]
        medians = {name: float(np.median([part[name] for part in parts])) for name in parts[0]}
        over = {name: round(value / medians["model"], 4) for name, value in medians.items() if name != "model"}
        milliseconds = {name: round(1e3 * value, 2) for name, value in medians.items()}
        rows.append({"batch": batch, "milliseconds": milliseconds, "of the model's step": over})
    settings = {"model": MODEL, "vocabulary": model.config.vocab_size, "past": PAST, "steps before the clock": WARM_UP}
    return {"settings": settings, "rows": rows}


if __name__ == "__main__":
    main()

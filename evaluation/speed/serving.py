"""What does marking cost a server at each step, on the device and on the host?

Rows of a batch are different texts, with the logits of SmolLM2 over a provider's vocabulary at their places. At each
step all texts grow by a token, and all rows are marked. Each setting has a bridge of its own, so no tail is known but
those of the steps of the warm-up. The time is split in three:

- before the logits: reading the new tokens and planning the places, which a server does during its forward pass;
- on the device: softmax, and the strategy's passes over the vocabulary;
- after the logits: tokenizing candidates that merge with a tail and were not known.

Here the device is the processor: its passes over the vocabulary empty the processor's caches at each step, and the host
begins with empty ones. On a server with a GPU they do not, and candidates are tokenized during the next step's forward
pass. So the host's work is measured by itself too, in its two parts, with what the device reported at each step: when
tails are new, and once more when they are known. Other work on the machine only adds to it, so it is measured several
times, and the least counts.

Beside them the plain sampler on the same logits, torch's softmax and multinomial; and the bytes that are copied to the
device and back, for a row.
"""

from __future__ import annotations

import pydoc_data.topics
import time
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, TypeVar
from unittest.mock import patch

import numpy as np
import torch
from numpy.typing import NDArray

from ctwl_encoder import Bridge
from ctwl_encoder.core.device import marker as device_marker
from ctwl_encoder.core.device import merging
from ctwl_encoder.core.device.forms import has_kernels
from ctwl_encoder.core.device.marker import DeviceMarker
from ctwl_encoder.core.payload import Payload
from ctwl_encoder.core.strategies import Strategy
from ctwl_encoder.core.strategies.race.shares import SHARE
from ctwl_encoder.models import load_model
from ctwl_protocol.proxy import open_proxy
from ctwl_protocol.text.normalization import normalize

from ..shared.experiment import OFFLINE, SAMPLED, Options, Result, experiment, tracked
from ..shared.transplant import provider, tokenizer_of

T = TypeVar("T")
BATCHES = (1, 8, 64, 256)
LARGE = ("tekken", "qwen")
"""Families with large vocabularies."""

WARM_UP = 24
"""Steps before the clock runs: texts need ten tokens before they are marked, and caches begin to fill."""

RUNS = 5
"""How often the host's work is measured by itself."""

TOGETHER = 8
"""Texts that the model reads at a time."""


class Clock:
    """Seconds and bytes of each part of a step."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = {}

    def add(self, part: str, amount: float) -> None:
        """Add to a part of this step."""
        self.parts[part] = self.parts.get(part, 0.0) + amount

    def timed(self, part: str, call: Callable[..., T]) -> Callable[..., T]:
        """A function whose time counts."""

        def wrapped(*given: Any, **named: Any) -> T:
            start = time.perf_counter()
            found = call(*given, **named)
            self.add(part, time.perf_counter() - start)
            return found

        return wrapped


def recorded(family: str, rows: int, steps: int, device: str = "cpu") -> tuple[Any, np.ndarray, torch.Tensor]:
    """A tokenizer, tokens of different texts, int64 (rows, steps), and their logits, float16 (rows, steps, size)."""
    model, tokenizer = load_model("smollm2", "cpu") if family == "smollm2" else provider(family)
    model = model.to(device)
    text = normalize(" ".join(pydoc_data.topics.topics.values()))
    ids = np.array(tokenizer(text, add_special_tokens=False)["input_ids"])
    tokens = ids[: len(ids) // rows * rows].reshape(rows, -1)[:, :steps]
    logits = torch.empty((rows, steps, model.config.vocab_size), dtype=torch.float16, device=device)
    with torch.inference_mode():
        for start in tracked(range(0, rows, TOGETHER), f"{family}: reading"):
            part = slice(start, start + TOGETHER)
            logits[part] = model(torch.from_numpy(tokens[part]).to(device)).logits
    return tokenizer, tokens, logits


def stepped(
    marker: DeviceMarker, tokens: np.ndarray, logits: torch.Tensor
) -> tuple[list[dict[str, float]], dict[int, torch.Tensor]]:
    """Seconds and bytes of the parts of each step of a batch; and by step, the candidates that the device reported."""
    clock, steps, reported = Clock(), list[dict[str, float]](), dict[int, torch.Tensor]()
    texts = started(marker, len(tokens))

    def counted(tensor: torch.Tensor) -> Any:
        clock.add("bytes to the host", tensor.nbytes)
        if tensor.dim() == 2:  # the candidates that may merge
            reported[place] = tensor.clone()
        return tensor.cpu().numpy()

    with (
        patch.object(marker, "places", clock.timed("before", marker.places)),
        patch.object(marker.bridge, "join", clock.timed("after", marker.bridge.join)),
        patch.object(device_marker, "to_host", counted),
        patch.object(merging, "to_host", counted),
        torch.inference_mode(),
    ):
        for place in range(tokens.shape[1]):
            clock.parts = {}
            given = logits[:, place].float()
            start = time.perf_counter()
            torch.multinomial(torch.softmax(given, dim=-1), 1)
            plainly = time.perf_counter() - start
            places = marker.places(texts)
            start = time.perf_counter()
            with patch.object(marker, "places", return_value=places):
                marker.mark(texts, given)
            whole, again = time.perf_counter() - start, clock.parts.get("after", 0.0)
            clock.timed("before", marker.extend)(texts, tokens[:, place].tolist())
            arrays = (places.rows, places.place_of, places.seeds, places.joined, places.seen)
            steps.append(
                {
                    "plain sampler": plainly,
                    "host, before the logits": clock.parts["before"],
                    "device": whole - again,
                    "host, after the logits": again,
                    "bytes to the device": sum(array.nbytes for array in arrays),
                    "bytes to the host": clock.parts.get("bytes to the host", 0.0),
                }
            )
    return steps, reported


def started(marker: DeviceMarker, count: int) -> list[int]:
    """Texts of which nothing is written, each with another code."""
    return [marker.start(Payload((code,)), SHARE) for code in range(count)]


def measured(bridge: Bridge, strategy: Strategy, tokens: np.ndarray, logits: torch.Tensor) -> dict[str, Any]:
    """Medians over the steps for one batch, int64 (rows, steps)."""
    marker = DeviceMarker(bridge, strategy)
    marker.warm_up(logits.shape[2], logits.device)
    steps, reported = stepped(marker, tokens, logits)
    kept = {name: float(np.median([each[name] for each in steps[WARM_UP:]])) for name in steps[0]}
    alone = [host_alone(bridge, strategy, tokens, reported, logits.shape[2]) for _ in range(RUNS)]
    for which, again in ((0, ""), (1, ", tails known")):
        least = np.min([np.median(run[which][WARM_UP:], axis=0) for run in alone], axis=0).tolist()
        kept |= dict(zip((f"host alone, places{again}", f"host alone, candidates{again}"), least, strict=True))
    times = {name: round(1e3 * kept[name], 2) for name in kept if not name.startswith("bytes")}
    sizes = {f"{name}, a row": round(kept[name] / len(tokens)) for name in kept if name.startswith("bytes")}
    ratio = round(kept["device"] / kept["plain sampler"], 3)
    return {"milliseconds": times, **sizes, "device, over the plain sampler": ratio}


def host_alone(
    bridge: Bridge, strategy: Strategy, tokens: np.ndarray, reported: Mapping[int, torch.Tensor], size: int
) -> list[NDArray[np.float64]]:
    """Seconds of the host's work at each step, as on a server with a GPU: reading and places, then candidates.

    The logits are torch's "meta" tensors, which have a shape and no numbers, so nothing is done on a device. All of it
    is done twice: the second time, all tails are known, as most are on a server that has run for long.

    Args:
        bridge: from the model's vocabulary to the proxy's; a copy that remembers nothing is used.
        strategy: to mark by.
        tokens: int64 (rows, steps).
        reported: by step, the candidates that the device reported.
        size: of the vocabulary.

    Returns:
        Twice float64 (steps, 2).
    """
    cold, clock, found = copy(bridge), Clock(), []
    cold.forget()
    marker, logits = DeviceMarker(cold, strategy), torch.empty((len(tokens), size), device="meta")
    marker.warm_up_host()
    extend = clock.timed("places", marker.extend)
    with (
        patch.object(marker, "places", clock.timed("places", marker.places)),
        patch.object(marker._merging, "learn", clock.timed("candidates", marker._merging.learn)),
        patch.object(marker, "_chances", lambda texts, _: np.full(len(texts), 0.1, dtype=np.float32)),
        patch.object(merging, "merging") as recorded,
        patch.object(device_marker, "form_of", lambda *_: lambda *_: None),
    ):
        for _ in range(2):
            texts, steps = started(marker, len(tokens)), list[tuple[float, float]]()
            for place, written in enumerate(tokens.T.tolist()):
                clock.parts = {}
                recorded.return_value = reported.get(place)
                marker.mark(texts, logits, wait=False)
                extend(texts, written)
                steps.append((clock.parts["places"], clock.parts.get("candidates", 0.0)))
            found.append(np.array(steps))
    return found


@experiment(quick={"steps": 28}, steps=48)
def main(options: Options) -> Result:
    """Run the benchmark."""
    found, proxy = [], open_proxy(OFFLINE)
    for family in LARGE:
        tokenizer_of(family)  # one that is not installed is missed now, and not after minutes
    for family in tracked(("smollm2", *LARGE), "vocabularies"):
        tokenizer, tokens, logits = recorded(family, max(BATCHES), options.steps)
        for strategy in SAMPLED:
            for batch in BATCHES:
                row = measured(Bridge(tokenizer, proxy), strategy, tokens[:batch], logits[:batch])
                found.append(
                    {"family": family, "vocabulary": logits.shape[2], "strategy": strategy, "batch": batch, **row}
                )
    return {
        "settings": {
            "steps before the clock": WARM_UP,
            "runs of the host alone": RUNS,
            "device": "cpu",
            "kernels": "Triton" if has_kernels(torch.device("cpu")) else "plain torch",
        },
        "rows": found,
    }


if __name__ == "__main__":
    main()

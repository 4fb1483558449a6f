"""What does marking add to the steps of a server on a GPU?

A model of 8 billion random weights, and one of half a billion, write step by step in bfloat16. Each step is one CUDA
graph, as servers run theirs: random weights take the time of real ones. They say nothing; so the logits that are marked
are SmolLM2's over Qwen's vocabulary, at the places of real text. What marks them is what marks in the plug-ins
(``ctwl_engines.serving``), in the order of a server: the forward pass is queued; the host reads the tokens
of the step before, and plans the places; the mark and the draw are queued; the host waits for the drawn tokens.

Stated for each batch: milliseconds of a step without and with the mark, the median and the slowest of twenty. Caches of
words are empty at the first step, and the clock starts some steps later. Without a GPU, ``--quick`` runs everything on
the processor.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, StaticCache

from ctwl_encoder import Bridge
from ctwl_encoder.core.strategies import Strategy
from ctwl_engines.note import Note
from ctwl_engines.policy import Policy
from ctwl_engines.serving import Serving
from ctwl_protocol.proxy import open_proxy

from ..shared.experiment import OFFLINE, SAMPLED, Options, Result, experiment, tracked
from .serving import BATCHES, WARM_UP, recorded

FAMILY = "qwen"
WAYS = (None, *SAMPLED)
"""How a batch is marked; None for not at all."""

SHAPES = {
    "8B": {
        "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32,
        "num_key_value_heads": 8,
    },
    "0.5B": {
        "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14,
        "num_key_value_heads": 2,
    },
    "tiny": {
        "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
        "num_key_value_heads": 1,
    },
}  # fmt: skip
"""Of models: Qwen3-8B's, Qwen2.5-0.5B's, and one for ``--quick``."""

PAST = 512
"""Tokens that each text has before the first step."""

RUNS = 3
"""How often each way writes the texts, in turn with the others."""


def random_model(shape: str, vocabulary: int, device: torch.device) -> Any:
    """A model with random weights."""
    config = LlamaConfig(vocab_size=vocabulary, max_position_embeddings=4096, tie_word_embeddings=True, **SHAPES[shape])
    with torch.device(device):
        return AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()


class Forward:
    """Queues the forward pass of one step of a batch: as a CUDA graph on a GPU, which reads the same tensors each time.

    Attributes:
        cache: keys and values of the texts.
    """

    def __init__(self, model: Any, rows: int, steps: int) -> None:
        device, length = model.device, PAST + steps + WARM_UP
        self.cache = StaticCache(config=model.config, max_cache_len=length)
        self._model, self._given = model, {
            "input_ids": torch.full((rows, 1), 5, device=device),
            "position_ids": torch.full((rows, 1), PAST, device=device),
            "attention_mask": torch.zeros((rows, 1, 1, length), dtype=torch.bfloat16, device=device),
        }  # fmt: skip
        self._step()
        self._graph: torch.cuda.CUDAGraph | None = None
        if device.type == "cuda":
            beside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            beside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(beside):
                self._step()
            torch.cuda.current_stream().wait_stream(beside)
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._step()

    def __call__(self) -> None:
        """Queue one step."""
        if self._graph is None:
            self._step()
        else:
            self._graph.replay()

    def restart(self) -> None:
        """The texts are as long as before the first step."""
        for layer in self.cache.layers:
            layer.cumulative_length.fill_(PAST)

    def _step(self) -> None:
        self._model(**self._given, past_key_values=self.cache, use_cache=True)


class Server:
    """Texts that are marked as the plug-ins mark them, each with another code, from cold caches."""

    def __init__(self, bridge: Bridge, strategy: Strategy, size: int, rows: int, device: torch.device) -> None:
        policy = Policy(provider=1, strategy=strategy, profile=OFFLINE)
        cold = copy(bridge)
        cold.forget()
        self._serving, self._device = Serving(policy, cold), device
        self._serving.warm_up(size, device)
        begun = [self._serving.begin({}, 1.0, Note.drawn(str(row))) for row in range(rows)]
        self._served = [one for one in begun if one is not None]

    def mark(self, logits: torch.Tensor, tokens: Sequence[int]) -> None:
        """The texts have these tokens now, none at the first step; mark their next logits, float32 (rows, size)."""
        self._serving.extend(self._served, [[token] for token in tokens] or [[]] * len(self._served))
        self._serving.mark(logits, {row: (served, served.text) for row, served in enumerate(self._served)})
        self._serving.end_step(self._device)


def seconds_of(forward: Forward, server: Server | None, tokens: np.ndarray, logits: torch.Tensor) -> list[float]:
    """Seconds of the steps in which texts, int64 (rows, steps), are written, with their logits (rows, steps, size)."""
    took, last = list[float](), list[int]()
    for place in range(tokens.shape[1]):
        start = time.perf_counter()
        forward()
        given = logits[:, place].float()
        if server is not None:
            server.mark(given, last)
        torch.multinomial(torch.softmax(given, dim=-1), 1).tolist()
        took.append(time.perf_counter() - start)
        last = tokens[:, place].tolist()
    return took[min(WARM_UP, len(took) // 2) :]


def measured(model: Any, bridge: Bridge, tokens: np.ndarray, logits: torch.Tensor) -> dict[str, Any]:
    """What each way takes for one batch."""
    device, rows, size = model.device, len(tokens), logits.shape[2]
    forward = Forward(model, rows, tokens.shape[1])
    seconds: dict[Strategy | None, list[float]] = {way: [] for way in WAYS}
    for _ in range(RUNS):
        for way in WAYS:
            server = None if way is None else Server(bridge, way, size, rows, device)
            forward.restart()
            seconds[way] += seconds_of(forward, server, tokens, logits)
    found: dict[str, Any] = {}
    for way in WAYS:
        middle, slow = (round(1e3 * float(np.quantile(seconds[way], share)), 3) for share in (0.5, 0.95))
        found[way or "unmarked"] = {"milliseconds": middle, "slowest of twenty": slow}
    return found


@experiment(
    quick={"steps": 4, "shapes": "tiny", "batches": "2"}, steps=64, shapes="0.5B,8B",
    batches=",".join(map(str, BATCHES)),
)  # fmt: skip
def main(options: Options) -> Result:
    """Run the benchmark; ``shapes`` and ``batches`` are lists with commas."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cpu" and options.shapes != "tiny":
        sys.exit("there is no GPU here; --quick runs everything once on the processor")
    batches = [int(each) for each in options.batches.split(",")]
    tokenizer, tokens, logits = recorded(FAMILY, max(batches), options.steps, device.type)
    bridge, rows = Bridge(tokenizer, open_proxy(OFFLINE)), []
    for shape in options.shapes.split(","):
        model = random_model(shape, logits.shape[2], device)
        for batch in tracked(batches, shape):
            with torch.inference_mode():
                rows.append({"shape": shape, "batch": batch, **measured(model, bridge, tokens[:batch], logits[:batch])})
        del model
    settings = {
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "vocabulary": logits.shape[2], "past": PAST, "steps before the clock": WARM_UP, "runs": RUNS,
    }  # fmt: skip
    return {"settings": settings, "rows": rows}


if __name__ == "__main__":
    main()

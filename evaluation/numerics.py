"""How far do other ways of running the proxy lie from the reference, and how fast are they?

The reference is fp32 on a CPU in the decoder's batches. Compared with it, over documentation that people wrote: another
batch size, plain (unpacked) layers, layers in 16-bit integers and in bfloat16, all in bfloat16, torch's dynamic int8,
and rounding to 8 bits with a scale for each row, computed in float32: no 8-bit matrix product with such scales can be
nearer. For each, the mean total variation between weight distributions, the share of memberships of observed tokens
that differ, over all colours, and the median time of a forward pass over 64 windows, the ways in turn.
The integers need an x86 processor with AVX2, torch.compile a C++ compiler; ONNX Runtime is compared where it and
onnxscript are installed, which nothing else needs.

    python evaluation/numerics.py --out evaluation/results/numerics.json
"""

from __future__ import annotations

import pydoc_data.topics
import shutil
import tempfile
import warnings
from functools import partial
from importlib import import_module, util
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import plain_model
from experiment import OFFLINE, Options, Result, experiment, interleaved, tracked
from numpy.typing import NDArray

from ctwl_decoder.statistics.evidence import observe
from ctwl_protocol.partition.reference import is_member
from ctwl_protocol.proxy import Proxy, open_proxy
from ctwl_protocol.proxy.integers import multiplies_integers
from ctwl_protocol.proxy.model import last_logits, pack
from ctwl_protocol.text.positions import Positions, positions

Weights = NDArray[np.uint32]


class Variant(Proxy):
    """The offline proxy run in another way."""

    def __init__(self, reference: Proxy, model: Any, batch_size: int) -> None:
        super().__init__(reference.profile, reference.tokenizer, model, batch_size=batch_size)
        self._loaded = model  # not packed


class Last(torch.nn.Module):
    """What is asked of a model, as a module."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, windows: torch.Tensor) -> torch.Tensor:
        """Logits behind windows."""
        return last_logits(self.model, windows)


class OnnxVariant(Variant):
    """The offline proxy in ONNX Runtime."""

    def __init__(self, reference: Proxy, model: Any) -> None:
        super().__init__(reference, model, 32)
        windows = torch.zeros((2, reference.profile.prefix_length), dtype=torch.int64)
        shapes = {"windows": {0: torch.export.Dim("windows", min=2, max=1024)}}
        onnxruntime: Any = import_module("onnxruntime")
        exported: Any = torch.onnx.export(
            Last(model), (windows,), dynamo=True, dynamic_shapes=shapes, input_names=["windows"], verbose=False
        )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        with tempfile.TemporaryDirectory() as folder:
            exported.save(file := str(Path(folder) / "proxy.onnx"))
            self._session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])

    def forward(self, windows: NDArray[np.int64]) -> torch.Tensor:
        """The session's logits."""
        return torch.from_numpy(self._session.run(None, {"windows": windows})[0])


class Rounded(torch.nn.Module):
    """A linear layer whose weights and inputs are rounded to so many bits each, see :func:`rounded`."""

    def __init__(self, layer: torch.nn.Linear, weights: int, inputs: int) -> None:
        super().__init__()
        self.weight, self.inputs = rounded(layer.weight, weights), inputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of inputs by position."""
        return torch.nn.functional.linear(rounded(x, self.inputs), self.weight)


def rounded(rows: torch.Tensor, bits: int) -> torch.Tensor:
    """Each row to whole multiples of its largest value over ``2^(bits - 1) - 1``; as it is where ``bits`` is 0."""
    if not bits:
        return rows
    step = rows.abs().amax(-1, keepdim=True).clamp_min(1e-12) / ((1 << bits - 1) - 1)
    return (rows / step).round() * step


def with_rounded(model: Any, weights: int, inputs: int) -> Any:
    """The model with all linear layers but the last rounded."""
    for layer in model.base_model.layers:
        for part in (layer.self_attn, layer.mlp):
            for name, child in list(part.named_children()):
                if isinstance(child, torch.nn.Linear):
                    setattr(part, name, Rounded(child, weights, inputs))
    return model


def runtimes(reference: Proxy) -> dict[str, Proxy]:
    """Ways of running the proxy."""
    profile = reference.profile
    found: dict[str, Proxy] = {"fp32, plain layers": Variant(reference, plain_model(profile), 32)}
    if shutil.which("g++"):
        compiled = plain_model(profile)
        compiled.model = torch.compile(compiled.model)
        found["fp32, torch.compile"] = Variant(reference, compiled, 32)
    if util.find_spec("onnxruntime") and util.find_spec("onnxscript"):
        found["fp32, ONNX Runtime"] = OnnxVariant(reference, plain_model(profile))
    kinds = {"int16": torch.int16} if multiplies_integers() else {}
    for name, dtype in (kinds | {"bfloat16": torch.bfloat16}).items():
        layers = plain_model(profile)
        pack(layers, reference.batch_size * profile.prefix_length, dtype)  # quicker here or not
        found[f"{name} layers (fast=True)"] = Variant(reference, layers, reference.batch_size)
    found["bfloat16"] = Variant(reference, plain_model(profile).bfloat16(), 32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch announces torchao's quantization
        quantize: Any = torch.ao.quantization.quantize_dynamic
        int8 = quantize(plain_model(profile), {torch.nn.Linear}, dtype=torch.qint8)
    found["dynamic int8"] = Variant(reference, int8, 32)
    return found


def numbers(reference: Proxy) -> dict[str, Proxy]:
    """The reference's own way with other numbers, whose distance alone is of interest: nothing is quicker by it."""
    profile = reference.profile
    return {
        "fp32, batch 5": open_proxy(OFFLINE, batch_size=5),
        "weights and inputs rounded to 8 bits": Variant(reference, with_rounded(plain_model(profile), 8, 8), 32),
        "weights alone rounded to 8 bits": Variant(reference, with_rounded(plain_model(profile), 8, 0), 32),
    }


def run(proxy: Proxy, cut: Positions) -> tuple[Weights, NDArray[np.bool_]]:
    """Weights and hits of all positions."""
    evidence = observe(proxy, cut)
    hits = is_member(evidence.below, evidence.total[:, None], proxy.profile.sigma)
    return np.concatenate([weights for _, weights in proxy.batches(cut.prefixes)]), hits


@experiment(quick={"positions": 20, "runs": 1}, positions=120, runs=5)
def main(options: Options) -> Result:
    """Run the experiment."""
    reference = open_proxy(OFFLINE)
    text = pydoc_data.topics.topics["exceptions"] + pydoc_data.topics.topics["objects"]
    ids = reference.tokenizer.encode(text)[: options.positions + reference.profile.prefix_length]
    cut = positions(ids, reference.profile.prefix_length, reference.profile.context_length)
    weights, hits = run(reference, cut)
    mass = weights / weights.sum(axis=1, keepdims=True, dtype=np.float64)
    own = "fp32 (the reference)"
    result: dict[str, dict[str, float]] = {own: {}}
    ways = runtimes(reference)
    for name, proxy in tracked(list((ways | numbers(reference)).items()), "numerics"):
        other_weights, other_hits = run(proxy, cut)
        other = other_weights / other_weights.sum(axis=1, keepdims=True, dtype=np.float64)
        variation = np.abs(mass - other).sum(axis=1) / 2
        result[name] = {
            "mean total variation": float(f"{variation.mean():.3g}"),
            "largest total variation": float(f"{variation.max():.3g}"),
            "memberships that differ": float(f"{(hits != other_hits).mean():.3g}"),
        }
    batch = cut.prefixes[:64]
    jobs = {name: partial(proxy.forward, batch) for name, proxy in ({own: reference} | ways).items()}
    for name, seconds in interleaved(jobs, options.runs).items():
        result[name]["milliseconds a window"] = round(1000 * float(np.median(seconds)) / len(batch), 2)
    tolerance = {name: f"{a}/{b}" for name, (a, b) in reference.profile.tolerance.model_dump().items()}
    return {
        "settings": {"colours": reference.profile.colours},
        "the profile's tolerance": tolerance,
        "runtimes": result,
    }


if __name__ == "__main__":
    main()

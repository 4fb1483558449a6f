"""How far do other ways of running the proxy lie from the reference?

The reference is float32 on a CPU in the decoder's batches. Compared with it, over documentation that people wrote:
another batch size, linear layers in bfloat16 (what ``open_proxy(fast=True)`` takes where a processor has units for it),
all layers in bfloat16, and rounding to 8 bits with a scale for each row, computed in float32: no 8-bit matrix product
with such scales can be nearer. For each, the mean total variation between weight distributions, and the share of
memberships of observed tokens that differ, over all colours. (What bfloat16 saves where a processor has units for it:
``bench.py``.)

    python evaluation/numerics.py --out evaluation/results/numerics.json
"""

from __future__ import annotations

import pydoc_data.topics
from functools import partial
from typing import Any

import numpy as np
import torch
from experiment import OFFLINE, Options, Result, experiment, tracked
from numpy.typing import NDArray

from ctwl_decoder.statistics.evidence import permutations
from ctwl_protocol.partition.kernel import mass_below
from ctwl_protocol.partition.reference import is_member
from ctwl_protocol.proxy import Proxy, load_proxy_model, open_proxy
from ctwl_protocol.text.positions import Positions, positions


def rounded(rows: torch.Tensor) -> torch.Tensor:
    """Each row to whole multiples of its largest value over 127."""
    step = rows.abs().amax(-1, keepdim=True).clamp_min(1e-12) / 127
    return (rows / step).round() * step


def round_layers(model: Any, *, inputs: bool) -> Any:
    """Round the weights of all linear layers but the last to 8 bits, and their ``inputs`` if asked for."""
    for layer in model.base_model.layers.modules():
        if isinstance(layer, torch.nn.Linear):
            layer.weight.copy_(rounded(layer.weight))
            if inputs:
                layer.register_forward_pre_hook(lambda _, given: (rounded(given[0]),))
    return model


def variants(reference: Proxy) -> dict[str, Proxy]:
    """Other ways of running the proxy."""
    plain, variant = (
        partial(load_proxy_model, reference.profile),
        partial(Proxy, reference.profile, reference.tokenizer),
    )
    return {
        "float32, batches of 5": variant(plain(), batch_size=5),
        "bfloat16 layers (fast=True)": variant(plain(), arithmetic="bfloat16"),
        "all in bfloat16": variant(plain().bfloat16()),
        "weights and inputs rounded to 8 bits": variant(round_layers(plain(), inputs=True)),
        "weights alone rounded to 8 bits": variant(round_layers(plain(), inputs=False)),
    }


def run(proxy: Proxy, cut: Positions) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Each position's distribution, and the hits of every colour."""
    weights = np.concatenate([weights for _, weights in proxy.batches(cut.prefixes)])
    total = weights.sum(axis=1, keepdims=True, dtype=np.uint64)
    below = mass_below(weights, cut.observed, permutations(proxy.profile, cut.contexts))
    return weights / total, is_member(below, total, proxy.profile.sigma)


@experiment(quick={"positions": 20}, positions=120)
def main(options: Options) -> Result:
    """Run the experiment."""
    reference = open_proxy(OFFLINE, device="cpu")
    profile = reference.profile
    text = pydoc_data.topics.topics["exceptions"] + pydoc_data.topics.topics["objects"]
    ids = reference.tokenizer.encode(text)[: options.positions + profile.prefix_length]
    cut = positions(ids, profile.prefix_length, profile.context_length)
    mass, hits = run(reference, cut)
    result = {}
    for name, proxy in tracked(list(variants(reference).items()), "numerics"):
        other_mass, other_hits = run(proxy, cut)
        variation = np.abs(mass - other_mass).sum(axis=1) / 2
        result[name] = {
            "mean total variation": float(f"{variation.mean():.3g}"),
            "largest total variation": float(f"{variation.max():.3g}"),
            "memberships that differ": float(f"{(hits != other_hits).mean():.3g}"),
        }
    tolerance = {name: f"{a}/{b}" for name, (a, b) in profile.tolerance.model_dump().items()}
    return {"settings": {"colours": profile.colours}, "the profile's tolerance": tolerance, "runtimes": result}


if __name__ == "__main__":
    main()

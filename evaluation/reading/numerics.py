"""How far do other ways of running the proxy LM lie from the reference?

The reference is float32 in NumPy. Compared with it, over documentation that people wrote and by whole context: torch's
float32 and linear layers in bfloat16 (what a reader with a device of torch's may take), all layers in bfloat16, and
rounding to 8 bits with a scale for each row, computed in float32: no 8-bit matrix product with such scales can be
nearer. For each, the mean total variation between weight distributions, and the share of memberships of observed tokens
that differ, over all colours.
"""

from __future__ import annotations

import pydoc_data.topics
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ctwl_decoder.statistics.evidence import permutations
from ctwl_protocol import Profile, get_profile
from ctwl_protocol.partition.reference import is_member, mass_below, quantize
from ctwl_protocol.profile import ProxyModel
from ctwl_protocol.proxy import ForwardPass, load_tensors, open_proxy
from ctwl_protocol.proxy.model import load_proxy_model
from ctwl_protocol.text.positions import positions

from ..shared.experiment import OFFLINE, Options, Result, experiment, tracked


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


def reference(profile: Profile, ids: NDArray[np.int64]) -> NDArray[np.float32]:
    """The logits after each token: float32 (tokens, rows)."""
    assert isinstance(profile.proxy, ProxyModel)  # noqa: S101  # it has a model
    model = ForwardPass(profile.proxy.architecture, load_tensors(profile))
    return model.head(model.hidden(ids))


def by_torch(model: Any, ids: NDArray[np.int64], *, bfloat16: bool = False) -> NDArray[np.float32]:
    """The same by a model of transformers, its linear layers in bfloat16 where asked for, the last one in its own."""
    with torch.inference_mode():
        with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
            hidden = model.base_model(torch.from_numpy(ids[None]), use_cache=False).last_hidden_state[0]
        logits: NDArray[np.float32] = model.lm_head(hidden.to(model.lm_head.weight.dtype)).float().numpy()
    return logits


WAYS: dict[str, Callable[[Any, NDArray[np.int64]], NDArray[np.float32]]] = {
    "torch, float32": by_torch,
    "torch, bfloat16 layers": lambda model, ids: by_torch(model, ids, bfloat16=True),
    "all in bfloat16": lambda model, ids: by_torch(model.bfloat16(), ids),
    "weights and inputs rounded to 8 bits": lambda model, ids: by_torch(round_layers(model, inputs=True), ids),
    "weights alone rounded to 8 bits": lambda model, ids: by_torch(round_layers(model, inputs=False), ids),
}


@experiment(quick={"positions": 20}, positions=400)
def main(options: Options) -> Result:
    """Run the experiment."""
    proxy = open_proxy(OFFLINE)
    profile, first = get_profile(OFFLINE), get_profile(OFFLINE).prefix_length
    text = pydoc_data.topics.topics["exceptions"] + pydoc_data.topics.topics["objects"]
    ids = proxy.tokenizer.encode(text)[: options.positions + first]
    cut = positions(ids, first, profile.context_length)
    seeds = permutations(profile, cut.contexts)

    def run(logits: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Each position's distribution, and the memberships of the observed token."""
        scaled = logits[first - 1 : -1, : profile.tokenizer.vocabulary].astype(np.float64)
        scaled = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        weights = quantize(scaled / scaled.sum(axis=1, keepdims=True), profile.weight_bits)
        weights[:, list(profile.tokenizer.special)] = 0
        total = weights.sum(axis=1, keepdims=True, dtype=np.uint64)
        return weights / total, is_member(mass_below(weights, cut.observed, seeds), total, profile.sigma)

    mass, hits = run(reference(profile, ids))
    result = {}
    for name, way in tracked(list(WAYS.items()), "numerics"):
        other_mass, other_hits = run(way(load_proxy_model(profile), ids))
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

"""The proxy LM itself: transformers' models over tensors whose digests were checked, no other file trusted.

On a CPU the linear layers' weights are reordered once into oneDNN's blocked layout. That makes small batches about 1.7
times faster.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM
from transformers.pytorch_utils import Conv1D

from ..errors import ProxyDigestMismatch, ProxyMalformed
from ..profile import GPT2, Architecture, ProxyModel
from .gguf import quiet, tensors_digest

__all__ = ["build_model", "fast_dtype", "last_logits", "load_tensors", "pack"]

CausalLM: TypeAlias = Any
"""GPT2LMHeadModel or LlamaForCausalLM; transformers has no types that a checker could use."""


def load_tensors(spec: ProxyModel, weights: Path) -> dict[str, torch.Tensor]:
    """Read a proxy's tensors.

    Raises:
        ProxyDigestMismatch: they were dequantised from a GGUF file and are not the profile's.
        ProxyMalformed: the file is no safetensors file.
    """
    try:
        tensors: dict[str, torch.Tensor] = load_file(weights)
    except (SafetensorError, OSError) as error:
        raise ProxyMalformed(f"{weights} is no safetensors file: {error}") from error
    if spec.tensors_sha256 is not None and tensors_digest(tensors) != spec.tensors_sha256:
        raise ProxyDigestMismatch(f"the tensors in {weights} are not the profile's; remove the file and run again")
    return tensors


def _config(architecture: Architecture) -> GPT2Config | LlamaConfig:
    epsilon = architecture.norm_epsilon[0] / architecture.norm_epsilon[1]
    if isinstance(architecture, GPT2):
        return GPT2Config(
            vocab_size=architecture.rows,
            n_positions=architecture.positions,
            n_embd=architecture.width,
            n_layer=architecture.layers,
            n_head=architecture.heads,
            layer_norm_epsilon=epsilon,
            bos_token_id=None,
            eos_token_id=None,
        )
    return LlamaConfig(
        vocab_size=architecture.rows,
        hidden_size=architecture.width,
        intermediate_size=architecture.feed_forward,
        num_hidden_layers=architecture.layers,
        num_attention_heads=architecture.heads,
        num_key_value_heads=architecture.key_value_heads,
        max_position_embeddings=architecture.positions,
        rms_norm_eps=epsilon,
        rope_parameters={"rope_type": "default", "rope_theta": float(architecture.rope_theta)},
        tie_word_embeddings=architecture.tied,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
    )


def build_model(architecture: Architecture, tensors: Mapping[str, torch.Tensor]) -> CausalLM:
    """A causal LM in float32 on the CPU, in evaluation mode.

    Args:
        architecture: the numbers.
        tensors: as :func:`load_tensors` read them; GPT-2's may lack the prefix ``transformer.`` and may hold the causal
            masks that old checkpoints carry.

    Raises:
        ProxyMalformed: a tensor is missing, unknown or of another shape.
    """
    config = _config(architecture)
    if isinstance(architecture, GPT2):
        tensors = {
            name if name.startswith(("transformer.", "lm_head.")) else f"transformer.{name}": tensor
            for name, tensor in tensors.items()
            if not name.endswith((".attn.bias", ".attn.masked_bias"))
        }
        kind = GPT2LMHeadModel
    else:
        kind = LlamaForCausalLM
    with torch.device("meta"):
        shapes = {name: tensor.shape for name, tensor in kind(config).state_dict().items()}
    if config.tie_word_embeddings:
        del shapes["lm_head.weight"]
        tensors = {name: tensor for name, tensor in tensors.items() if name != "lm_head.weight"}
    for name in sorted(shapes.keys() | tensors.keys()):
        given = tensors[name].shape if name in tensors else None
        if given != shapes.get(name):
            stated = shapes.get(name)
            raise ProxyMalformed(
                f"tensor {name}: the architecture has {_shape(stated)}, the weights have {_shape(given)}"
            )
    with quiet():
        model = kind.from_pretrained(
            None,
            config=config,
            state_dict={name: tensor.float() for name, tensor in tensors.items()},
            dtype=torch.float32,
            attn_implementation="sdpa",
        )
    return model.eval().requires_grad_(False)


def _shape(shape: torch.Size | None) -> str:
    return "no such tensor" if shape is None else str(list(shape))


class _PackedLinear(nn.Module):
    """A linear layer whose weight lies in oneDNN's blocked layout; float32 in and out, computed in ``dtype``."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None, rows: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype
        self.weight = torch.ops.mkldnn._reorder_linear_weight(weight.to(dtype), rows)
        self.bias = None if bias is None else bias.to(dtype)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        packed: torch.Tensor = torch.ops.mkldnn._linear_pointwise(
            x.to(self.dtype), self.weight, self.bias, "none", [], ""
        )
        return packed.float()


def fast_dtype() -> torch.dtype:
    """The quicker of float32 and bfloat16 for the proxy's linear layers on this machine's CPU."""
    packs = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")  # type: ignore[no-untyped-call]
    native = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    return torch.bfloat16 if packs and native() else torch.float32


def pack(module: nn.Module, rows: int, dtype: torch.dtype = torch.float32) -> None:
    """Pack every linear layer under ``module``; nothing where oneDNN is missing.

    Args:
        module: a model of :func:`build_model`.
        rows: about how many rows the inputs have.
        dtype: float32, or bfloat16 for all layers but the last, which stays within the profiles' tolerance
            (evaluation/numerics.py) and halves the time where the CPU computes in it.
    """
    available: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if not (available and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")):
        return
    for name, child in module.named_children():
        chosen = torch.float32 if name == "lm_head" else dtype
        if isinstance(child, nn.Linear):
            setattr(module, name, _PackedLinear(child.weight.detach(), child.bias, rows, chosen))
        elif isinstance(child, Conv1D):
            setattr(module, name, _PackedLinear(child.weight.detach().t().contiguous(), child.bias, rows, chosen))
        else:
            pack(child, rows, dtype)


def last_logits(model: CausalLM, windows: torch.Tensor) -> torch.Tensor:
    """Logits of the token after each window: float32 (n, rows).

    Args:
        model: a model of :func:`build_model`.
        windows: int64 (n, L_prefix), at positions 0 to L_prefix - 1.
    """
    hidden = model.base_model(windows, use_cache=False).last_hidden_state[:, -1]
    logits: torch.Tensor = model.lm_head(hidden)
    return logits

"""The proxy LM itself: transformers' models over tensors whose digests were checked, no other file trusted.

On a CPU the linear layers' weights are reordered once into oneDNN's blocked layout, which makes small batches about
twice as fast. The fast ways are layers in 16-bit integers or in bfloat16, on CUDA in bfloat16. Only the last position
of a prefix is asked, so the last layer does little at the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM
from transformers.models.gpt2.modeling_gpt2 import GPT2MLP
from transformers.models.llama.modeling_llama import LlamaMLP
from transformers.pytorch_utils import Conv1D

from ..errors import ProxyDigestMismatch, ProxyMalformed
from ..profile.document import GPT2, Architecture, ProxyModel
from .gguf import quiet, tensors_digest
from .integers import IntegerLinear, multiplies_integers

__all__ = ["build_model", "fast_dtype", "last_logits", "load_tensors", "pack"]

CausalLM: TypeAlias = Any
"""GPT2LMHeadModel or LlamaForCausalLM; transformers has no types that a checker could use."""


def load_tensors(spec: ProxyModel, weights: Path) -> dict[str, torch.Tensor]:
    """Read a proxy's tensors.

    Raises:
        ProxyDigestMismatch: they were dequantized from a GGUF file and are not the profile's.
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
    """A linear layer whose weight lies in oneDNN's blocked layout; computed in ``dtype``, float32 out.

    With an activation, which oneDNN applies as it goes, what comes out stays in ``dtype`` for the next layer.
    """

    def __init__(
        self, weight: torch.Tensor, bias: torch.Tensor | None, dtype: torch.dtype, rows: int, activation: str = ""
    ) -> None:
        super().__init__()
        self.dtype = dtype
        self.activation = activation
        self.weight = torch.ops.mkldnn._reorder_linear_weight(weight.to(dtype), rows)
        self.bias = None if bias is None else bias.to(dtype)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        name, _, kind = (self.activation or "none").partition(" ")
        found: torch.Tensor = torch.ops.mkldnn._linear_pointwise.default(
            x.to(self.dtype), self.weight, self.bias, name, [], kind
        )
        return found if self.activation else found.float()


class _CastLinear(nn.Module):
    """A linear layer computed in ``dtype``, float32 in and out."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None, dtype: torch.dtype) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.to(dtype), requires_grad=False)
        self.bias = None if bias is None else nn.Parameter(bias.to(dtype), requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.linear(x.to(self.weight.dtype), self.weight, self.bias).float()


class _LastPosition(nn.Module):
    """A layer that is asked at the last position only; what it gives at the others is not theirs."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.inner(x[:, -1:])
        return found.expand(x.shape)


_WITHIN = {"gate_proj": "swish", "up_proj": "none", "c_fc": "gelu tanh"}
"""Layers of a feed-forward part whose results stay in bfloat16, with the activation of each."""


@cache
def fast_dtype(device: str = "cpu") -> torch.dtype:
    """What the proxy's linear layers are quickest in on this machine: float32, bfloat16 or int16.

    Args:
        device: the type of a torch device. On CUDA it is bfloat16 where the GPU computes in it; on other devices than a
            CPU, float32.

    On a CPU they are timed, once in a process and within a second, or some more the first time, when numba compiles.
    Int16 loses next to nothing, so it is taken unless it is clearly slower: a busy machine then mostly chooses as a
    quiet one does, and a text's p-value keeps its digits. Bfloat16 is coarser (evaluation/numerics.py) and has to be
    clearly quicker: with AMX it is so several times, but CPUs whose flags list it may take twice as long for it.
    """
    if device == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float32
    if device != "cpu" or not _packs(torch.float32):
        return torch.float32
    quickest, seconds = torch.float32, _layer_seconds(torch.float32)
    if _packs(torch.int16) and _layer_seconds(torch.int16) < 1.25 * seconds:
        quickest, seconds = torch.int16, _layer_seconds(torch.int16)
    native = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    if native() and _packs(torch.bfloat16) and _layer_seconds(torch.bfloat16) < 0.8 * seconds:
        quickest = torch.bfloat16
    return quickest


def _packs(dtype: torch.dtype) -> bool:
    """Whether what packs layers of this dtype is there and takes them on this CPU."""
    if dtype == torch.int16:
        return multiplies_integers()
    if not torch.backends.mkldnn.is_available() or not hasattr(torch.ops.mkldnn, "_reorder_linear_weight"):  # type: ignore[no-untyped-call]
        return False
    # With AVX2 alone oneDNN takes no bfloat16.
    return dtype == torch.float32 or bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def _packed(
    weight: torch.Tensor, bias: torch.Tensor | None, dtype: torch.dtype, rows: int, activation: str = ""
) -> nn.Module:
    """A linear layer in a blocked layout."""
    if dtype != torch.int16:
        return _PackedLinear(weight, bias, dtype, rows, activation)
    return IntegerLinear(weight, bias) if weight.isfinite().all() else _CastLinear(weight, bias, torch.float32)


@cache
def _layer_seconds(dtype: torch.dtype, size: int = 768, runs: int = 16) -> float:
    """What a packed layer takes for a few prefixes, ten times, and for many: each the least of some runs.

    It stands behind an activation, as torch's threads and a layer's own may be in each other's way.
    """
    seconds = 0.0
    for rows, times in ((64, 10), (320, 1)):
        layer, x = _packed(torch.ones(size, size), None, dtype, rows), torch.ones(rows, size)
        layer(x)
        taken = []
        for _ in range(runs):
            start = time.perf_counter()
            layer(nn.functional.silu(x))
            taken.append(time.perf_counter() - start)
        seconds += times * min(taken)
    return seconds


def pack(model: CausalLM, rows: int, dtype: torch.dtype = torch.float32) -> None:
    """Make a model quicker where it is, of use for :func:`last_logits` alone from then on.

    Every linear layer is packed, on a CPU where there is what packs them, and the last feed-forward part sees the last
    position only.

    Args:
        model: a model of :func:`build_model`.
        rows: about how many rows the inputs have.
        dtype: float32; or within the profiles' tolerance (evaluation/numerics.py) int16, on a CPU, for whose products
            see :class:`~ctwl_protocol.proxy.integers.IntegerLinear`, or bfloat16 for all layers but the last.
    """
    layers = model.base_model.h if isinstance(model, GPT2LMHeadModel) else model.base_model.layers
    if isinstance(layers[-1].mlp, _LastPosition):
        return  # packed for another profile that shares it
    if model.device.type == "cpu" and _packs(dtype):
        _replace(model, partial(_packed, rows=rows), dtype, fuses=dtype == torch.bfloat16)
    elif dtype == torch.bfloat16:
        _replace(layers, _CastLinear, dtype)
    layers[-1].mlp = _LastPosition(layers[-1].mlp)


def _replace(module: nn.Module, linear: Callable[..., nn.Module], dtype: torch.dtype, *, fuses: bool = False) -> None:
    """Every linear layer inside by another kind: in ``dtype``, but the model's last one in nothing coarser than int16.

    Args:
        module: what is searched.
        linear: makes a layer of a weight (out, in), a bias, a dtype and, where it ``fuses`` them, an activation.
        dtype: of the layers.
        fuses: whether the layers of a feed-forward part apply the activation behind them.
    """
    within = _WITHIN if fuses and isinstance(module, LlamaMLP | GPT2MLP) else {}
    for name, child in module.named_children():
        if isinstance(child, nn.Linear | Conv1D):
            weight = child.weight.detach()
            weight = weight if isinstance(child, nn.Linear) else weight.t().contiguous()
            options = {"activation": within[name]} if name in within else {}
            chosen = torch.float32 if name == "lm_head" and dtype == torch.bfloat16 else dtype
            setattr(module, name, linear(weight, child.bias, dtype=chosen, **options))
        elif within and name in ("act_fn", "act"):
            setattr(module, name, nn.Identity())  # done already
        else:
            _replace(child, linear, dtype, fuses=fuses)


def last_logits(model: CausalLM, prefixes: torch.Tensor) -> torch.Tensor:
    """Logits of the token after each prefix: float32 (n, rows).

    Args:
        model: a model of :func:`build_model`.
        prefixes: int64 (n, L_prefix), at positions 0 to L_prefix - 1.
    """
    hidden = model.base_model(prefixes, use_cache=False).last_hidden_state[:, -1]
    logits: torch.Tensor = model.lm_head(hidden)
    return logits

"""The proxy LM itself: transformers' models over tensors whose digests were checked, no other file trusted.

The reference computes in float32, in transformers' own forward pass. Where a processor has units for bfloat16, the
linear layers may be computed in it under torch's autocast, within the profiles' tolerance
(evaluation/reading/numerics.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM
from transformers.pytorch_utils import Conv1D

from ..errors import DeviceUnavailable
from ..profile.document import GPT2, TRANSFORMERS_NAMES, Architecture, Profile, ProxyModel
from .files import load_tensors
from .forward import Arithmetic
from .tensors import Tensors, fitting

CausalLM: TypeAlias = Any
"""GPT2LMHeadModel or LlamaForCausalLM; transformers has no types that a checker could use."""


def load_proxy_model(profile: Profile, path: str | Path | None = None) -> CausalLM:
    """A profile's proxy LM as :func:`build_model` makes it, from the files that :func:`load_tensors` finds.

    Raises:
        CTWLError: see there, and :func:`build_model`.
    """
    tensors = load_tensors(profile, path)
    assert isinstance(profile.proxy, ProxyModel)  # noqa: S101 - it has tensors
    return build_model(profile.proxy.architecture, tensors)


def _config(architecture: Architecture) -> GPT2Config | LlamaConfig:
    names = TRANSFORMERS_NAMES[architecture.family]
    named = {theirs: getattr(architecture, ours) for ours, theirs in names.items()}
    epsilon = architecture.norm_epsilon[0] / architecture.norm_epsilon[1]
    no_tokens = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
    if isinstance(architecture, GPT2):
        return GPT2Config(**named | {"layer_norm_epsilon": epsilon} | no_tokens)
    rope = {"rope_type": "default", "rope_theta": float(named.pop("rope_theta"))}
    return LlamaConfig(**named | {"rms_norm_eps": epsilon, "rope_parameters": rope} | no_tokens)


def build_model(architecture: Architecture, tensors: Tensors) -> CausalLM:
    """A causal LM in float32 on the CPU, in evaluation mode.

    Args:
        architecture: the numbers.
        tensors: as :func:`load_tensors` read them; the model may share their memory.

    Raises:
        ProxyMalformed: see :func:`ctwl_protocol.proxy.tensors.fitting`.
    """
    state = {name: torch.from_numpy(tensor) for name, tensor in fitting(architecture, tensors).items()}
    kind = GPT2LMHeadModel if isinstance(architecture, GPT2) else LlamaForCausalLM
    with redirect_stderr(StringIO()):  # progress bars; errors are raised, not printed
        model = kind.from_pretrained(
            None, config=_config(architecture), state_dict=state, dtype=torch.float32, attn_implementation="sdpa"
        )
    return model.eval().requires_grad_(False)


def choose_device(device: str | torch.device = "auto") -> torch.device:
    """A torch device that works here; "auto" is CUDA where there is one, else the CPU.

    Raises:
        DeviceUnavailable: there is no such device.
    """
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(1, dtype=torch.float64, device=chosen).cpu()  # weights take float64
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        raise DeviceUnavailable(
            f"device {str(device)!r} does not work on this machine; name another one, or auto, which chooses one that "
            "works"
        ) from error
    return chosen


def fast_arithmetic(device: torch.device) -> Arithmetic:
    """What linear layers are quickest in on a device, by what its processor can do and never by a timing.

    It is bfloat16 on a CPU with AMX and on a GPU that computes in bfloat16, else float32.
    """
    if device.type == "cuda":
        quick = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        # With AVX-512 alone bfloat16 may take longer than float32. An older torch tells of no abilities: float32.
        abilities = getattr(torch.cpu, "get_capabilities", dict[str, bool])()
        quick = device.type == "cpu" and abilities.get("amx_bf16", False)
    return "bfloat16" if quick else "float32"


def to_bfloat16(model: CausalLM) -> None:
    """Change the linear layers to bfloat16, for :func:`last_logits`; embeddings, norms and the last layer stay."""
    for module in model.base_model.modules():
        if isinstance(module, nn.Linear | Conv1D):
            module.to(torch.bfloat16)


class _PackedLinear(nn.Module):
    """A float32 linear layer whose weight lies in the blocked layout of oneDNN, torch's own library for CPUs."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        super().__init__()
        self.weight = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), _FEW_ROWS)
        self.bias = bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = torch.ops.mkldnn._linear_pointwise.default(x, self.weight, self.bias, "none", [], "")
        return found


_FEW_ROWS = 64
"""Rows that the packed layout is made for: some five prefixes of ten tokens, which ``delta`` asks about at a step."""


def pack(model: nn.Module) -> None:
    """Lay the weights of linear layers out for few rows, where torch can: float32 on a CPU.

    A pass of five prefixes then takes about a third of the processor's time. Sums are added in another order.
    """
    if not torch.backends.mkldnn.is_available() or not hasattr(torch.ops.mkldnn, "_reorder_linear_weight"):  # type: ignore[no-untyped-call]
        return
    for name, child in model.named_children():
        if isinstance(child, nn.Linear | Conv1D):
            weight = child.weight if isinstance(child, nn.Linear) else child.weight.t()
            setattr(model, name, _PackedLinear(weight.detach(), child.bias))
        else:
            pack(child)


def _hidden(model: CausalLM, tokens: torch.Tensor, arithmetic: Arithmetic) -> torch.Tensor:
    """What the last layer gives at each token of each row: (n, tokens, width)."""
    with torch.autocast(tokens.device.type, torch.bfloat16, enabled=arithmetic == "bfloat16"):
        found: torch.Tensor = model.base_model(tokens, use_cache=False).last_hidden_state
        return found


def last_logits(model: CausalLM, prefixes: torch.Tensor, arithmetic: Arithmetic = "float32") -> torch.Tensor:
    """Logits of the token after each prefix: float32 (n, rows).

    Args:
        model: a model of :func:`build_model`, after :func:`to_bfloat16` where that is the arithmetic.
        prefixes: int64 (n, L_prefix), at positions 0 to L_prefix - 1.
        arithmetic: "float32" or "bfloat16". The last layer is float32 in both: 8 bits are too few for a logit.
    """
    with torch.inference_mode():
        logits: torch.Tensor = model.lm_head(_hidden(model, prefixes, arithmetic)[:, -1])
        return logits


class OnDevice:
    """A proxy LM on a device of torch's: over one sequence, as readers ask it, or over prefixes, as writers do.

    Attributes:
        arithmetic: what it computes in, the quickest on the device.
    """

    def __init__(
        self, architecture: Architecture, tensors: Tensors, device: str | torch.device, *, packed: bool = False
    ) -> None:
        """Build the model and move it there.

        Args:
            architecture: the numbers.
            tensors: see :func:`build_model`.
            device: see :func:`choose_device`.
            packed: for a writer, who asks about few prefixes at once: see :func:`pack`. A reader gains nothing.

        Raises:
            DeviceUnavailable: there is no such device.
            ProxyMalformed: see :func:`build_model`.
        """
        self._device = choose_device(device)
        self.arithmetic = fast_arithmetic(self._device)
        self._model = build_model(architecture, tensors)
        if self.arithmetic == "bfloat16":
            to_bfloat16(self._model)
        elif packed and self._device.type == "cpu":
            pack(self._model)
        self._model.to(self._device)

    def hidden(self, ids: NDArray[np.int64]) -> torch.Tensor:
        """What the last layer gives at each token: (n, width), on the device."""
        with torch.inference_mode():
            return _hidden(self._model, torch.tensor(ids[None], device=self._device), self.arithmetic)[0]

    def head(self, hidden: torch.Tensor) -> NDArray[np.float32]:
        """The logits of the token after each: float32 (n, rows). The last layer is float32: see :func:`last_logits`."""
        with torch.inference_mode():
            logits: NDArray[np.float32] = self._model.lm_head(hidden.float()).cpu().numpy()
            return logits

    def weights(self, prefixes: NDArray[np.int64], vocabulary: int, special: Sequence[int], bits: int) -> torch.Tensor:
        """Integer weights of the token after each prefix, in one forward pass: int32 (n, |V|), on the device.

        Args:
            prefixes: int64 (n, L_prefix).
            vocabulary: |V|.
            special: token ids that weigh nothing.
            bits: of a weight.
        """
        logits = last_logits(self._model, torch.tensor(prefixes, device=self._device), self.arithmetic)
        # partition.reference.quantize, on the device where the logits are.
        mass = torch.softmax(logits[:, :vocabulary], dim=-1, dtype=torch.float64)
        weights = mass.mul_(1 << bits).add_(0.5).to(torch.int32)  # drops the fraction
        weights[:, list(special)] = 0
        return weights

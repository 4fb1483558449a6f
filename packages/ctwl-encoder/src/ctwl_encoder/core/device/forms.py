"""Which form marks on a device: Triton's kernels on a GPU, where Triton is installed, else plain torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TypeAlias

import torch

from ..strategies import Strategy
from .step import DeviceStep, Tables

Form: TypeAlias = Callable[[torch.Tensor, torch.Tensor, Tables, DeviceStep], None]
"""Marks rows of logits in place. It takes

- the logits, float (rows, size), contiguous;
- the softmax of the step's rows, float32 (n, size);
- the bridge's tables;
- the places of the step.
"""


def has_kernels(device: torch.device) -> bool:
    """Whether Triton's kernels run on a device; Triton is no dependency."""
    return device.type == "cuda" and find_spec("triton") is not None


@cache  # asked at each step
def form_of(strategy: Strategy, device: torch.device) -> Form:
    """How a strategy that keeps the distribution marks on a device: by its kernels, where it has some."""
    folder = f"{__package__.removesuffix('device')}strategies.{strategy}"
    kernel = has_kernels(device) and find_spec(f"{folder}.kernel") is not None
    form: Form = import_module(f"{folder}.{'kernel' if kernel else 'plain'}").mark
    return form


@cache
def candidates_on(device: torch.device) -> ModuleType:
    """The module whose ``merging`` finds the candidates that may merge with a tail."""
    return import_module(".kernels" if has_kernels(device) else ".candidates", __package__)

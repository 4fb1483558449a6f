"""Which form marks on a device: Triton's kernels on a GPU, where Triton is installed, else plain torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TypeAlias

import torch

from ctwl_protocol.proxy import Proxy

from ..strategies import Strategy
from .step import DeviceStep, Marked, Tables

Form: TypeAlias = Callable[[torch.Tensor, torch.Tensor, Tables, DeviceStep], Marked | None]
"""Marks rows of logits in place. It takes

- the logits, float (rows, size), contiguous;
- the softmax of the step's rows, float32 (n, size);
- the bridge's tables;
- the places of the step.

It gives what was marked; None where that is each place.
"""


@cache  # asked at each step
def has_kernels(device: torch.device) -> bool:
    """Whether Triton's kernels run on a device; Triton is no dependency."""
    return device.type == "cuda" and find_spec("triton") is not None


def form_of(strategy: Strategy, device: torch.device, proxy: Proxy) -> Form:
    """How a strategy marks on a device, for one marker: by its kernels, where it has some."""
    folder = f"{__package__.removesuffix('device')}strategies.{strategy}"
    kernel = has_kernels(device) and find_spec(f"{folder}.kernel") is not None
    module = import_module(f"{folder}.{'kernel' if kernel else 'plain'}")
    form: Form = module.mark if strategy.keeps_distribution else module.Mark(proxy)
    return form

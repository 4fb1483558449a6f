"""Which form marks on a device: Triton's kernels on a GPU, where Triton is installed, else plain torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from ctwl_protocol.proxy import Proxy

from ..places import Places
from ..strategies import Strategy, module_of
from .step import DeviceStep, Tables


class Halved(NamedTuple):
    """What the proxy LM said, and where it was asked.

    Attributes:
        inside: bool (halves, |V|), membership in the halves.
        half_of: int64 (p,), the half of each place; -1 where the place was not marked.
    """

    inside: torch.Tensor
    half_of: NDArray[np.int64]


Form: TypeAlias = Callable[[torch.Tensor, torch.Tensor, Tables, DeviceStep], Halved | None]
"""Marks rows of logits in place. It takes

- the logits, float (rows, size), contiguous;
- the softmax of the step's rows, float32 (n, size);
- the bridge's tables;
- the places of the step.

It gives what the proxy said; None for a strategy that marks each place and asks no proxy.
"""


@cache  # asked at each step
def has_kernels(device: torch.device) -> bool:
    """Whether Triton's kernels run on a device; Triton is no dependency."""
    return device.type == "cuda" and find_spec("triton") is not None


def form_of(
    strategy: Strategy, device: torch.device, proxy: Proxy, before: Callable[[Places], list[tuple[int, ...]]]
) -> Form:
    """How a strategy marks on a device, for one marker: by its kernels, where it has some.

    Args:
        strategy: the strategy.
        device: where the logits are.
        proxy: asked by a strategy that does not keep the distribution.
        before: gives the proxy tokens before each place of a step, a whole prefix.
    """
    module = module_of(strategy, *["kernel"] * has_kernels(device), "plain")
    form: Form = module.mark if strategy.keeps_distribution else module.Mark(proxy, before)
    return form

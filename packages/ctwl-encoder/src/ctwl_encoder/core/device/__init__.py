"""Marking where the logits are, on a torch device (spec sections 8.2 to 8.5)."""

from __future__ import annotations

from importlib.util import find_spec
from types import ModuleType

import torch

__all__ = ["operations"]


def operations(device: torch.device) -> ModuleType:
    """The module that marks on a device: Triton's kernels on a GPU, where Triton is installed, else plain torch."""
    if device.type == "cuda" and find_spec("triton"):
        from . import kernels  # Triton is no dependency

        return kernels
    from . import plain

    return plain

"""Top-k, top-p and min-p in plain torch, for engines that apply them after their plug-ins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch

from ctwl_encoder import to_device

from .note import Note

TopKTopP: TypeAlias = Callable[[torch.Tensor, torch.Tensor | None, torch.Tensor | None], torch.Tensor]
"""A function like :func:`keep_top`."""


def keep_top(logits: torch.Tensor, top_k: torch.Tensor | None, top_p: torch.Tensor | None) -> torch.Tensor:
    """Minus infinity for what top-k leaves out, and for what top-p leaves out of the rest.

    Args:
        logits: float32 (rows, size).
        top_k: int64 (rows,), from 1 to ``size``; None where all stay.
        top_p: float32 (rows,); None where all stay.

    Returns:
        float32 (rows, size).
    """
    if top_k is None and top_p is None:
        return logits
    ordered, index = logits.sort(dim=1)
    if top_k is not None:
        least = ordered.gather(1, (ordered.shape[1] - top_k)[:, None])
        ordered = ordered.masked_fill(ordered < least, -torch.inf)
    if top_p is not None:
        left_out = ordered.softmax(dim=1).cumsum(dim=1) <= 1 - top_p[:, None]
        left_out[:, -1] = False
        ordered = ordered.masked_fill(left_out, -torch.inf)
    return torch.empty_like(logits).scatter_(1, index, ordered)


def truncated(
    logits: torch.Tensor, notes: Sequence[Note], *, top_k_top_p: TopKTopP = keep_top, min_p_last: bool = False
) -> torch.Tensor:
    """Min-p, then top-k and top-p; or the other way round.

    Args:
        logits: float32 (rows, size), after temperature.
        notes: one for each row.
        top_k_top_p: the engine's own, where it has a quicker one, or another order.
        min_p_last: whether the engine applies min-p after the others.

    Returns:
        float32 (rows, size), minus infinity for what is left out.
    """
    device, size, top_k, top_p = logits.device, logits.shape[1], None, None
    unlikely: torch.Tensor | None = None
    if any(row.min_p > 0 for row in notes):
        least = to_device(torch.tensor([[row.min_p] for row in notes]), device)
        unlikely = logits < logits.amax(dim=1, keepdim=True) + least.log()
        logits = logits if min_p_last else logits.masked_fill(unlikely, -torch.inf)
    if any(0 < row.top_k < size for row in notes):
        top_k = to_device(torch.tensor([row.top_k if 0 < row.top_k < size else size for row in notes]), device)
    if any(row.top_p < 1 for row in notes):
        top_p = to_device(torch.tensor([row.top_p for row in notes]), device)
    logits = top_k_top_p(logits, top_k, top_p)
    return logits if unlikely is None or not min_p_last else logits.masked_fill(unlikely, -torch.inf)

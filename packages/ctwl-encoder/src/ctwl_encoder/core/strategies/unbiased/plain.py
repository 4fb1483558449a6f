"""``unbiased`` in plain torch (spec section 8.3): it runs on any device."""

from __future__ import annotations

import torch

from ...device.candidates import Entries, add, border, entries_of
from ...device.step import DeviceStep, Tables


def factors(entries: Entries, places: int) -> torch.Tensor:
    """The factor of each entry's probability: float64 (n,).

    Args:
        entries: the candidates.
        places: number of places.
    """
    at = border(entries.place, entries.rank, entries.mass, places)
    share = ((at.total - 2 * at.before).double() / at.own.clamp(min=1)).clamp(0, 2)
    rank, last = entries.rank, at.rank[entries.place]
    return torch.where(rank == last, share[entries.place], 2.0 * (rank < last))


def mark(logits: torch.Tensor, likely: torch.Tensor, tables: Tables, step: DeviceStep) -> None:
    """Mark rows of logits in place; see :data:`ctwl_encoder.core.device.forms.Form`."""
    entries = entries_of(likely, tables, step)
    add(logits, entries, step, factors(entries, len(step.seeds)).log())

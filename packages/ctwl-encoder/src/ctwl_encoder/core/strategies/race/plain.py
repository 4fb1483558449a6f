"""``race`` in plain torch (spec section 8.3): it runs on any device."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch

from ...device.candidates import Entries, add, entries_of
from ...device.step import DeviceStep, Tables
from .lots import CELLS, FIRST, LAST, RANKS, table


class Lots(NamedTuple):
    """The lots of some shares on a device.

    Attributes:
        alphas: float64 (shares,), what is left to chance.
        tables: float64 (shares, CELLS + 1), see :func:`.lots.table`.
    """

    alphas: torch.Tensor
    tables: torch.Tensor

    def of(self, level: torch.Tensor, rank: torch.Tensor) -> torch.Tensor:
        """The lots of ranks, int64 (n,), at places of these levels, int64 (n,): float64 (n,)."""
        x = (rank.double() + 0.5) / RANKS
        at = (-torch.log(-torch.log1p(-x)) - FIRST) * (CELLS / (LAST - FIRST))
        cell = at.long().clamp(0, CELLS - 1)
        low, high = self.tables[level, cell], self.tables[level, cell + 1]
        return low + (at - cell) * (high - low)


@lru_cache(maxsize=64)  # as in .lots
def lots_on(shares: tuple[float, ...], device: torch.device) -> Lots:
    """The lots of some shares, copied to a device once."""
    alphas, tables = 1 - np.array(shares), np.stack([table(share) for share in shares])
    return Lots(torch.from_numpy(alphas).to(device), torch.from_numpy(tables).to(device))


def gained(entries: Entries, step: DeviceStep, proxy_size: int) -> torch.Tensor:
    """What is added to the logit of each entry: float64 (n,), nats.

    Args:
        entries: the candidates; all candidates of one proxy token at a place share a lot.
        step: the places.
        proxy_size: number of the proxy's tokens.
    """
    device, places = entries.mass.device, len(step.seeds)
    lots, level = lots_on(step.places.strengths, device), step.levels.long()
    shown, runner = torch.unique(entries.place * proxy_size + entries.token, return_inverse=True)
    place = shown // proxy_size
    zeros = torch.zeros(len(shown), dtype=torch.int64, device=device)
    mass = zeros.index_add(0, runner, entries.mass).double().log()
    rank = torch.empty_like(zeros).index_copy_(0, runner, entries.rank)  # all entries of a runner have one
    number = (mass + lots.of(level[place], rank)) / lots.alphas[level[place]]
    return (number - _log_sums(number, place, places) + _log_sums(mass, place, places) - mass)[runner]


def _log_sums(logs: torch.Tensor, place: torch.Tensor, places: int) -> torch.Tensor:
    """The logarithm of the sum at its place of what each has the logarithm of: float64 (n,)."""
    top = torch.full((places,), -torch.inf, dtype=torch.float64, device=logs.device)
    top = top.scatter_reduce(0, place, logs, "amax")[place]
    sums = torch.zeros(places, dtype=torch.float64, device=logs.device).index_add_(0, place, (logs - top).exp())
    return sums.log()[place] + top


def mark(logits: torch.Tensor, likely: torch.Tensor, tables: Tables, step: DeviceStep) -> None:
    """Mark rows of logits in place; see :data:`ctwl_encoder.core.device.forms.Form`."""
    entries = entries_of(likely, tables, step)
    add(logits, entries, step, gained(entries, step, tables.proxy_size))

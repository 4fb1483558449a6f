"""``gumbel`` in plain torch (spec section 8.4): it runs on any device."""

from __future__ import annotations

import torch

from ...device.candidates import WORD, Entries, add, entries_of, ranks_of
from ...device.step import DeviceStep, Tables
from ..traits import RANKS


def lots(entries: Entries, step: DeviceStep) -> torch.Tensor:
    """:meth:`ctwl_encoder.core.strategies.traits.Lots.of`: float64 (n,), the lot of each entry's token.

    Args:
        entries: the candidates.
        step: the places, some of which may have lots of the texts' own.
    """
    found = (entries.rank.double() + 0.5) / RANKS
    if not len(step.own):
        return found
    drawn = ranks_of(step.own.long()[entries.place], entries.token)
    limit = (step.limits.long() & WORD)[entries.place]
    return torch.where(drawn < limit, (drawn.double() + 0.5) / limit, found)


def factors(entries: Entries, step: DeviceStep, proxy_size: int) -> torch.Tensor:
    """The factor of each entry's probability: float64 (n,).

    Args:
        entries: the candidates; all candidates of one proxy token at a place share a lot.
        step: the places.
        proxy_size: number of the proxy's tokens.
    """
    device, place, token, places = entries.mass.device, entries.place, entries.token, len(step.seeds)
    shown = place * proxy_size + token
    sums = torch.zeros(places * proxy_size, dtype=torch.int64, device=device).index_add_(0, shown, entries.mass)
    mass = sums[shown].double()
    time = -torch.log1p(-lots(entries, step)) / mass
    earliest = torch.full((places,), torch.inf, dtype=torch.float64, device=device)
    earliest.scatter_reduce_(0, place, time, "amin")
    first = torch.where(time == earliest[place], token, proxy_size)
    winner = torch.full((places,), proxy_size, device=device).scatter_reduce_(0, place, first, "amin")
    total = torch.zeros(places, dtype=torch.int64, device=device).index_add_(0, place, entries.mass)
    return torch.where(token == winner[place], total[place].double() / mass, 0.0)


def mark(logits: torch.Tensor, likely: torch.Tensor, tables: Tables, step: DeviceStep) -> None:
    """Mark rows of logits in place; see :data:`ctwl_encoder.core.device.forms.Form`."""
    entries = entries_of(likely, tables, step)
    add(logits, entries, step, factors(entries, step, tables.proxy_size).log())

"""The strategies in plain torch: they run on any device. :mod:`.kernels` does the same on GPUs in a few passes.

Probabilities are added as integers, in units of 2^-60. A float32 above 2^-37 is a whole number of these, so sums are
exact, and do not depend on the order in which a device adds: all workers of a server mark alike.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from ctwl_protocol.hashing import GOLDEN

from ..bridge import NEGLIGIBLE
from ..strategies import Strategy
from .step import DeviceStep, Tables

__all__ = ["DIGITS", "Entries", "entries_of", "half_factors", "merging", "race_factors", "reweigh"]

UNIT = 2.0**60
"""Units of an integer probability in 1."""

DIGITS = (12, 12, 8)
"""Bits of the three digits of a rank, leading bits first, by which the border of the half is found."""

_WORD = 0xFFFFFFFF


class Entries(NamedTuple):
    """Candidates at places; one that merges with the tail may be at several.

    Attributes:
        row, candidate: int64 (n,), the row and token of the probabilities.
        place: int64 (n,).
        token: int64 (n,), the proxy token that it shows there.
        rank: int64 (n,), the token's rank there.
        mass: int64 (n,), the candidate's probability in units of 2^-60.
    """

    row: torch.Tensor
    candidate: torch.Tensor
    place: torch.Tensor
    token: torch.Tensor
    rank: torch.Tensor
    mass: torch.Tensor

    def where(self, kept: torch.Tensor) -> Entries:
        """Some of the entries."""
        return Entries(*(column[kept] for column in self))


def fmix32(x: torch.Tensor) -> torch.Tensor:
    """:func:`ctwl_protocol.hashing.fmix32` of int64 in [0, 2^32)."""
    x = ((x ^ (x >> 16)) * 0x85EBCA6B) & _WORD
    x = ((x ^ (x >> 13)) * 0xC2B2AE35) & _WORD
    return x ^ (x >> 16)


def merging(likely: torch.Tensor, tables: Tables, step: DeviceStep) -> torch.Tensor:
    """The candidates that may merge with the tail and are likely enough to be tokenized with it.

    Args:
        likely: float32 (n, size), the probabilities of the step's rows.
        tables: the bridge's.
        step: the places.

    Returns:
        int32 (n, most), the candidates of each row in any order; -1 behind the last.
    """
    row, candidate = torch.nonzero(likely >= tables.floor, as_tuple=True)
    found = step.place_of[row, tables.opening[candidate]] == -1
    row, candidate = row[found], candidate[found]
    reported = torch.full((len(step.rows), tables.most), -1, dtype=torch.int32, device=likely.device)
    before = torch.searchsorted(row, torch.arange(len(step.rows), device=row.device))
    reported[row, torch.arange(len(row), device=row.device) - before[row]] = candidate.int()
    return reported


def entries_of(likely: torch.Tensor, tables: Tables, step: DeviceStep) -> Entries:
    """The candidates at the places of a step; the arguments are those of :func:`merging`."""
    row, candidate = torch.nonzero(likely > NEGLIGIBLE, as_tuple=True)
    place = step.place_of[row, tables.opening[candidate]].long()
    own = (place >= 0).nonzero(as_tuple=True)[0]
    row, candidate, place = row[own], candidate[own], place[own]
    token = tables.first[candidate].long()
    if len(step.joined):
        more = step.joined[likely[step.joined[:, 0], step.joined[:, 1]] >= tables.floor].long()
        columns = zip((row, candidate, place, token), more.unbind(1), strict=True)
        row, candidate, place, token = (torch.cat(pair) for pair in columns)
    if len(step.seen):
        seen = torch.zeros((len(step.seeds), tables.proxy_size), dtype=torch.bool, device=likely.device)
        seen[step.seen[:, 0], step.seen[:, 1]] = True
        fresh = ~seen[place, token]
        row, candidate, place, token = row[fresh], candidate[fresh], place[fresh], token[fresh]
    rank = fmix32(((token * GOLDEN) & _WORD) ^ (step.seeds.long() & _WORD)[place])
    return Entries(row, candidate, place, token, rank, (likely[row, candidate] * UNIT).long())


def half_factors(entries: Entries, places: int) -> torch.Tensor:
    """``unbiased`` (spec section 8.3): float64 (n,), the factor of each entry's probability.

    The border of the half is found digit by digit of the ranks, without a sort.

    Args:
        entries: the candidates.
        places: number of places.
    """
    device = entries.mass.device
    zeros = torch.zeros(places, dtype=torch.int64, device=device)
    total = zeros.index_add(0, entries.place, entries.mass)
    border, before, inside, shift = zeros, zeros, entries, 32
    for bits in DIGITS:
        shift -= bits
        digit = (inside.rank >> shift) & ((1 << bits) - 1)
        histogram = torch.zeros(places << bits, dtype=torch.int64, device=device)
        histogram.index_add_(0, (inside.place << bits) | digit, inside.mass)
        running = before[:, None] + histogram.view(places, -1).cumsum(1)
        bucket = (2 * running < total[:, None]).sum(1).clamp(max=(1 << bits) - 1)
        reached = running.gather(1, bucket[:, None])[:, 0]
        before = reached - histogram.view(places, -1).gather(1, bucket[:, None])[:, 0]
        border = (border << bits) | bucket
        inside = inside.where(digit == bucket[inside.place])
    share = ((total - 2 * before).double() / (reached - before).clamp(min=1)).clamp(0, 2)
    rank, border = entries.rank, border[entries.place]
    return torch.where(rank == border, share[entries.place], 2.0 * (rank < border))


def race_factors(entries: Entries, places: int, proxy_size: int) -> torch.Tensor:
    """``gumbel`` (spec section 8.4): float64 (n,), the factor of each entry's probability.

    Args:
        entries: the candidates; those of one proxy token share one lot.
        places: number of places.
        proxy_size: number of the proxy's tokens.
    """
    device, place, token = entries.mass.device, entries.place, entries.token
    shown = place * proxy_size + token
    sums = torch.zeros(places * proxy_size, dtype=torch.int64, device=device).index_add_(0, shown, entries.mass)
    mass = sums[shown].double()
    time = -torch.log1p(-(entries.rank.double() + 0.5) / 2.0**32) / mass
    earliest = torch.full((places,), torch.inf, dtype=torch.float64, device=device)
    earliest.scatter_reduce_(0, place, time, "amin")
    first = torch.where(time == earliest[place], token, proxy_size)
    winner = torch.full((places,), proxy_size, device=device).scatter_reduce_(0, place, first, "amin")
    total = torch.zeros(places, dtype=torch.int64, device=device).index_add_(0, place, entries.mass)
    return torch.where(token == winner[place], total[place].double() / mass, 0.0)


def reweigh(logits: torch.Tensor, likely: torch.Tensor, tables: Tables, step: DeviceStep, strategy: Strategy) -> None:
    """Mark rows of logits in place.

    Args:
        logits: float (rows, size), contiguous.
        likely: float32 (n, size), the softmax of the step's rows.
        tables: the bridge's.
        step: the places.
        strategy: one that keeps the distribution.
    """
    entries = entries_of(likely, tables, step)
    places = len(step.seeds)
    if strategy is Strategy.GUMBEL:
        factors = race_factors(entries, places, tables.proxy_size)
    else:
        factors = half_factors(entries, places)
    flat = step.rows.long()[entries.row] * logits.shape[1] + entries.candidate
    logits.view(-1).index_add_(0, flat, factors.log().to(logits.dtype))

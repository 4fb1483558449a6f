"""The candidates at the places of a step, in plain torch: what the strategies share. It runs on any device.

Probabilities are added as integers, in units of 2^-60. A float32 above 2^-37 is a whole number of these, so sums are
exact, and do not depend on the order in which a device adds: all workers of a server mark alike.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from ctwl_protocol.bridge.bridge import NEGLIGIBLE
from ctwl_protocol.hashing import GOLDEN

from .step import DeviceStep, Tables

UNIT = 2.0**60
"""Units of an integer probability in 1."""

DIGITS = (12, 12, 8)
"""Bits of the three digits of a rank, leading bits first, by which the border of the half is found."""

WORD = 0xFFFFFFFF
"""The low 32 bits."""


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
    x = ((x ^ (x >> 16)) * 0x85EBCA6B) & WORD
    x = ((x ^ (x >> 13)) * 0xC2B2AE35) & WORD
    return x ^ (x >> 16)


def ranks_of(seed: torch.Tensor, token: torch.Tensor) -> torch.Tensor:
    """:func:`ctwl_protocol.hashing.ranks_of`: int64, of tokens, int64, under the low 32 bits of seeds, int64."""
    return fmix32(((token * GOLDEN) & WORD) ^ (seed & WORD))


def entries_of(likely: torch.Tensor, tables: Tables, step: DeviceStep) -> Entries:
    """The candidates at the places of a step.

    Args:
        likely: float32 (n, size), the probabilities of the step's rows.
        tables: the bridge's.
        step: the places.
    """
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
        unseen = ~seen[place, token]
        row, candidate, place, token = row[unseen], candidate[unseen], place[unseen], token[unseen]
    rank = ranks_of(step.seeds.long()[place], token)
    return Entries(row, candidate, place, token, rank, (likely[row, candidate] * UNIT).long())


def members(weights: torch.Tensor, seeds: torch.Tensor, sigma: tuple[int, int]) -> torch.Tensor:
    """:func:`ctwl_protocol.partition.reference.members`, bit for bit: bool (rows, |V|).

    Args:
        weights: int32 (rows, |V|), the proxy's.
        seeds: int64 (rows,), of the permutations.
        sigma: numerator and denominator.
    """
    rows, size = weights.shape
    rank = ranks_of(seeds[:, None], torch.arange(size, device=weights.device))
    row = torch.arange(rows, device=weights.device)[:, None].expand(rows, size)
    border = _border(row.reshape(-1), rank.view(-1), weights.long().view(-1), rows, sigma)
    return (rank <= border[:, None]) & (weights.long().sum(1) > 0)[:, None]


def _border(
    place: torch.Tensor, rank: torch.Tensor, mass: torch.Tensor, places: int, sigma: tuple[int, int]
) -> torch.Tensor:
    """The rank at which the running mass of a place reaches a share of the whole, without a sort: int64 (places,).

    It is found digit by digit.

    Args:
        place: int64 (n,), the place of each mass.
        rank: int64 (n,), its rank there.
        mass: int64 (n,); a place's sum times the share's denominator must be below 2^63.
        places: number of places.
        sigma: the share: numerator, denominator.
    """
    zeros = torch.zeros(places, dtype=torch.int64, device=mass.device)
    total = zeros.index_add(0, place, mass)
    found, before, shift = zeros, zeros, 32
    for bits in DIGITS:
        shift -= bits
        digit = (rank >> shift) & ((1 << bits) - 1)
        histogram = torch.zeros(places << bits, dtype=torch.int64, device=mass.device)
        histogram = histogram.index_add_(0, (place << bits) | digit, mass).view(places, -1)
        running = before[:, None] + histogram.cumsum(1)
        bucket = (sigma[1] * running < sigma[0] * total[:, None]).sum(1).clamp(max=(1 << bits) - 1)
        before = (running - histogram).gather(1, bucket[:, None])[:, 0]
        found = (found << bits) | bucket
        inside = digit == bucket[place]
        place, rank, mass = place[inside], rank[inside], mass[inside]
    return found


def masses(entries: Entries, places: int) -> torch.Tensor:
    """The probability that candidates have together at each place: float64 (places,)."""
    sums = torch.zeros(places, dtype=torch.int64, device=entries.mass.device)
    return sums.index_add_(0, entries.place, entries.mass).double() / UNIT


def add(logits: torch.Tensor, entries: Entries, step: DeviceStep, nats: torch.Tensor) -> None:
    """Add to the logits of entries, in place.

    Args:
        logits: float (rows, size), contiguous.
        entries: the candidates.
        step: the places.
        nats: float (n,).
    """
    flat = step.rows.long()[entries.row] * logits.shape[1] + entries.candidate
    logits.view(-1).index_add_(0, flat, nats.to(logits.dtype))

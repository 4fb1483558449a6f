"""``gumbel`` as Triton kernels (spec section 8.4): what :mod:`.plain` does, in two passes over the candidates."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ...device.kernels import BLOCK, NUMBERS, UNALIGNED, Visit, candidates, mass_of, ranks_of
from ...device.step import DeviceStep, Tables
from ..traits import RANKS

_RANKS = tl.constexpr(float(RANKS))
_SERIES = tl.constexpr(1e-4)
"""Below it a series is closer to ``-ln(1 - u)`` than float64's logarithm of ``1 - u``."""


@triton.jit(do_not_specialize=NUMBERS, do_not_specialize_on_alignment=UNALIGNED)
def _masses(
    likely, place_of, seeds, opening, first, joined, seen, size, count, floor, sums,
    PROXY: tl.constexpr, OPENINGS: tl.constexpr, SEEN: tl.constexpr, JOINED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The mass of each proxy token at its place."""
    live, _, _, place, token, chance = candidates(
        likely, place_of, opening, first, joined, seen, size, count, floor, PROXY, OPENINGS, SEEN, JOINED, BLOCK
    )
    tl.atomic_add(sums + place.to(tl.int64) * PROXY + token, mass_of(chance), mask=live, sem="relaxed")


@triton.jit(do_not_specialize_on_alignment=UNALIGNED)
def _race(
    sums, seeds, own, limits, times, winners, parts, blocks,
    PROXY: tl.constexpr, FRESH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The earliest token of a block of the proxy's vocabulary at a place, and the block's mass."""
    place, block = tl.program_id(0), tl.program_id(1)
    token = block * BLOCK + tl.arange(0, BLOCK)
    live = token < PROXY
    mass = tl.load(sums + place.to(tl.int64) * PROXY + token, mask=live, other=0)
    u = (ranks_of(seeds, place, token, True).to(tl.float64) + 0.5) / _RANKS
    if FRESH:
        drawn = ranks_of(own, place, token, True).to(tl.float64)
        limit = tl.load(limits + place).to(tl.uint32, bitcast=True).to(tl.float64)
        u = tl.where(drawn < limit, (drawn + 0.5) / tl.maximum(limit, 1.0), u)
    exponential = tl.where(u < _SERIES, u * (1 + u * (0.5 + u / 3)), -tl.log(1 - u))
    time = tl.where(mass > 0, exponential / tl.maximum(mass, 1).to(tl.float64), float("inf"))
    earliest = tl.min(time, 0)
    tl.store(times + place * blocks + block, earliest)
    tl.store(winners + place * blocks + block, tl.min(tl.where(time == earliest, token, PROXY), 0))
    tl.store(parts + place * blocks + block, tl.sum(mass, 0))


def mark(logits: torch.Tensor, likely: torch.Tensor, tables: Tables, step: DeviceStep) -> None:
    """Mark rows of logits in place; see :data:`ctwl_encoder.core.device.forms.Form`."""
    visit, places, size = Visit(logits, likely, tables, step), len(step.seeds), tables.proxy_size
    sums = torch.zeros(places * size, dtype=torch.int64, device=visit.device)
    visit.each(_masses, sums)
    blocks = triton.cdiv(size, BLOCK)
    times = torch.empty((places, blocks), dtype=torch.float64, device=visit.device)
    winners, parts = torch.empty((2, places, blocks), dtype=torch.int64, device=visit.device)
    _race[(places, blocks)](
        sums, step.seeds, step.own, step.limits, times, winners, parts, blocks,
        PROXY=size, FRESH=len(step.own) > 0, BLOCK=BLOCK,
    )  # fmt: skip
    winner = winners.gather(1, times.argmin(dim=1, keepdim=True))[:, 0]
    won = sums.view(places, -1).gather(1, winner.clamp(max=size - 1)[:, None])[:, 0]
    visit.keep(winner, parts.sum(dim=1).double() / won.clamp(min=1), 0.0, by_rank=False)

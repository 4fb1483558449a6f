"""The strategies as Triton kernels: what :mod:`.plain` does, in a few passes over the vocabulary and without waiting.

Every pass visits the candidates of a step: those that begin a token of their own, block by block of each row, and those
that merge with a tail, from the step's list. Sums are of integers, so the order of atomic additions changes nothing.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from ctwl_protocol.bridge.bridge import NEGLIGIBLE
from ctwl_protocol.bridge.continuations import DEPTH

from ..strategies import RANKS, Strategy
from .plain import DIGITS, UNIT
from .step import DeviceStep, Tables

__all__ = ["merging", "reweigh"]

_BLOCK = 1024
_GOLDEN = tl.constexpr(0x9E3779B1)
_M1, _M2 = tl.constexpr(0x85EBCA6B), tl.constexpr(0xC2B2AE35)
_UNIT = tl.constexpr(UNIT)
_NEGLIGIBLE = tl.constexpr(NEGLIGIBLE)
_DEPTH = tl.constexpr(DEPTH)
_RANKS = tl.constexpr(float(RANKS))
_SERIES = tl.constexpr(1e-4)
"""Below it a series is closer to ``-ln(1 - u)`` than float64's logarithm of ``1 - u``."""

_UNALIGNED = ["rows", "place_of", "seeds", "own", "limits", "joined", "before", "parts"]
"""Arrays that are cut from larger ones, so their alignment varies by step. Triton would compile a variant for each
alignment while serving."""

_NUMBERS = ["count", "shift"]
"""Numbers that vary by step, for which it would do the same."""

# What a visit does.
_DIGIT, _SUM, _KEEP_HALF, _KEEP_WINNER, _REPORT = (tl.constexpr(mode) for mode in range(5))


@triton.jit
def _fmix32(x):
    x = x ^ (x >> 16)
    x = x * _M1
    x = x ^ (x >> 13)
    x = x * _M2
    return x ^ (x >> 16)


@triton.jit
def _factor(place, token, live, seeds, seen, at, value, PROXY: tl.constexpr, SEEN: tl.constexpr, MODE: tl.constexpr):
    """The logarithm of the factor of candidates at their places, 0 for those that keep their probability."""
    if SEEN:
        live = live & (tl.load(seen + place.to(tl.int64) * PROXY + token, mask=live, other=0) == 0)
    border = tl.load(at + place, mask=live, other=0)
    share = tl.load(value + place, mask=live, other=1.0)
    if MODE == _KEEP_HALF:
        seed = tl.load(seeds + place, mask=live, other=0).to(tl.uint32, bitcast=True)
        rank = _fmix32(seed ^ (token.to(tl.uint32) * _GOLDEN)).to(tl.int64)
        factor = tl.where(rank == border, share, tl.where(rank < border, 2.0, 0.0))
    else:
        factor = tl.where(token == border, share, 0.0)
    logarithm = tl.where(factor > 0, tl.log(tl.where(factor > 0, factor, 1.0)), float("-inf"))
    return tl.where(live, logarithm, 0.0)


@triton.jit
def _combined(
    joined, index, count, row, candidate, place, token, live, seeds, seen, at, value,
    PROXY: tl.constexpr, SEEN: tl.constexpr, MODE: tl.constexpr,
):  # fmt: skip
    """Which entries are the first of their candidate, and the logarithms of the factors of all its entries together.

    Entries of one candidate stand together, and the first adds them up. So no two threads change one logit.
    """
    earlier = live & (index > 0)
    new = (index == 0) | (tl.load(joined + 4 * index - 4, mask=earlier, other=-1) != row)
    new = new | (tl.load(joined + 4 * index - 3, mask=earlier, other=-1) != candidate)
    total = _factor(place, token, live & new, seeds, seen, at, value, PROXY, SEEN, MODE)
    for further in range(1, _DEPTH):
        beyond = index + further
        same = live & new & (beyond < count)
        same = same & (tl.load(joined + 4 * beyond, mask=same, other=-1) == row)
        same = same & (tl.load(joined + 4 * beyond + 1, mask=same, other=-1) == candidate)
        other_place = tl.load(joined + 4 * beyond + 2, mask=same, other=0)
        other_token = tl.load(joined + 4 * beyond + 3, mask=same, other=0)
        total += _factor(other_place, other_token, same, seeds, seen, at, value, PROXY, SEEN, MODE)
    return new, total


@triton.jit(do_not_specialize=_NUMBERS, do_not_specialize_on_alignment=_UNALIGNED)
def _visit(
    likely, logits, rows, place_of, seeds, first, opening, joined, seen, at, value, sums, reported,
    size, stride, count, floor, shift,
    BITS: tl.constexpr, PROXY: tl.constexpr, OPENINGS: tl.constexpr, MOST: tl.constexpr, SEEN: tl.constexpr,
    JOINED: tl.constexpr, MODE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One pass over the candidates of a step; ``MODE`` says what is done with them.

    ``at`` and ``value`` are of the places: the border of the half and the share of the token there, or the winner of
    the race and its factor.
    """
    if JOINED:
        index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        live = index < count
        row = tl.load(joined + 4 * index, mask=live, other=0)
        candidate = tl.load(joined + 4 * index + 1, mask=live, other=0)
        place = tl.load(joined + 4 * index + 2, mask=live, other=0)
        token = tl.load(joined + 4 * index + 3, mask=live, other=0)
        chance = tl.load(likely + row.to(tl.int64) * size + candidate, mask=live, other=0.0)
        live = live & (chance >= floor)
    else:
        row = tl.zeros((BLOCK,), tl.int32) + tl.program_id(0)
        candidate = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        live = candidate < size
        chance = tl.load(likely + row.to(tl.int64) * size + candidate, mask=live, other=0.0)
        live = live & (chance > _NEGLIGIBLE)
        place = tl.load(
            place_of + row * OPENINGS + tl.load(opening + candidate, mask=live, other=0), mask=live, other=-2
        )
        token = tl.load(first + candidate, mask=live, other=0)
        if MODE == _REPORT:
            live = live & (place == -1) & (chance >= floor)
            number = tl.atomic_add(sums + row, 1, mask=live, sem="relaxed")
            tl.store(reported + row * MOST + number, candidate, mask=live & (number < MOST))
        live = live & (place >= 0)
    if MODE == _KEEP_HALF or MODE == _KEEP_WINNER:
        if JOINED:
            new, total = _combined(
                joined, index, count, row, candidate, place, token, live, seeds, seen, at, value, PROXY, SEEN, MODE
            )
            live = live & new
        else:
            total = _factor(place, token, live, seeds, seen, at, value, PROXY, SEEN, MODE)
        target = logits + tl.load(rows + row, mask=live, other=0).to(tl.int64) * stride + candidate
        tl.store(target, tl.load(target, mask=live, other=0.0) + total, mask=live)
    elif MODE != _REPORT:
        if SEEN:
            live = live & (tl.load(seen + place.to(tl.int64) * PROXY + token, mask=live, other=0) == 0)
        mass = (chance * _UNIT).to(tl.int64)
        if MODE == _SUM:
            tl.atomic_add(sums + place.to(tl.int64) * PROXY + token, mass, mask=live, sem="relaxed")
        else:
            seed = tl.load(seeds + place, mask=live, other=0).to(tl.uint32, bitcast=True)
            rank = _fmix32(seed ^ (token.to(tl.uint32) * _GOLDEN)).to(tl.int64)
            above = tl.load(at + place, mask=live, other=0)
            live = live & ((rank >> (shift + BITS)) == above)
            digit = (rank >> shift) & ((1 << BITS) - 1)
            tl.atomic_add(sums + (place.to(tl.int64) << BITS) + digit, mass, mask=live, sem="relaxed")


@triton.jit(do_not_specialize_on_alignment=_UNALIGNED)
def _select(sums, totals, before, border, share, BITS: tl.constexpr, FIRST: tl.constexpr):
    """The digit at which the running mass of a place reaches half of its total, and what lies before it."""
    place = tl.program_id(0)
    buckets = tl.arange(0, 1 << BITS)
    mass = tl.load(sums + (place.to(tl.int64) << BITS) + buckets)
    earlier = tl.load(before + place)
    running = tl.cumsum(mass, 0) + earlier
    if FIRST:
        total = tl.sum(mass, 0)
        tl.store(totals + place, total)
    else:
        total = tl.load(totals + place)
    bucket = tl.minimum(tl.sum((2 * running < total).to(tl.int32), 0), (1 << BITS) - 1)
    own = tl.sum(tl.where(buckets == bucket, mass, 0), 0)
    earlier = tl.sum(tl.where(buckets == bucket, running, 0), 0) - own
    tl.store(before + place, earlier)
    tl.store(border + place, (tl.load(border + place) << BITS) | bucket.to(tl.int64))
    part = (total - 2 * earlier).to(tl.float64) / tl.maximum(own, 1).to(tl.float64)
    tl.store(share + place, tl.minimum(tl.maximum(part, 0.0), 2.0))


@triton.jit
def _ranks(seeds, place, token):
    """The ranks of tokens at a place."""
    seed = tl.load(seeds + place).to(tl.uint32, bitcast=True)
    return _fmix32(seed ^ (token.to(tl.uint32) * _GOLDEN)).to(tl.float64)


@triton.jit(do_not_specialize_on_alignment=_UNALIGNED)
def _race(
    sums, seeds, own, limits, times, winners, parts, blocks,
    PROXY: tl.constexpr, FRESH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The earliest token of a block of the proxy's vocabulary at a place, and the block's mass."""
    place, block = tl.program_id(0), tl.program_id(1)
    token = block * BLOCK + tl.arange(0, BLOCK)
    live = token < PROXY
    mass = tl.load(sums + place.to(tl.int64) * PROXY + token, mask=live, other=0)
    u = (_ranks(seeds, place, token) + 0.5) / _RANKS
    if FRESH:
        drawn = _ranks(own, place, token)
        limit = tl.load(limits + place).to(tl.uint32, bitcast=True).to(tl.float64)
        u = tl.where(drawn < limit, (drawn + 0.5) / tl.maximum(limit, 1.0), u)
    exponential = tl.where(u < _SERIES, u * (1 + u * (0.5 + u / 3)), -tl.log(1 - u))
    time = tl.where(mass > 0, exponential / tl.maximum(mass, 1).to(tl.float64), float("inf"))
    earliest = tl.min(time, 0)
    tl.store(times + place * blocks + block, earliest)
    tl.store(winners + place * blocks + block, tl.min(tl.where(time == earliest, token, PROXY), 0))
    tl.store(parts + place * blocks + block, tl.sum(mass, 0))


class _Pass:
    """The arguments that all passes of a step share."""

    def __init__(self, likely: torch.Tensor, logits: torch.Tensor, tables: Tables, step: DeviceStep) -> None:
        self.likely, self.logits, self.tables, self.step = likely, logits, tables, step
        device, places = likely.device, len(step.seeds)
        self.seen = torch.empty(0, dtype=torch.uint8, device=device)
        if len(step.seen):
            self.seen = torch.zeros((places, tables.proxy_size), dtype=torch.uint8, device=device)
            one = torch.ones((), dtype=torch.uint8, device=device)  # a number of the host would be waited for
            self.seen.index_put_((step.seen[:, 0], step.seen[:, 1]), one)
        self.at = torch.zeros(places, dtype=torch.int64, device=device)
        self.value = torch.ones(places, dtype=torch.float64, device=device)
        self.none = torch.empty(0, dtype=torch.int64, device=device)

    def run(self, mode: Any, sums: torch.Tensor | None = None, *, bits: int = 0, shift: int = 0) -> None:
        """Visit all candidates."""
        step, size = self.step, self.likely.shape[1]
        for joined in (False, True):
            if joined and not len(step.joined):
                break
            rows, blocks = len(step.rows), triton.cdiv(size, _BLOCK)
            grid = (triton.cdiv(len(step.joined), _BLOCK),) if joined else (rows, blocks)
            _visit[grid](
                self.likely, self.logits, step.rows, step.place_of, step.seeds, self.tables.first, self.tables.opening,
                step.joined, self.seen, self.at, self.value, self.none if sums is None else sums, step.rows,
                size, self.logits.stride(0), len(step.joined), self.tables.floor, shift,
                BITS=bits, PROXY=self.tables.proxy_size, OPENINGS=step.place_of.shape[1], MOST=1,
                SEEN=len(step.seen) > 0, JOINED=joined, MODE=mode, BLOCK=_BLOCK,
            )  # fmt: skip


def merging(likely: torch.Tensor, tables: Tables, step: DeviceStep) -> torch.Tensor:
    """See :func:`ctwl_encoder.core.device.plain.merging`."""
    reported = torch.full((len(step.rows), tables.most), -1, dtype=torch.int32, device=likely.device)
    counts = torch.zeros(len(step.rows), dtype=torch.int32, device=likely.device)
    size = likely.shape[1]
    _visit[(len(step.rows), triton.cdiv(size, _BLOCK))](
        likely, likely, step.rows, step.place_of, step.seeds, tables.first, tables.opening, step.joined, counts, counts,
        likely, counts, reported, size, size, 0, tables.floor, 0,
        BITS=0, PROXY=tables.proxy_size, OPENINGS=step.place_of.shape[1], MOST=tables.most, SEEN=False, JOINED=False,
        MODE=_REPORT, BLOCK=_BLOCK,
    )  # fmt: skip
    return reported


def reweigh(
    logits: torch.Tensor,
    likely: torch.Tensor,
    tables: Tables,
    step: DeviceStep,
    strategy: Strategy,
) -> None:
    """See :func:`ctwl_encoder.core.device.plain.reweigh`."""
    visit = _Pass(likely, logits, tables, step)
    device, places = likely.device, len(step.seeds)
    if strategy is Strategy.GUMBEL:
        sums = torch.zeros(places * tables.proxy_size, dtype=torch.int64, device=device)
        visit.run(_SUM, sums)
        blocks = triton.cdiv(tables.proxy_size, _BLOCK)
        times = torch.empty((places, blocks), dtype=torch.float64, device=device)
        winners, parts = torch.empty((2, places, blocks), dtype=torch.int64, device=device)
        _race[(places, blocks)](
            sums, step.seeds, step.own, step.limits, times, winners, parts, blocks,
            PROXY=tables.proxy_size, FRESH=len(step.own) > 0, BLOCK=_BLOCK,
        )  # fmt: skip
        block = times.argmin(dim=1, keepdim=True)
        visit.at = winners.gather(1, block)[:, 0]
        won = sums.view(places, -1).gather(1, visit.at.clamp(max=tables.proxy_size - 1)[:, None])[:, 0]
        visit.value = parts.sum(dim=1).double() / won.clamp(min=1)
        visit.run(_KEEP_WINNER)
        return
    if strategy is not Strategy.UNBIASED:
        raise NotImplementedError(f"{strategy} has no kernel")
    totals, before = torch.zeros((2, places), dtype=torch.int64, device=device)
    shift = 32
    for level, bits in enumerate(DIGITS):
        shift -= bits
        sums = torch.zeros(places << bits, dtype=torch.int64, device=device)
        visit.run(_DIGIT, sums, bits=bits, shift=shift)
        _select[(places,)](sums, totals, before, visit.at, visit.value, BITS=bits, FIRST=level == 0)
    visit.run(_KEEP_HALF)

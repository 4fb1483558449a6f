"""``race`` as Triton kernels (spec section 8.3): what :mod:`.plain` does, in three passes.

The first adds the masses of the tokens that run, the second gives them their numbers, the third adds to the logits.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ctwl_protocol.bridge.continuations import DEPTH

from ...device.kernels import BLOCK, NUMBERS, UNALIGNED, Visit, candidates, mass_of, ranks_of, unseen
from ...device.step import DeviceStep, Tables
from .lots import CELLS, FIRST, LAST, RANKS
from .plain import lots_on

_DEPTH = tl.constexpr(DEPTH)
_RANKS = tl.constexpr(float(RANKS))
_FIRST, _CELLS = tl.constexpr(FIRST), tl.constexpr(CELLS)
_CELLS_PER_UNIT = tl.constexpr(CELLS / (LAST - FIRST))
_SERIES = tl.constexpr(1e-4)
"""Below it a series is closer to ``-ln(1 - x)`` than float64's logarithm of ``1 - x``."""


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


@triton.jit
def _number(place, token, live, mass, seeds, levels, alphas, tables):
    """The number in the race, without what chance adds, of a token with a mass, in nats."""
    level = tl.load(levels + place, mask=live, other=0)
    x = (ranks_of(seeds, place, token, live).to(tl.float64) + 0.5) / _RANKS
    exponential = tl.where(x < _SERIES, x * (1 + x * (0.5 + x / 3)), -tl.log(1 - x))
    at = (-tl.log(exponential) - _FIRST) * _CELLS_PER_UNIT
    cell = tl.minimum(tl.maximum(at, 0.0), _CELLS - 1.0).to(tl.int32)
    row = tables + level.to(tl.int64) * (_CELLS + 1) + cell
    low = tl.load(row, mask=live, other=0.0)
    lot = low + (at - cell) * (tl.load(row + 1, mask=live, other=0.0) - low)
    return (tl.log(tl.maximum(mass, 1).to(tl.float64)) + lot) / tl.load(alphas + level, mask=live, other=1.0)


@triton.jit(do_not_specialize_on_alignment=UNALIGNED)
def _run(
    sums, seeds, levels, alphas, tables, tops, weights, parts, blocks, PROXY: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """Of a block of the proxy's vocabulary at a place: the largest number, the sum of all beside it, and the mass."""
    place, block = tl.program_id(0), tl.program_id(1)
    token = block * BLOCK + tl.arange(0, BLOCK)
    live = token < PROXY
    mass = tl.load(sums + place.to(tl.int64) * PROXY + token, mask=live, other=0)
    number = _number(tl.full((BLOCK,), place, tl.int32), token, live, mass, seeds, levels, alphas, tables)
    number = tl.where(mass > 0, number, float("-inf"))
    top = tl.max(number, 0)
    tl.store(tops + place * blocks + block, top)
    beside = tl.where(mass > 0, tl.exp(number - top), 0.0)
    tl.store(weights + place * blocks + block, tl.sum(beside, 0))
    tl.store(parts + place * blocks + block, tl.sum(mass, 0))


@triton.jit
def _gained(
    place, token, live, sums, seen, seeds, levels, alphas, tables, whole, PROXY: tl.constexpr, SEEN: tl.constexpr
):
    """What candidates gain at their places, 0 where they keep their probability."""
    live = unseen(seen, place, token, live, PROXY, SEEN)
    mass = tl.load(sums + place.to(tl.int64) * PROXY + token, mask=live, other=1)
    number = _number(place, token, live, mass, seeds, levels, alphas, tables)
    nats = number - tl.log(tl.maximum(mass, 1).to(tl.float64)) + tl.load(whole + place, mask=live, other=0.0)
    return tl.where(live & (mass > 0), nats, 0.0)


@triton.jit(do_not_specialize=NUMBERS, do_not_specialize_on_alignment=UNALIGNED)
def _add(
    likely, place_of, seeds, opening, first, joined, seen, size, count, floor, logits, rows, stride,
    sums, levels, alphas, tables, whole,
    PROXY: tl.constexpr, OPENINGS: tl.constexpr, SEEN: tl.constexpr, JOINED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Add to each candidate's logit what it gains.

    A candidate of the list may be at several places. Its entries stand together, and the first adds them up, so no two
    threads change one logit.
    """
    live, row, candidate, place, token, _ = candidates(
        likely, place_of, opening, first, joined, seen, size, count, floor, PROXY, OPENINGS, False, JOINED, BLOCK
    )
    if JOINED:
        index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        earlier = live & (index > 0)
        new = (index == 0) | (tl.load(joined + 4 * index - 4, mask=earlier, other=-1) != row)
        live = live & (new | (tl.load(joined + 4 * index - 3, mask=earlier, other=-1) != candidate))
    total = _gained(place, token, live, sums, seen, seeds, levels, alphas, tables, whole, PROXY, SEEN)
    if JOINED:
        for further in range(1, _DEPTH):
            beyond = index + further
            same = live & (beyond < count)
            same = same & (tl.load(joined + 4 * beyond, mask=same, other=-1) == row)
            same = same & (tl.load(joined + 4 * beyond + 1, mask=same, other=-1) == candidate)
            place = tl.load(joined + 4 * beyond + 2, mask=same, other=0)
            token = tl.load(joined + 4 * beyond + 3, mask=same, other=0)
            total += _gained(place, token, same, sums, seen, seeds, levels, alphas, tables, whole, PROXY, SEEN)
    target = logits + tl.load(rows + row, mask=live, other=0).to(tl.int64) * stride + candidate
    tl.store(target, tl.load(target, mask=live, other=0.0) + total, mask=live)


def mark(logits: torch.Tensor, likely: torch.Tensor, tables: Tables, step: DeviceStep) -> None:
    """Mark rows of logits in place; see :data:`ctwl_encoder.core.device.forms.Form`."""
    visit, places, size = Visit(likely, tables, step), len(step.seeds), tables.proxy_size
    lots = lots_on(step.places.strengths, visit.device)
    sums = torch.zeros(places * size, dtype=torch.int64, device=visit.device)
    visit.each(_masses, sums)
    blocks = triton.cdiv(size, BLOCK)
    tops, weights = torch.empty((2, places, blocks), dtype=torch.float64, device=visit.device)
    parts = torch.empty((places, blocks), dtype=torch.int64, device=visit.device)
    _run[(places, blocks)](
        sums, step.seeds, step.levels, *lots, tops, weights, parts, blocks, PROXY=size, BLOCK=BLOCK
    )  # fmt: skip
    whole = parts.sum(dim=1).double().log() - (weights.log() + tops).logsumexp(dim=1)
    visit.each(_add, logits, step.rows, logits.stride(0), sums, step.levels, *lots, whole)

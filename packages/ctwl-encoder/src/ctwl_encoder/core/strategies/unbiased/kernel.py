"""``unbiased`` as Triton kernels (spec section 8.3): what :mod:`.plain` does, in four passes over the candidates."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ...device.candidates import DIGITS
from ...device.kernels import NUMBERS, UNALIGNED, Visit, candidates, mass_of, ranks_of
from ...device.step import DeviceStep, Tables


@triton.jit(do_not_specialize=NUMBERS, do_not_specialize_on_alignment=UNALIGNED)
def _digits(
    likely, place_of, seeds, opening, first, joined, seen, size, count, floor, at, sums, shift,
    PROXY: tl.constexpr, OPENINGS: tl.constexpr, SEEN: tl.constexpr, JOINED: tl.constexpr, BLOCK: tl.constexpr,
    BITS: tl.constexpr,
):  # fmt: skip
    """The mass at each digit of the ranks, of the ranks that begin with the digits found so far."""
    live, _, _, place, token, chance = candidates(
        likely, place_of, opening, first, joined, seen, size, count, floor, PROXY, OPENINGS, SEEN, JOINED, BLOCK
    )
    rank = ranks_of(seeds, place, token, live)
    live = live & ((rank >> (shift + BITS)) == tl.load(at + place, mask=live, other=0))
    digit = (rank >> shift) & ((1 << BITS) - 1)
    tl.atomic_add(sums + (place.to(tl.int64) << BITS) + digit, mass_of(chance), mask=live, sem="relaxed")


@triton.jit(do_not_specialize_on_alignment=UNALIGNED)
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


def mark(logits: torch.Tensor, likely: torch.Tensor, tables: Tables, step: DeviceStep) -> None:
    """Mark rows of logits in place; see :data:`ctwl_encoder.core.device.forms.Form`."""
    visit, places = Visit(logits, likely, tables, step), len(step.seeds)
    totals, before, at = torch.zeros((3, places), dtype=torch.int64, device=visit.device)
    share = torch.ones(places, dtype=torch.float64, device=visit.device)
    shift = 32
    for level, bits in enumerate(DIGITS):
        shift -= bits
        sums = torch.zeros(places << bits, dtype=torch.int64, device=visit.device)
        visit.each(_digits, at, sums, shift, BITS=bits)
        _select[(places,)](sums, totals, before, at, share, BITS=bits, FIRST=level == 0)
    visit.keep(at, share, 2.0, by_rank=True)

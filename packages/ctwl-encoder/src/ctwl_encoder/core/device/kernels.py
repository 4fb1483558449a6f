"""What Triton kernels of strategies share: how they visit the candidates of a step.

A kernel visits the candidates that begin a token of their own, block by block of each row, and the candidates that
merge with a tail, from the step's list. Sums are of integers, so the order of atomic additions changes nothing. No
kernel waits for the host.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from ctwl_protocol.bridge.bridge import NEGLIGIBLE

from .candidates import UNIT
from .step import DeviceStep, Tables

BLOCK = 1024
_GOLDEN = tl.constexpr(0x9E3779B1)
_M1, _M2 = tl.constexpr(0x85EBCA6B), tl.constexpr(0xC2B2AE35)
_UNIT = tl.constexpr(UNIT)
_NEGLIGIBLE = tl.constexpr(NEGLIGIBLE)

UNALIGNED = ["rows", "place_of", "seeds", "levels", "joined", "parts"]
"""Arrays that are cut from larger ones, so their alignment varies by step. Triton would compile a variant for each
alignment while serving."""

NUMBERS = ["count"]
"""Numbers that vary by step, for which it would do the same."""


@triton.jit
def _fmix32(x):
    x = x ^ (x >> 16)
    x = x * _M1
    x = x ^ (x >> 13)
    x = x * _M2
    return x ^ (x >> 16)


@triton.jit
def ranks_of(seeds, place, token, live):
    """The ranks, int64, of tokens at places."""
    seed = tl.load(seeds + place, mask=live, other=0).to(tl.uint32, bitcast=True)
    return _fmix32(seed ^ (token.to(tl.uint32) * _GOLDEN)).to(tl.int64)


@triton.jit
def mass_of(chance):
    """A probability in integer units."""
    return (chance * _UNIT).to(tl.int64)


@triton.jit
def unseen(seen, place, token, live, PROXY: tl.constexpr, SEEN: tl.constexpr):
    """Which candidates are live and show a token that was not seen at their place."""
    if SEEN:
        live = live & (tl.load(seen + place.to(tl.int64) * PROXY + token, mask=live, other=0) == 0)
    return live


@triton.jit
def candidates(
    likely, place_of, opening, first, joined, seen, size, count, floor,
    PROXY: tl.constexpr, OPENINGS: tl.constexpr, SEEN: tl.constexpr, JOINED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """A block of the candidates at places: which are live, their row, token, place, proxy token there, probability.

    What was seen at a place is not live where ``SEEN`` is set.
    """
    if JOINED:
        entry = joined + 4 * (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
        live = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK) < count
        row = tl.load(entry, mask=live, other=0)
        candidate = tl.load(entry + 1, mask=live, other=0)
        place = tl.load(entry + 2, mask=live, other=0)
        token = tl.load(entry + 3, mask=live, other=0)
        chance = tl.load(likely + row.to(tl.int64) * size + candidate, mask=live, other=0.0)
        live = live & (chance >= floor)
    else:
        row = tl.zeros((BLOCK,), tl.int32) + tl.program_id(0)
        candidate = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        live = candidate < size
        chance = tl.load(likely + row.to(tl.int64) * size + candidate, mask=live, other=0.0)
        live = live & (chance > _NEGLIGIBLE)
        begins = tl.load(opening + candidate, mask=live, other=0)
        place = tl.load(place_of + row * OPENINGS + begins, mask=live, other=-2)
        token = tl.load(first + candidate, mask=live, other=0)
        live = live & (place >= 0)
    return unseen(seen, place, token, live, PROXY, SEEN), row, candidate, place, token, chance


class Visit:
    """The candidates of a step, as kernels visit them.

    Attributes:
        device: where they are.
    """

    def __init__(self, likely: torch.Tensor, tables: Tables, step: DeviceStep) -> None:
        """Take what a step has; see :data:`ctwl_encoder.core.device.forms.Form`."""
        self._likely, self._tables, self._step = likely, tables, step
        self.device = device = likely.device
        self._seen = torch.empty(0, dtype=torch.uint8, device=device)
        if len(step.seen):
            self._seen = torch.zeros((len(step.seeds), tables.proxy_size), dtype=torch.uint8, device=device)
            one = torch.ones((), dtype=torch.uint8, device=device)  # a number of the host would be waited for
            self._seen.index_put_((step.seen[:, 0], step.seen[:, 1]), one)

    def each(self, kernel: Any, *arguments: Any) -> None:
        """Run a kernel over all candidates, with arguments of its own after the arguments of :func:`candidates`."""
        likely, tables, step = self._likely, self._tables, self._step
        size, count = likely.shape[1], len(step.joined)
        grids = [(len(step.rows), triton.cdiv(size, BLOCK)), *([(triton.cdiv(count, BLOCK),)] if count else [])]
        for joined, grid in enumerate(grids):
            kernel[grid](
                likely, step.place_of, step.seeds, tables.opening, tables.first, step.joined, self._seen,
                size, count, tables.floor, *arguments,
                PROXY=tables.proxy_size, OPENINGS=step.place_of.shape[1], SEEN=len(step.seen) > 0,
                JOINED=joined == 1, BLOCK=BLOCK,
            )  # fmt: skip

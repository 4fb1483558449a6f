"""What :func:`.merging.merging` does, as a Triton kernel."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .kernels import BLOCK, UNALIGNED
from .step import DeviceStep, Tables


@triton.jit(do_not_specialize_on_alignment=UNALIGNED)
def _report(
    likely, place_of, opening, counts, reported, size, floor,
    OPENINGS: tl.constexpr, MOST: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """List the likely candidates that may merge with the tail of their row."""
    row = tl.program_id(0)
    candidate = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    live = candidate < size
    live = live & (tl.load(likely + row.to(tl.int64) * size + candidate, mask=live, other=0.0) >= floor)
    begins = tl.load(opening + candidate, mask=live, other=0)
    live = live & (tl.load(place_of + row * OPENINGS + begins, mask=live, other=-2) == -1)
    number = tl.atomic_add(counts + row + tl.zeros((BLOCK,), tl.int32), 1, mask=live, sem="relaxed")
    tl.store(reported + row * MOST + number, candidate, mask=live & (number < MOST))


def merging(likely: torch.Tensor, tables: Tables, step: DeviceStep) -> torch.Tensor:
    """See :func:`ctwl_encoder.core.device.merging.merging`."""
    rows, size = likely.shape
    reported = torch.full((rows, tables.most), -1, dtype=torch.int32, device=likely.device)
    counts = torch.zeros(rows, dtype=torch.int32, device=likely.device)
    _report[(rows, triton.cdiv(size, BLOCK))](
        likely, step.place_of, tables.opening, counts, reported, size, tables.floor,
        OPENINGS=step.place_of.shape[1], MOST=tables.most, BLOCK=BLOCK,
    )  # fmt: skip
    return reported

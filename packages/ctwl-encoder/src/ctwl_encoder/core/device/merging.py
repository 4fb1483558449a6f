"""Candidates that may merge with the tails of texts: found on the device, tokenized on the host (spec section 8.5)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ctwl_protocol.bridge.bridge import JOINED_TEXT

from ..tails import Tails
from .forms import has_kernels
from .step import DeviceStep, Tables, to_host

STEP_TEXT = 1 << 15
"""Characters that are tokenized for all rows of a step, the shortest tails first: some 10 or 20 milliseconds, however
many texts have tails without an end. Chosen by hand: 256 rows of words take two milliseconds
(evaluation/speed/serving.py)."""


def merging(likely: torch.Tensor, tables: Tables, step: DeviceStep) -> torch.Tensor:
    """The candidates that may merge with the tail and are likely enough to be tokenized with it.

    Args:
        likely: float32 (n, size), the probabilities of the step's rows.
        tables: the bridge's.
        step: the places.

    Returns:
        int32 (n, most), the candidates of each row in any order; -1 after the last.
    """
    row, candidate = torch.nonzero(likely >= tables.floor, as_tuple=True)
    found = step.place_of[row, tables.opening[candidate]] == -1
    row, candidate = row[found], candidate[found]
    reported = torch.full((len(step.rows), tables.most), -1, dtype=torch.int32, device=likely.device)
    before = torch.searchsorted(row, torch.arange(len(step.rows), device=row.device))
    reported[row, torch.arange(len(row), device=row.device) - before[row]] = candidate.int()
    return reported


class Merging:
    """Makes candidates that merge with a tail known to the bridge, once they are likely."""

    def __init__(self, tails: Tails) -> None:
        """Nothing is reported yet."""
        self._tails = tails
        self._reported: tuple[torch.Tensor, torch.cuda.Event | None, NDArray[np.int32]] | None = None
        """The candidates of a step, what says that they were copied to the host, and the tails of their rows."""

    def report(self, likely: torch.Tensor, tables: Tables, step: DeviceStep, tails: NDArray[np.int32]) -> None:
        """Find the candidates of a step, and begin to copy them to the host; nobody waits for it yet.

        Args:
            likely: float32 (n, size), the probabilities of the step's rows.
            tables: the bridge's.
            step: the places.
            tails: int32 (n,), the tails of the rows.
        """
        find = merging
        if has_kernels(likely.device):
            from .merging_kernel import merging as find
        found, copied = find(likely, tables, step), None
        if found.is_cuda:
            on_device, found = found, torch.empty(found.shape, dtype=found.dtype, pin_memory=True)
            found.copy_(on_device, non_blocking=True)
            copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
            copied.record()
        self._reported = found, copied, tails

    def learn(self) -> bool:
        """Wait for what was reported, and tokenize with its tails what was not known; whether there was any."""
        if self._reported is None:
            return False
        (reported, copied, tails), self._reported = self._reported, None
        if copied is not None:
            copied.synchronize()
        new = self._tails.not_tokenized(tails, to_host(reported))
        by_tail: dict[int, set[int]] = {}
        for tail, candidate in zip(tails[new[:, 0]].tolist(), new[:, 1].tolist(), strict=True):
            by_tail.setdefault(tail, set()).add(candidate)
        left = STEP_TEXT
        for tail in sorted(by_tail, key=lambda tail: len(self._tails.tail(tail).text)):
            left -= self._tails.join(tail, sorted(by_tail[tail]), min(JOINED_TEXT, left))
        return bool(by_tail)

"""From logits to rivals as compiled loops, without the weights of a whole vocabulary in memory (spec section 7.4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..partition.kernel import in_chunks, jit
from .rivals import SHARE, Rivals

_MOST = 2 * SHARE + 1
"""Rivals of one place: weights of 8 bits are rounded up from half of a share."""


@jit
def _rivals(
    logits: Any, observed: Any, ordinary: Any, scale: float, tokens: Any, weights: Any, shown: Any, counts: Any,
    start: int, stop: int,
) -> None:  # fmt: skip
    vocabulary = logits.shape[1]
    for i in range(start, stop):
        row = logits[i]
        top = row.max()
        whole = 0.0
        for v in range(vocabulary):
            whole += math.exp(np.float64(row[v]) - np.float64(top))
        # a little below the least logit of a rival, so that the exponential is taken of few tokens
        least = math.log(whole * max(scale / SHARE - 1, 0.25) / scale) + np.float64(top)
        count = 0
        for v in range(vocabulary):
            if (row[v] >= least and ordinary[v]) or v == observed[i]:
                weight = math.floor(math.exp(np.float64(row[v]) - np.float64(top)) / whole * scale + 0.5)
                if v == observed[i]:
                    shown[i] = count
                    weight = max(weight if ordinary[v] else 0, 1)
                if weight * SHARE >= scale or v == observed[i]:
                    tokens[i, count], weights[i, count] = v, weight
                    count += 1
        counts[i] = count


def rivals(
    places: NDArray[np.int64],
    logits: NDArray[np.float32],
    observed: NDArray[np.int64],
    special: Sequence[int],
    weight_bits: int,
) -> Rivals:
    """The rivals at some places of a text; as :meth:`Rivals.of` finds them among the weights of section 7.1.

    Args:
        places: int64 (n,).
        logits: float32 (n, vocabulary).
        observed: int64 (n,), the token that the text shows at each.
        special: the tokens that weigh 0.
        weight_bits: the profile's.
    """
    n, scale = len(places), float(1 << weight_bits)
    tokens, weights = np.empty((2, n, _MOST), dtype=np.uint32)
    shown, counts = np.empty((2, n), dtype=np.int64)
    ordinary = np.ones(logits.shape[1], dtype=np.bool_)
    ordinary[list(special)] = False
    in_chunks(
        lambda start, stop: _rivals(logits, observed, ordinary, scale, tokens, weights, shown, counts, start, stop), n
    )
    starts = np.append(0, counts.cumsum())
    kept = np.arange(_MOST) < counts[:, None]
    total = np.full(n, 1 << weight_bits, dtype=np.uint32)
    return Rivals(places, starts, tokens[kept], weights[kept], starts[:-1] + shown, total)

"""``unbiased`` in NumPy (spec section 8.3): the reference."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.bridge import Branch

from ..traits import Lots


def keep_first_half(branch: Branch, lots: Lots) -> NDArray[np.float64]:
    """The factor of each candidate's probability: float64 (n,).

    The first half of the branch's mass in rank order is kept and doubled, where candidates of one proxy token go
    together. Averaged over permutations the distribution is unchanged. Nearly every token that is kept lies in ``V``,
    because ``V`` is the first half of the proxy's mass in the same order.

    Args:
        branch: the branch.
        lots: the lots of its tokens; their seed alone is used.
    """
    order, first = branch.by_rank(lots.seed)
    running = np.cumsum(branch.mass[order])
    last = np.append(first[1:], len(order)) - 1
    before = np.concatenate([[0.0], running[last[:-1]]])
    mass = running[last] - before
    factor = 2 * np.clip((running[-1] / 2 - before) / np.maximum(mass, 1e-300), 0.0, 1.0)
    kept = np.empty(len(order))
    kept[order] = np.repeat(factor, last - first + 1)
    return kept

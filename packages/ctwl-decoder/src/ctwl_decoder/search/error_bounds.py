"""How likely a record that was read is wrong, and each of its codes (spec section 10.4).

A record that is wrong is wrong in some of its slots and right in the others. It agrees with its check, so there are at
least two wrong slots, and all but one of them decide what the last says. For every such set of slots, the records that
are wrong just there are counted, and the chance is found that one of them scores as much there as what was read.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod

import numpy as np

from ..statistics.null import FLOOR, Null

__all__ = ["convolve", "error_bounds"]


def convolve(nulls: Sequence[Null]) -> Null:
    """The null of the sum of independent scores."""
    first, *others = nulls
    for other in others:
        first = Null(first.lowest + other.lowest, np.convolve(first.probability, other.probability))
    return first


def error_bounds(
    nulls: Sequence[Null], scores: Sequence[int], rivals: Sequence[float], whole: float, layouts: int
) -> tuple[tuple[float, ...], float]:
    """How often records that are wrong in a slot would fit as well as what was read: for each slot, and for any.

    Args:
        nulls: of each slot, the check's last.
        scores: what was read has in each slot.
        rivals: how many codes may be in each slot: in the first, beacons of the same nonce that were searched.
        whole: how many records were searched in all, with other nonces and layouts, and whatever else was searched.
        layouts: how many were tried; in another one no slot but the first would be the same.
    """
    slots = tuple(range(len(nulls)))
    wrong, either = [0.0] * len(nulls), 0.0
    for size in slots[1:]:
        for where in combinations(slots, size + 1):
            if where == slots:
                records = whole
            else:  # the slot with the most choice follows from the others
                free = sorted(float(rivals[slot]) for slot in where)[:-1]
                records = prod(free) * (layouts if where == slots[1:] else 1)
            doubt = records * convolve([nulls[slot] for slot in where]).tail(sum(scores[slot] for slot in where))
            either += doubt
            for slot in where:
                wrong[slot] += doubt
    return tuple(min(1.0, max(p, FLOOR)) for p in wrong), min(1.0, max(either, FLOOR))

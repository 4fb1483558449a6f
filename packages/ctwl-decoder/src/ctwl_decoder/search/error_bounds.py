"""Bounds on the errors of a record that was read: of the whole record, and of each code (spec section 10.4).

A wrong record is wrong in a set of its slots and right in the other slots. It agrees with its check, so the set has at
least two slots, and all but one of them determine the last one. For each such set, the number of records that are wrong
just there is multiplied by the probability that a wrong record scores there at least as high as the one that was read.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod

import numpy as np

from ..statistics.null import FLOOR, Null


def convolve(nulls: Sequence[Null]) -> Null:
    """The null of the sum of independent scores."""
    first, *others = nulls
    for other in others:
        first = Null(first.lowest + other.lowest, np.convolve(first.probability, other.probability))
    return first


def error_bounds(
    nulls: Sequence[Null], scores: Sequence[int], rivals: Sequence[float], whole: float, layouts: int
) -> tuple[tuple[float, ...], float]:
    """How often a record that is wrong in a slot would fit as well as what was read: for each slot, and for any slot.

    Args:
        nulls: the null of each slot, the check's last.
        scores: the score in each slot of what was read.
        rivals: the number of codes that may be in each slot; in the first, the searched beacons of the same nonce.
        whole: the number of tests of the whole record, other nonces and layouts included.
        layouts: the number of layouts that were tried; under another layout only the first slot is the same.
    """
    slots = tuple(range(len(nulls)))
    wrong, either = [0.0] * len(nulls), 0.0
    for size in slots[1:]:
        for where in combinations(slots, size + 1):
            if where == slots:
                records = whole
            else:  # the other slots determine the slot with the most codes
                free = sorted(float(rivals[slot]) for slot in where)[:-1]
                records = prod(free) * (layouts if where == slots[1:] else 1)
            doubt = records * convolve([nulls[slot] for slot in where]).tail(sum(scores[slot] for slot in where))
            either += doubt
            for slot in where:
                wrong[slot] += doubt
    return tuple(min(1.0, max(p, FLOOR)) for p in wrong), min(1.0, max(either, FLOOR))

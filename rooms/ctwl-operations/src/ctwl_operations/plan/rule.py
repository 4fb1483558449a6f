"""The rule by which a marking is recommended, and how often it would choose the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

ENOUGH = 0.9
"""A gentler marking is taken where it is found in this part of the texts in which the one found most is found. Chosen
by hand, as the nine texts in ten that all pages count to."""

RULE = (
    "the command finds the strategy whose code is found most often. It recommends the gentlest one that reaches nine "
    "tenths of that number. The gentlest keeps the model's distribution and has the smallest share, because a larger "
    "share takes more of the variety between texts. Last comes what changes the model's distribution"
)


def choose(found: Sequence[float]) -> int:
    """What to take, by its place.

    Args:
        found: for each marking, the gentlest first, the share of its texts that are found. Where none is found in
            any, the last one is taken, which is the clearest.
    """
    most = max(found)
    if not most:
        return len(found) - 1
    return next(i for i, share in enumerate(found) if share >= ENOUGH * most - 1e-9)


def agreement(found: NDArray[np.float64], picks: NDArray[np.int64]) -> float:
    """The share of the resamples in which the rule takes the same.

    Args:
        found: float64 (markings, groups), the share of a group's texts that are found.
        picks: int64 (resamples, groups), the groups of each resample.
    """
    taken = choose(found.mean(axis=1).tolist())
    resamples = found[:, picks].mean(axis=2).T
    return float(np.mean([choose(each) == taken for each in resamples.tolist()]))

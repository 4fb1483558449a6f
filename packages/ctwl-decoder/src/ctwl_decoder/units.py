"""Units: what one observed token is worth to one colour (spec section 10, step 5).

``count`` is the paper's: 1 where the colour's half holds the token. ``soft`` is the log-likelihood ratio of a marked
text against an unmarked one, where nobody knows which strategy wrote it. ``unbiased`` shows a token with twice the
chance (for sigma = 1/2) if the token lies wholly in the half, and in proportion if it straddles the border. Where that
border lay for the writer the reader knows only roughly: the provider's model is not the proxy, and the text before may
have been edited. So the token is taken for wider than it is. ``delta`` asks only whether the token is a member. The
ratio is a mixture of both, most of it for ``unbiased``: its texts lose next to nothing by that, and those by ``delta``
are read about as well as by the count. And one token that somebody changed must not undo many, so a part of the
positions is taken for unmarked.
"""

from __future__ import annotations

import math
from enum import StrEnum
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.partition import Sigma, is_member

from .evidence import Evidence

__all__ = ["NAT", "STEPS", "Score", "soft_table", "units"]

STEPS = 64
"""The share of a token in a half is rounded down to so many steps."""

NAT = 8
"""Units of the soft score to the nat."""

MARGIN = 6
"""How uncertain the border is, to both sides: one part in so many of the whole mass."""

UNBIASED = (3, 4)
"""Share of the marked texts that the soft score takes to be by ``unbiased``; the others are by ``delta``."""

ODDS = 4
"""How many times as likely as another token a member is in a text by ``delta``: e^delta."""

UNMARKED = (1, 5)
"""Share of the positions that the soft score takes for unmarked."""


class Score(StrEnum):
    """How positions are scored."""

    SOFT = "soft"
    COUNT = "count"


@cache
def soft_table(sigma: Sigma) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Units of tokens outside a colour's half and of its members, at each step ``q`` from 0 to ``STEPS``.

    ``round(NAT * ln((1 - e) * (a * (q / STEPS) / sigma + (1 - a) * r) + e))``, with ``r`` the ratio by ``delta``.
    """
    share, a, e = (part / whole for part, whole in (sigma, UNBIASED, UNMARKED))

    def row(r: float) -> tuple[int, ...]:
        return tuple(
            round(NAT * math.log((1 - e) * (a * (q / STEPS) / share + (1 - a) * r) + e)) for q in range(STEPS + 1)
        )

    other = 1 / (1 + (ODDS - 1) * share)
    return row(other), row(ODDS * other)


def units(score: Score, evidence: Evidence, sigma: Sigma) -> NDArray[np.int8]:
    """Units of every colour at every position: int8 (positions, colours).

    Args:
        score: how to score.
        evidence: where the observed tokens lie.
        sigma: the profile's share of the mass in a half.
    """
    members = is_member(evidence.below, evidence.total[:, None], sigma).astype(np.int8)
    if score is Score.COUNT:
        return members
    numerator, denominator = np.int64(sigma[0]), np.int64(sigma[1])
    total = evidence.total.astype(np.int64)[:, None]
    below, weight = evidence.below.astype(np.int64), evidence.weight.astype(np.int64)[:, None]
    # in parts of 1 / (MARGIN * denominator) of a unit of weight, so that all is exact
    width = MARGIN * denominator * weight + 2 * denominator * total
    inside = total * (MARGIN * numerator + denominator) - MARGIN * denominator * below
    steps = np.clip(inside, 0, width) * STEPS // np.maximum(width, 1)
    table: NDArray[np.int8] = np.array(soft_table(sigma), dtype=np.int8)[members, steps]
    return table

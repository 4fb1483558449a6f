"""Units: what one observed token is worth to one colour (spec section 10, step 5).

``count`` is the paper's: 1 where the colour's half holds the token. ``soft`` is the log-likelihood ratio of a marked
text against an unmarked one, where nobody knows which strategy wrote it. ``unbiased`` shows a token with twice the
chance (for sigma = 1/2) if the token lies wholly in the half, and in proportion if it straddles the border. Where that
border lay for the writer the reader knows only roughly: the provider's model is not the proxy, and the text before may
have been edited. So the token is taken for wider than it is. ``delta`` asks only whether the token is a member. The
ratio is a mixture of both, most of it for ``unbiased``: its texts lose next to nothing by that, and those by ``delta``
are read about as well as by the count. And one token that somebody changed must not undo many, so a part of the
positions is taken for unmarked.

``rank`` is the same ratio for ``gumbel``, which writes the token that comes first in a race by rank: where the token
has the probability ``p``, a rank at the part ``x`` of all ranks is ``(1 - x)^(1/p - 1) / p`` times as likely as by
chance. What the writer saw the proxy knows only roughly, so powers of its own estimate are mixed.
"""

from __future__ import annotations

import math
from enum import StrEnum
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.partition.reference import Sigma, is_member

from .evidence import Evidence

__all__ = ["NAT", "STEPS", "Score", "position_scores", "rank_table", "soft_table"]

STEPS = 64
"""The share of a token in a half is rounded down to so many steps."""

NAT = 8
"""Units of a log-likelihood ratio to the nat."""

MARGIN = 6
"""How uncertain the border is, to both sides: one part in so many of the whole mass."""

UNBIASED = (3, 4)
"""Share of the marked texts that the soft score takes to be by ``unbiased``; the others are by ``delta``."""

ODDS = 4
"""How many times as likely as another token a member is in a text by ``delta``: e^delta."""

UNMARKED = (1, 5)
"""Share of the positions that the soft score takes for unmarked."""

HALVINGS = 12
"""Probabilities are told apart by halvings, and ranks by quarters of them, down to ``2^-HALVINGS``."""

POWERS = (1.0, 0.6, 0.3)
"""The writer's probability of a token is one of these powers of the proxy's, each as likely."""

UNRACED = (3, 10)
"""Share of the positions that the score by rank takes for unmarked."""


class Score(StrEnum):
    """How positions are scored."""

    SOFT = "soft"
    RANK = "rank"
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


@cache
def rank_table() -> tuple[tuple[int, ...], ...]:
    """Units by how likely the token is and where its rank lies.

    Rows are the halvings ``j`` from 0 to ``HALVINGS``, columns the least ranks, then the quarters of each doubling:
    ``round(NAT * ln((1 - e) * mean(((1 - x)^f - (1 - y)^f) / (y - x)) + e))``, over ``f = 2^(k (j + 1/2))`` for ``k``
    in ``POWERS``, where the ranks are those from ``x`` to ``y`` of all.
    """
    doublings = [2.0**-n * (1 + quarter / 4) for n in range(HALVINGS, 0, -1) for quarter in range(4)]
    bounds = list(pairwise([0.0, *doublings, 1.0]))
    e = UNRACED[0] / UNRACED[1]

    def ratio(x: float, y: float, f: float) -> float:
        return (math.pow(1 - x, f) - math.pow(1 - y, f)) / (y - x)

    def value(j: int, x: float, y: float) -> int:
        mean = sum(ratio(x, y, 2 ** (k * (j + 0.5))) for k in POWERS) / len(POWERS)
        return round(NAT * math.log((1 - e) * mean + e))

    return tuple(tuple(value(j, x, y) for x, y in bounds) for j in range(HALVINGS + 1))


def position_scores(score: Score, evidence: Evidence, sigma: Sigma) -> NDArray[np.int8]:
    """Units of every colour at every position: int8 (positions, colours).

    Args:
        score: how to score.
        evidence: where the observed tokens lie.
        sigma: the profile's share of the mass in a half.
    """
    if score is Score.RANK:
        return _by_rank(evidence)
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


def _by_rank(evidence: Evidence) -> NDArray[np.int8]:
    halved = evidence.weight.astype(np.uint64)[:, None] << np.arange(1, HALVINGS + 1, dtype=np.uint64)
    halvings = (halved <= evidence.total[:, None]).sum(axis=1)
    bits = np.frexp(evidence.ranks.astype(np.float64))[1]  # how many a rank has
    quarters = (evidence.ranks >> np.maximum(bits - 3, 0).astype(np.uint32)).astype(np.int64) & 3
    places = np.maximum(4 * (bits - (33 - HALVINGS)) + quarters + 1, 0)
    table: NDArray[np.int8] = np.array(rank_table(), dtype=np.int8)[halvings[:, None], places]
    return table

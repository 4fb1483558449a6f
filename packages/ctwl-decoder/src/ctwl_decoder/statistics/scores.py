"""Scores of positions: what one observed token shows for each colour (spec section 10.1).

``count`` is the paper's score: 1 where the half of the colour holds the token.

``soft`` is a log-likelihood ratio of marked text against unmarked text, for a reader who does not know the strategy. It
mixes three models of the writer:

- ``unbiased`` shows a token that lies wholly in the half with twice the probability (for sigma = 1/2), and a token
  across the border in proportion. The reader knows the border only roughly, because the provider's model is not the
  proxy LM and an edit may have changed the context. So the token is taken to be wider than it is.
- ``delta`` depends only on whether the token is a member.
- Some positions are taken to be unmarked, so that one edited token cannot cancel the evidence of many.

``rank`` is the ratio for ``gumbel``, which writes the token with the earliest arrival (Gumbel-max). A token of
probability ``p`` that was written so has the rank ``x``, as a part of all ranks, with the density ``(1 - x)^(1/p - 1) /
p``. The reader knows the writer's ``p`` only roughly, so the ratio mixes powers of the proxy LM's probability.

The constants were chosen on texts of all strategies; ``evaluation/lengths.py`` and ``evaluation/gumbel.py`` measure
what is found with them. They are fixed by the specification.
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
"""Steps to which a token's share in a half is rounded down."""

NAT = 8
"""Units of a score in one nat of log-likelihood ratio."""

MARGIN = 6
"""The border of the half is uncertain by the whole weight over this, to both sides."""

UNBIASED = (3, 4)
"""Weight of ``unbiased`` in the soft score; the rest is ``delta``."""

ODDS = 4
"""Odds of a member against another token in a text by ``delta``: e^delta."""

UNMARKED = (1, 5)
"""Share of the positions that the soft score takes to be unmarked."""

HALVINGS = 12
"""Probabilities are rounded to halvings, and ranks to quarters of halvings, down to ``2^-HALVINGS``."""

POWERS = (1.0, 0.6, 0.3)
"""The writer's probability of a token is taken to be one of these powers of the proxy LM's, with equal weights."""

UNRACED = (3, 10)
"""Share of the positions that the rank score takes to be unmarked."""


class Score(StrEnum):
    """How positions are scored; the light scores, which need no proxy LM, are those of :mod:`.light`."""

    SOFT = "soft"
    RANK = "rank"
    COUNT = "count"
    LIGHT_SOFT = "light-soft"
    LIGHT_RANK = "light-rank"


@cache
def soft_table(sigma: Sigma) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Soft scores of tokens outside a colour's half, and of its members, at each step ``q`` from 0 to ``STEPS``.

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
    """Rank scores by the token's probability and its rank.

    Rows are the halvings ``j`` from 0 to ``HALVINGS``. Columns are intervals ``[x, y)`` of ranks, as parts of all
    ranks: the smallest ranks, then the quarters of each doubling. An entry is ``round(NAT * ln((1 - e) * mean(((1 -
    x)^f - (1 - y)^f) / (y - x)) + e))``, with the mean over ``f = 2^(k (j + 1/2))`` for ``k`` in ``POWERS``.
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
    """The score of every colour at every position: int8 (positions, colours).

    Args:
        score: which score; not a light one, see :func:`.light.light_scores`.
        evidence: where the observed tokens lie in the permutations.
        sigma: the profile's share of the weight in a half, as numerator and denominator.
    """
    if score is Score.RANK:
        return _by_rank(evidence)
    if score not in (Score.SOFT, Score.COUNT):
        raise ValueError(f"{score} needs no evidence of the proxy LM")
    members = is_member(evidence.below, evidence.total[:, None], sigma).astype(np.int8)
    if score is Score.COUNT:
        return members
    numerator, denominator = np.int64(sigma[0]), np.int64(sigma[1])
    total = evidence.total.astype(np.int64)[:, None]
    below, weight = evidence.below.astype(np.int64), evidence.weight.astype(np.int64)[:, None]
    # all in parts of 1 / (MARGIN * denominator) of a unit of weight, so that integers are exact
    width = MARGIN * denominator * weight + 2 * denominator * total
    inside = total * (MARGIN * numerator + denominator) - MARGIN * denominator * below
    steps = np.clip(inside, 0, width) * STEPS // np.maximum(width, 1)
    table: NDArray[np.int8] = np.array(soft_table(sigma), dtype=np.int8)[members, steps]
    return table


def _by_rank(evidence: Evidence) -> NDArray[np.int8]:
    halved = evidence.weight.astype(np.uint64)[:, None] << np.arange(1, HALVINGS + 1, dtype=np.uint64)
    halvings = (halved <= evidence.total[:, None]).sum(axis=1)
    bits = np.frexp(evidence.ranks.astype(np.float64))[1]  # number of bits of each rank
    quarters = (evidence.ranks >> np.maximum(bits - 3, 0).astype(np.uint32)).astype(np.int64) & 3
    places = np.maximum(4 * (bits - (33 - HALVINGS)) + quarters + 1, 0)
    table: NDArray[np.int8] = np.array(rank_table(), dtype=np.int8)[halvings[:, None], places]
    return table

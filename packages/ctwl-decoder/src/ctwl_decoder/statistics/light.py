"""The light scores: what a token's rank shows of a code where no proxy LM weighs the vocabulary (spec section 10.1).

Both are log-likelihood ratios of marked text against unmarked text, and both know the rank alone, as a part ``x`` of
all ranks.

``light-soft`` is for strategies that keep the first half of the mass. At the rank ``x`` about the part ``x`` of the
mass comes before the token, so it is in the half where ``x`` is below ``sigma``. How the mass lies is not known, so the
border is a ramp.

``light-rank`` is for ``gumbel``. A token of probability ``1/f`` that was written so has the density ``f (1 - x)^(f -
1)``. Nothing is known of ``f``, so the ratio mixes powers of 2. The first, ``f = 1``, stands for unmarked positions,
too.

The constants were chosen on texts of all strategies. ``evaluation/light.py`` measures on others what is found with
them, and that a prior of the token's frequency would add next to nothing.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import hashing
from ctwl_protocol.partition.reference import Sigma
from ctwl_protocol.profile.document import Profile
from ctwl_protocol.text.positions import Positions

from .evidence import permutations
from .scores import NAT, UNMARKED, Score

__all__ = ["light_ranks", "light_scores", "light_table"]

STEP_BITS = 6
"""Ranks are told apart in ``2^STEP_BITS`` equal steps; the first step in doublings, too."""

DOUBLINGS = 7
"""Doublings into which the first step is cut."""

RAMP = 1 / 5
"""The border of the half is uncertain by this part of all ranks, to both sides."""

LIKELIER = 2 / 3
"""A probability ``2^-(k + 1)`` of what ``gumbel`` wrote is taken to be so many times as likely as ``2^-k``."""

RAREST = STEP_BITS + DOUBLINGS - 1
"""The smallest probability that the mixture holds is ``2^-RAREST``."""


@cache
def light_table(sigma: Sigma) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The units of ``light-soft`` and of ``light-rank`` at each interval of ranks.

    The intervals are equal steps, the first of them cut into doublings.

    With the interval ``[x, y)`` and its middle ``u``:

    - ``light-soft``: ``round(NAT * ln((1 - e) * clip((sigma + RAMP - u) / (2 RAMP), 0, 1) / sigma + e))``, with ``e``
      the share of unmarked positions, as in the soft score.
    - ``light-rank``: ``round(NAT * ln(sum(w_k ((1 - x)^f - (1 - y)^f) / (y - x))))``, with ``f = 2^k`` and ``w_k``
      proportional to ``LIKELIER^k`` for ``k`` from 0 to ``RAREST``, the sum of the ``w_k`` being 1.
    """
    step = 2.0**-STEP_BITS
    doublings = [step * 2.0**-n for n in range(DOUBLINGS, 0, -1)]
    bounds = list(pairwise([0.0, *doublings, *(step * i for i in range(1, 2**STEP_BITS + 1))]))
    share, e = sigma[0] / sigma[1], UNMARKED[0] / UNMARKED[1]
    parts = [LIKELIER**k for k in range(RAREST + 1)]

    def soft(x: float, y: float) -> float:
        return (1 - e) * min(max((share + RAMP - (x + y) / 2) / (2 * RAMP), 0), 1) / share + e

    def rank(x: float, y: float) -> float:
        ratios = ((math.pow(1 - x, 2**k) - math.pow(1 - y, 2**k)) / (y - x) for k in range(RAREST + 1))
        return sum(w * ratio for w, ratio in zip(parts, ratios, strict=True)) / sum(parts)

    def units(ratio: float) -> int:
        return round(NAT * math.log(ratio))

    return tuple(units(soft(x, y)) for x, y in bounds), tuple(units(rank(x, y)) for x, y in bounds)


def light_ranks(profile: Profile, positions: Positions) -> NDArray[np.uint32]:
    """The rank of each observed token under every colour: uint32 (positions, colours)."""
    contexts, place = np.unique(positions.contexts, axis=0, return_inverse=True)
    seeds = permutations(profile, contexts)[place.reshape(-1)]
    return hashing.ranks_of(seeds, positions.observed[:, None])


def light_scores(score: Score, ranks: NDArray[np.uint32], sigma: Sigma) -> NDArray[np.int8]:
    """The score of every colour at every position: int8 (positions, colours).

    Args:
        score: ``light-soft`` or ``light-rank``.
        ranks: uint32 (positions, colours).
        sigma: the profile's share of the weight in a half, as numerator and denominator.
    """
    found: NDArray[np.int8] = np.take(_by_leading_bits(score, sigma), ranks >> np.uint32(32 - _LEADING))
    return found


_LEADING = STEP_BITS + DOUBLINGS
"""Leading bits of a rank that decide its interval."""


@cache
def _by_leading_bits(score: Score, sigma: Sigma) -> NDArray[np.int8]:
    """The units at each value of a rank's leading bits: int8 (2^_LEADING,)."""
    table, steps = light_table(sigma)[score is Score.LIGHT_RANK], np.arange(1 << _LEADING)
    doubling = np.frexp(steps)[1]  # number of bits: the first step is cut in doublings
    step = steps >> DOUBLINGS
    return np.array(table, dtype=np.int8)[np.where(step, step + DOUBLINGS, doubling)]

"""The light scores: what a token's rank shows of a code where no proxy LM weighs the vocabulary (spec section 10.5).

Both are log-likelihood ratios of marked text against unmarked text. They know the token, and its rank as a part ``x``
of all ranks.

``light-soft`` is for strategies that keep the first half of the mass. At the rank ``x`` about the part ``x`` of the
mass comes before the token, so it is in the half where ``x`` is below ``sigma``. How the mass lies is not known, so the
border is a ramp.

``light-rank`` is for ``race``. A token of probability ``1/f`` that was written so has the density ``f (1 - x)^(f -
1)``. The ratio mixes powers of 2 for ``f``; the first, ``f = 1``, stands for unmarked positions, too. Little is known
of ``f``, but rare tokens have a larger one than common tokens. A tokenizer's ids are in the order of its merges, so the
common tokens have small ids.

``evaluation/reading/light.py`` measures what is found where all tokens are taken to be alike, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import hashing
from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.partition.reference import Sigma
from ctwl_protocol.profile.document import Profile
from ctwl_protocol.text.positions import Positions

from .evidence import permutations
from .scores import NAT, UNMARKED, Score

STEP_BITS = NUMBERS.light.step_bits
"""Ranks are told apart in ``2^STEP_BITS`` equal steps; the first step in doublings, too."""

DOUBLINGS = NUMBERS.light.doublings
"""Doublings into which the first step is cut."""

RAMP = NUMBERS.light.ramp
"""The border of the half is uncertain by this part of all ranks, to both sides."""

LIKELIER = NUMBERS.light.likelier
"""A probability ``2^-(k + 1)`` of what ``race`` wrote is taken to be so many times as likely as ``2^-k``: of the
rarest tokens."""

HALVING = NUMBERS.light.halving
"""So much less for each halving of the id."""

RAREST = STEP_BITS + DOUBLINGS - 1
"""The smallest probability that the mixture holds is ``2^-RAREST``."""


_STEP = 2.0**-STEP_BITS
_BOUNDS = [0.0, *(_STEP * 2.0**-n for n in range(DOUBLINGS, 0, -1)), *(_STEP * i for i in range(1, 2**STEP_BITS + 1))]
_INTERVALS = list(pairwise(_BOUNDS))
"""Equal steps of ranks, the first of them cut into doublings."""


@cache
def soft_table(sigma: Sigma) -> tuple[int, ...]:
    """The units of ``light-soft`` at each interval of ranks.

    With ``u``, the middle of the interval, and ``e``, the share of unmarked positions as in the soft score: ``round(NAT
    * ln((1 - e) * clip((sigma + RAMP - u) / (2 RAMP), 0, 1) / sigma + e))``.
    """
    share, e = sigma[0] / sigma[1], UNMARKED
    inside = (min(max((share + RAMP - (x + y) / 2) / (2 * RAMP), 0), 1) for x, y in _INTERVALS)
    return tuple(round(NAT * math.log((1 - e) * each / share + e)) for each in inside)


@cache
def rank_table(likelier: float) -> tuple[int, ...]:
    """The units of ``light-rank`` at each interval of ranks ``[x, y)``, for tokens of one :func:`likelier`.

    ``round(NAT * ln(sum(w_k ((1 - x)^f - (1 - y)^f) / (y - x))))``, with ``f = 2^k`` and ``w_k`` proportional to
    ``likelier^k`` for ``k`` from 0 to ``RAREST``, the sum of the ``w_k`` being 1.
    """
    parts = [likelier**k for k in range(RAREST + 1)]

    def ratio(x: float, y: float) -> float:
        ratios = ((math.pow(1 - x, 2**k) - math.pow(1 - y, 2**k)) / (y - x) for k in range(RAREST + 1))
        return sum(w * each for w, each in zip(parts, ratios, strict=True)) / sum(parts)

    return tuple(round(NAT * math.log(ratio(x, y))) for x, y in _INTERVALS)


def likelier(vocabulary: int, token: int) -> float:
    """How many times as likely a token is taken to have had half a probability than the whole of it.

    Ids are told apart by their number of bits, so the tokens of a vocabulary have few tables.
    """
    return LIKELIER - HALVING * (vocabulary.bit_length() - token.bit_length())


def light_ranks(profile: Profile, positions: Positions) -> NDArray[np.uint32]:
    """The rank of each observed token under every colour: uint32 (positions, colours)."""
    return hashing.ranks_of(permutations(profile, positions.contexts), positions.observed[:, None])


def light_scores(
    score: Score, ranks: NDArray[np.uint32], tokens: NDArray[np.int64], sigma: Sigma, vocabulary: int
) -> NDArray[np.int8]:
    """The score of every colour at every position: int8 (positions, colours).

    Args:
        score: ``light-soft`` or ``light-rank``.
        ranks: uint32 (positions, colours).
        tokens: int64 (positions,), the observed tokens.
        sigma: the profile's share of the weight in a half, as numerator and denominator.
        vocabulary: the number of the profile's tokens.
    """
    leading = ranks >> np.uint32(32 - _LEADING)
    units: NDArray[np.int8]
    if score is Score.LIGHT_SOFT:
        units = np.take(_by_leading_bits(soft_table(sigma)), leading)
    else:
        units = _rank_tables(vocabulary)[np.frexp(tokens)[1][:, None], leading]
    return units


def light_units(profile: Profile, positions: Positions) -> Mapping[Score, NDArray[np.int8]]:
    """The light scores of a text's positions, see :func:`light_scores`."""
    of = light_ranks(profile, positions), positions.observed, profile.sigma, profile.tokenizer.vocabulary
    return {score: light_scores(score, *of) for score in Score if score.light}


_LEADING = STEP_BITS + DOUBLINGS
"""Leading bits of a rank that decide its interval."""


@cache
def _rank_tables(vocabulary: int) -> NDArray[np.int8]:
    """The units of ``light-rank`` by the number of a token's bits: int8 (bits, 2^_LEADING)."""
    smallest = (1 << bits >> 1 for bits in range(vocabulary.bit_length() + 1))
    return np.stack([_by_leading_bits(rank_table(likelier(vocabulary, token))) for token in smallest])


@cache
def _by_leading_bits(table: tuple[int, ...]) -> NDArray[np.int8]:
    """The units at each value of a rank's leading bits: int8 (2^_LEADING,)."""
    steps = np.arange(1 << _LEADING)
    doubling = np.frexp(steps)[1]  # number of bits: the first step is cut in doublings
    step = steps >> DOUBLINGS
    units: NDArray[np.int8] = np.array(table, dtype=np.int8)[np.where(step, step + DOUBLINGS, doubling)]
    return units

"""Scores of positions: what a text shows there for each colour, by a language model (spec section 10.1).

Both scores are log-likelihood ratios of marked text against unmarked text, for a reader who knows the writer's
distribution only roughly.

``half`` is for ``delta``, and for marks that keep a half and double it: they prefer the first half of the mass in the
order of rank. A token that lies wholly in the half is twice as likely as it is unmarked, a token across the border is
so in proportion. The reader knows the border only roughly, so it is a ramp: the wider, the fewer tokens have most of
the mass, since their errors then do not cancel.

``race`` is for the strategy of this name. Where the code decides the whole race, the token is written that arrives
first: token ``w`` of probability ``p`` and rank ``x``, as a part of all ranks, arrives at ``-ln(1 - x) / p``
(Gumbel-max). How likely the shown token was to win is asked against all that ran. Of a probability that is known up to
a factor with a Gumbel distribution of scale 1, the chance to win is in proportion to ``p / -ln(1 - x)``. A code that
decides a share of the race, and a reader who knows the probabilities, ask for a sharper likelihood; but readers mostly
do not know them, and then it shows less.

Some positions are taken to be unmarked, so that one edited token cannot cancel the evidence of many.

A ratio is divided by its mean over the tokens that the language model expects. So for each single code, over texts that
the model expects, the product of the ratios has the mean 1, see :mod:`.e_value`. The numbers were chosen by hand on
texts of two models. ``evaluation/reading/constants.py`` moves each of them, and ``evaluation/reading/models.py``
measures on other texts what is found.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.partition.reference import Sigma
from ctwl_protocol.proxy.rivals import Rivals
from ctwl_protocol.threads import in_chunks

NAT = NUMBERS.scores.nat
"""Units of a score in one nat of log-likelihood ratio."""

RAMP = NUMBERS.scores.ramp
"""The border of the half is uncertain to both sides by the first of these parts of the mass, and by the second times
the root of the sum of the rivals' squared masses."""

UNMARKED = NUMBERS.scores.unmarked
"""Share of the positions that both scores take to be unmarked."""


class Score(StrEnum):
    """How positions are scored; the light scores, which need no language model, are in :mod:`.light`."""

    HALF = "half"
    RACE = "race"
    LIGHT_SOFT = "light-soft"
    LIGHT_RANK = "light-rank"

    @property
    def light(self) -> bool:
        """Whether it needs no language model."""
        return self in (Score.LIGHT_SOFT, Score.LIGHT_RANK)


def position_scores(
    rivals: Rivals, first: int, permutation_seeds: NDArray[np.uint32], sigma: Sigma
) -> dict[Score, NDArray[np.int8]]:
    """Both scores of every colour at every position: int8 (positions, colours) each.

    Where a position has several sets of rivals, their units are added up; where it has none, all are 0.

    Args:
        rivals: of the text.
        first: the place of the first position.
        permutation_seeds: uint32 (positions, colours).
        sigma: the profile's share of the weight in a half, as numerator and denominator.
    """
    from .compiled import add_units

    share = sigma[0] / sigma[1]
    positions = rivals.places - first
    units = np.empty((2, len(rivals), permutation_seeds.shape[1]), dtype=np.int8)

    def work(start: int, stop: int) -> None:
        shown, total = rivals.shown[start:stop], rivals.total[start:stop]
        some = rivals.starts[start : stop + 1], rivals.tokens, rivals.weights, shown, total
        seeds = permutation_seeds[positions[start:stop]]
        add_units(seeds, some, share, RAMP, UNMARKED, NAT, units[:, start:stop])

    in_chunks(work, len(rivals))
    sums = np.zeros((2, *permutation_seeds.shape), dtype=np.int16)
    for total, each in zip(sums, units, strict=True):
        np.add.at(total, positions, each)
    half, race = np.clip(sums, -127, 127).astype(np.int8)
    return {Score.HALF: half, Score.RACE: race}

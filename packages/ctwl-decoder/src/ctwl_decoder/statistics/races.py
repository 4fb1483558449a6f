"""Races: the token that a text shows at a place, and its rivals there, each with the weight that a model gives it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["RIVALS", "UNIT", "Race", "Races", "races_of"]

RIVALS = 256
"""Tokens beside the one shown that are told apart. Chosen by hand: each costs time at every place."""

UNIT = 1 << 24
"""The weight of all tokens together."""


class Race(NamedTuple):
    """One race, as a model weighs it.

    Attributes:
        place: of the token, in the text's proxy tokens.
        shown: the proxy token that the text shows there.
        tokens: int64 (n,), distinct proxy tokens, the one shown among them.
        mass: float64 (n,), the probability of each.
    """

    place: int
    shown: int
    tokens: NDArray[np.int64]
    mass: NDArray[np.float64]


@dataclass(frozen=True)
class Races:
    """Races of one text. A place may have several, as its token could still change; or none.

    Attributes:
        place: int64 (races,), ascending, the place of the token in the text's proxy tokens.
        tokens: int32 (races, RIVALS + 1), proxy tokens: the one shown, then the others with a weight, by falling weight
            and ascending id, then -1.
        weights: uint32 (races, RIVALS + 1), ``floor(mass * 2^24 + 1/2)`` of each; 0 beside -1.
        rest: uint32 (races,), the weight of all that is not among the tokens.
    """

    place: NDArray[np.int64]
    tokens: NDArray[np.int32]
    weights: NDArray[np.uint32]
    rest: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.place)

    @classmethod
    def of(cls, races: Iterable[Race]) -> Races:
        """Races as arrays; those of one place keep their order."""
        places, tokens, weights = list[int](), list[NDArray[np.int32]](), list[NDArray[np.uint32]]()
        for race in races:
            chosen, weighed = _chosen(race)
            beyond = (0, RIVALS + 1 - len(chosen))
            places.append(race.place)
            tokens.append(np.pad(race.tokens[chosen].astype(np.int32), beyond, constant_values=-1))
            weights.append(np.pad(weighed.astype(np.uint32), beyond))
        place = np.array(places, dtype=np.int64)
        order = np.argsort(place, kind="stable")
        shape = (len(places), RIVALS + 1)
        token, weight = (np.array(rows).reshape(shape)[order] for rows in (tokens, weights))
        rest = np.maximum(UNIT - weight.sum(axis=1, dtype=np.int64), 0)
        return cls(place[order], token.astype(np.int32), weight.astype(np.uint32), rest.astype(np.uint32))


def _chosen(race: Race) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The token shown and at most ``RIVALS`` others: where they are in the race, int64 (k,), and their weights."""
    weights = np.floor(race.mass * UNIT + 0.5).astype(np.int64)
    keys = -(weights << 32) + race.tokens  # ascending: by falling weight, then by id
    is_shown = race.tokens == race.shown
    others = np.flatnonzero(~is_shown & (weights > 0))
    if len(others) > RIVALS:
        others = others[np.argpartition(keys[others], RIVALS)[:RIVALS]]
    chosen = np.concatenate([np.flatnonzero(is_shown), others[np.argsort(keys[others])]])
    return chosen, weights[chosen]


def races_of(weights: NDArray[np.floating], observed: NDArray[np.int64], first_place: int) -> Races:
    """The races of consecutive places, from a model that has the proxy's vocabulary.

    Args:
        weights: float (positions, vocabulary), probabilities of the proxy's tokens.
        observed: int64 (positions,), the token shown at each.
        first_place: the place of the first.
    """
    ids = np.arange(weights.shape[1], dtype=np.int64)
    return Races.of(
        Race(first_place + n, int(shown), ids, mass.astype(np.float64))
        for n, (shown, mass) in enumerate(zip(observed, weights, strict=True))
    )

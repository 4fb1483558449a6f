"""Rivals: the tokens that could well have stood at a place of a text, and the weight of each (spec section 7.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..numbers import NUMBERS
from ..partition.reference import masses_of, quantize
from ..threads import in_chunks

SHARE = NUMBERS.rivals.share
"""A rival has at least the total weight over this, so a place has at most so many."""


@dataclass(frozen=True)
class Rivals:
    """The rivals at places of a text, the places in ascending order; a place may come more than once.

    Attributes:
        places: int64 (n,), the token of the text that each set of rivals competed for.
        starts: int64 (n + 1,), where each set begins in ``tokens`` and ``weights``.
        tokens: uint32 (rivals,), each set's in ascending order; the token that the text shows is among them.
        weights: uint32 (rivals,), of each, at least 1.
        shown: int64 (n,), where in ``tokens`` the token stands that the text shows.
        total: uint32 (n,), the weight of the whole vocabulary.
    """

    places: NDArray[np.int64]
    starts: NDArray[np.int64]
    tokens: NDArray[np.uint32]
    weights: NDArray[np.uint32]
    shown: NDArray[np.int64]
    total: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.places)

    @classmethod
    def of(
        cls,
        places: NDArray[np.int64],
        weights: NDArray[np.uint32],
        observed: NDArray[np.int64],
        total: int | None = None,
    ) -> Rivals:
        """The rivals among the tokens of a vocabulary.

        Args:
            places: int64 (n,).
            weights: uint32 (n, tokens).
            observed: int64 (n,), the token that the text shows.
            total: the weight of the whole vocabulary; None for the sum of the weights.
        """
        totals = weights.sum(axis=1, dtype=np.uint64) if total is None else np.full(len(places), total, np.uint64)
        rival = weights.astype(np.uint64) * np.uint64(SHARE) >= totals[:, None]
        rival[np.arange(len(places)), observed] = True
        row, token = np.nonzero(rival)
        starts = np.searchsorted(row, np.arange(len(places) + 1))
        shown = np.flatnonzero(token == observed[row])
        heavy = np.maximum(weights[row, token], 1)
        return cls(places, starts, token.astype(np.uint32), heavy, shown, totals.astype(np.uint32))

    @classmethod
    def of_logits(
        cls,
        places: NDArray[np.int64],
        logits: NDArray[np.float32],
        observed: NDArray[np.int64],
        special: Sequence[int],
        weight_bits: int,
    ) -> Rivals:
        """The rivals by a proxy LM's logits; see :meth:`of` and :func:`ctwl_protocol.partition.reference.weights_of`.

        Only tokens that may be rivals get a weight. The processors share the places, and take one place at a time, so
        that the whole vocabulary's numbers stay in a cache.
        """
        enough = 1 / SHARE - 2.0**-weight_bits  # a weight is rounded by half of the latter at most

        def some(start: int, stop: int) -> Rivals:
            parts = []
            for i in range(start, stop):
                mass = masses_of(logits[i : i + 1], special)[0]
                likely = mass >= enough
                likely[observed[i]] = True
                tokens = np.flatnonzero(likely)
                weights, shown = quantize(mass[tokens], weight_bits)[None], np.searchsorted(tokens, observed[i : i + 1])
                among = cls.of(places[i : i + 1], weights, shown, 1 << weight_bits)
                parts.append(replace(among, tokens=tokens[among.tokens].astype(np.uint32)))
            return cls.joined(parts)

        return cls.joined(in_chunks(some, len(places)))

    @classmethod
    def joined(cls, parts: Sequence[Rivals]) -> Rivals:
        """The rivals of several stretches of a text, one after the other."""
        sizes = np.cumsum([0, *(len(part.tokens) for part in parts)])
        starts = [part.starts[:-1] + size for part, size in zip(parts, sizes, strict=False)]
        shown = [part.shown + size for part, size in zip(parts, sizes, strict=False)]
        return cls(
            np.concatenate([np.empty(0, np.int64), *(part.places for part in parts)]),
            np.concatenate([*starts, sizes[-1:]]),
            np.concatenate([np.empty(0, np.uint32), *(part.tokens for part in parts)]),
            np.concatenate([np.empty(0, np.uint32), *(part.weights for part in parts)]),
            np.concatenate([np.empty(0, np.int64), *shown]),
            np.concatenate([np.empty(0, np.uint32), *(part.total for part in parts)]),
        )

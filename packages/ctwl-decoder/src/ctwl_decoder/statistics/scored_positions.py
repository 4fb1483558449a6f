"""The scores of a text's positions, and their sums by context (spec section 10, steps 5 and 6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import hashing
from ctwl_protocol.profile.document import Profile
from ctwl_protocol.records import slots
from ctwl_protocol.text.positions import Positions

_colour_seed = lru_cache(maxsize=1 << 16)(hashing.colour_seed)  # of slot 0; with h = 1 there are |V| contexts


@dataclass(frozen=True)
class ScoredPositions:
    """The positions of a text, each with the score of every colour.

    Attributes:
        pairs: int64 (positions, h + 1), the context and the token.
        seeds: uint32 (positions,), the context's colour seed.
        scores: int8 (positions, colours), see :mod:`ctwl_decoder.statistics.scores`.
        slots: uint8 (positions, MAX_CODES), the slot of the position in records of each number of codes.
    """

    pairs: NDArray[np.int64]
    seeds: NDArray[np.uint32]
    scores: NDArray[np.int8]
    slots: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.seeds)

    def __getitem__(self, rows: slice | NDArray[np.bool_] | NDArray[np.int64]) -> ScoredPositions:
        return ScoredPositions(self.pairs[rows], self.seeds[rows], self.scores[rows], self.slots[rows])

    @classmethod
    def of(cls, profile: Profile, positions: Positions, scores: NDArray[np.int8]) -> ScoredPositions:
        """Scored positions of a text's positions, with the colour seeds of slot 0."""
        pairs = np.column_stack([positions.contexts, positions.observed])
        seeds = np.zeros(len(pairs), dtype=np.uint32)
        return cls(pairs, seeds, scores, slots.slot_table(profile, positions)).with_colour_seeds(
            lambda context: _colour_seed(profile.key, tuple(context))
        )

    def with_colour_seeds(self, seed: Callable[[Sequence[int]], int]) -> ScoredPositions:
        """The same positions under other colour seeds; each context is hashed once."""
        contexts, place = np.unique(self.pairs[:, :-1], axis=0, return_inverse=True)
        seeds = np.array([seed(context) for context in contexts.tolist()], dtype=np.uint32)
        return replace(self, seeds=seeds[place.reshape(-1)])

    def indices_of_slot(self, count: int, slot: int) -> NDArray[np.int64]:
        """The positions that carry a slot in records of ``count`` codes: int64, ascending."""
        return np.flatnonzero(self.slots[:, count - 1] == slot)

    def first_occurrences(self, apart: int | None = None) -> NDArray[np.bool_]:
        """One position of every distinct (context, token) pair: bool (positions,).

        A pair that comes back has the same permutations, so it is no new evidence. Of several positions with one pair,
        the one that carries slot 0 in most numbers of codes counts, and the first of these.

        Args:
            apart: for a preliminary search: the first position of a pair counts, and again each one that is at least
                this number of positions after the position that counted last.
        """
        if apart is None:
            return self._first_in(np.argsort(-(self.slots == 0).sum(axis=1), kind="stable"))
        first = np.zeros(len(self), dtype=np.bool_)
        last: dict[bytes, int] = {}
        for i, pair in enumerate(self.pairs):
            key = pair.tobytes()
            if i - last.get(key, -apart) >= apart:
                last[key] = i
                first[i] = True
        return first

    def first_around(self, start: int, end: int) -> NDArray[np.bool_]:
        """One position of every distinct (context, token) pair, from ``start`` to ``end`` first: bool (positions,).

        So a refrain beside a passage is no evidence that the passage goes on.
        """
        return self._first_in(np.concatenate([np.arange(start, end), np.arange(start), np.arange(end, len(self))]))

    def _first_in(self, order: NDArray[np.intp]) -> NDArray[np.bool_]:
        """The first position of every distinct (context, token) pair, in an order of the positions."""
        first = np.zeros(len(self), dtype=np.bool_)
        first[order[np.unique(self.pairs[order], axis=0, return_index=True)[1]]] = True
        return first

    def contributions(self, code: int) -> NDArray[np.int64]:
        """The score of every position for one code, repeats included: int64 (positions,)."""
        one = np.full(len(self), code, dtype=np.uint32)
        chosen = hashing.code_colours(self.seeds, one, self.scores.shape[1]).astype(np.int64)
        return self.scores[np.arange(len(self)), chosen].astype(np.int64)


@dataclass(frozen=True)
class ScoreTable:
    """Scores by context: the sums over the positions that share a context.

    Attributes:
        seeds: uint32 (contexts,), colour seeds of the distinct contexts.
        scores: int32 (contexts, colours).
    """

    seeds: NDArray[np.uint32]
    scores: NDArray[np.int32]

    @property
    def expected(self) -> float:
        """The mean score of a wrong code."""
        return float(self.scores.mean(axis=1).sum())

    def units(self, code: int) -> NDArray[np.int32]:
        """What one code scores in each context: int32 (contexts,)."""
        one = np.full(len(self.seeds), code, dtype=np.uint32)
        return self.scores[np.arange(len(one)), hashing.code_colours(self.seeds, one, self.scores.shape[1])]

    def score(self, code: int) -> int:
        """The score of one code; of many, see :func:`ctwl_decoder.statistics.code_scores.score_all`."""
        return int(self.units(code).sum())

    @classmethod
    def of(cls, positions: ScoredPositions) -> ScoreTable:
        """Sum by context; a (context, token) pair counts once."""
        kept = positions[positions.first_occurrences()]
        contexts = kept.pairs[:, :-1]
        order = np.lexsort(contexts.T[::-1])
        # a new one begins where any id changes; -1 is no id
        begins = np.flatnonzero((np.diff(contexts[order], axis=0, prepend=-1) != 0).any(axis=1))
        units = np.add.reduceat(kept.scores[order], begins, axis=0, dtype=np.int32)
        return cls(kept.seeds[order[begins]], units)

"""A branch: a place in the reader's token sequence at which the candidates for the next token differ."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..hashing import ranks_of
from .continuations import Path


class Branch(NamedTuple):
    """A place in the reader's token sequence at which the candidates for the next token differ.

    Attributes:
        path: proxy tokens between the settled ones and the place.
        candidates: int64 (n,), token ids of the provider's model.
        tokens: int64 (n,), the proxy token that each shows at the place.
        mass: float64 (n,), the probability of each.
    """

    path: Path
    candidates: NDArray[np.int64]
    tokens: NDArray[np.int64]
    mass: NDArray[np.float64]

    def without(self, tokens: Collection[int]) -> Branch:
        """The candidates that show none of these tokens."""
        kept = ~np.isin(self.tokens, list(tokens))
        return Branch(self.path, self.candidates[kept], self.tokens[kept], self.mass[kept])

    def share(self, token: int) -> float:
        """A proxy token's share of the branch's mass."""
        return float(self.mass[self.tokens == token].sum() / max(self.mass.sum(), 1e-300))

    def by_rank(self, permutation_seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The order of the candidates by rank, int64 (n,), and where in it the next proxy token begins."""
        ranks = ranks_of(np.uint32(permutation_seed), self.tokens)
        # Sorting ranks and places as one integer is several times faster than argsort.
        order = np.sort(ranks.astype(np.uint64) << np.uint64(32) | np.arange(len(ranks), dtype=np.uint64))
        order = (order & np.uint64(0xFFFFFFFF)).astype(np.int64)
        ranks = ranks[order]
        return order, np.flatnonzero(np.concatenate([[True], ranks[1:] != ranks[:-1]]))

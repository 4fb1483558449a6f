"""A branch: a place in the reader's token sequence at which the candidates for the next token differ."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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

"""What tells one strategy from another, and the lots by which strategies draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.bridge import Branch
from ctwl_protocol.hashing import ranks_of

RANKS = 1 << 32
"""The number of ranks."""


def own_limit(fresh: float) -> int:
    """The rank, as 32 bits, below which a token's lot is the text's own, where a share of the tokens has such a lot."""
    return min(int(fresh * RANKS), RANKS - 1)


class Lots(NamedTuple):
    """What decides the lots of the tokens at a place.

    Attributes:
        seed: of the permutation that the slot's code selects there, ``s(c, a)``.
        own: seed of the text's own lots there.
        fresh: share of the tokens, 0 to 1, whose lot is the text's own: no other text of the code has it.
    """

    seed: int
    own: int = 0
    fresh: float = 0.0

    def of(self, tokens: NDArray[np.int64]) -> NDArray[np.float64]:
        """The lots of proxy tokens, int64 (n,): float64 (n,), between 0 and 1."""
        lots: NDArray[np.float64] = (ranks_of(np.uint32(self.seed), tokens).astype(np.float64) + 0.5) / RANKS
        if limit := own_limit(self.fresh):
            own = ranks_of(np.uint32(self.own), tokens)  # below the limit they are uniform up to it
            lots = np.where(own < limit, (own.astype(np.float64) + 0.5) / limit, lots)
        return lots


Factors: TypeAlias = Callable[[Branch, Lots], NDArray[np.float64]]
"""Gives the factors, float64 (n,), of the probabilities of a branch's candidates under some lots."""


@dataclass(frozen=True)
class Traits:
    """What tells one strategy from another.

    Attributes:
        summary: what it does, for help pages.
        factors: of a strategy that, on average over permutations, keeps the distribution. Such a strategy needs
            sampling, acts after temperature, top-p and the like, and asks no proxy. None for a strategy that adds to
            the logits of the members of ``V``: it works with any way of decoding, and asks the proxy for ``V``.
        bits_per_token: evidence to count on for a token of news-like text at temperature 1, before the correction for
            the code space. What follows for one code is enough for nine texts in ten by ``unbiased``
            (evaluation/reading/recovery.py).
        ranks: whether a token's rank says more to the reader than its membership.
        draws: whether it leaves a single token, so that no other watermark can run after it.
        sigma: the only share of ``V`` that suits the strategy; None for any.
    """

    summary: str
    factors: Factors | None = None
    bits_per_token: float = 0.4
    ranks: bool = False
    draws: bool = False
    sigma: tuple[int, int] | None = None

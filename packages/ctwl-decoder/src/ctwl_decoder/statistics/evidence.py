"""Evidence: where each observed token lies in each colour's permutation (spec section 10, step 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import hashing
from ctwl_protocol.profile.document import Profile
from ctwl_protocol.text.positions import Positions

if TYPE_CHECKING:
    from ctwl_protocol.proxy import Proxy

__all__ = ["Evidence", "Observe", "observe", "observe_again", "permutations"]


@dataclass(frozen=True)
class Evidence:
    """Where each observed token lies in the cumulative weight of its position, in the order of every colour.

    Attributes:
        below: uint32 (positions, colours), the weight ranked before the token.
        ranks: uint32 (positions, colours), the token's rank.
        weight: uint32 (positions,), the token's own weight.
        total: uint64 (positions,), the weight of the whole vocabulary.
    """

    below: NDArray[np.uint32]
    ranks: NDArray[np.uint32]
    weight: NDArray[np.uint32]
    total: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.weight)

    def __getitem__(self, rows: slice | NDArray[np.int64]) -> Evidence:
        return Evidence(self.below[rows], self.ranks[rows], self.weight[rows], self.total[rows])

    @classmethod
    def joined(cls, parts: Sequence[Evidence]) -> Evidence:
        """The evidence of several sets of positions, one after the other."""
        return cls(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(cls)))


_partition_seed = lru_cache(maxsize=1 << 16)(hashing.partition_seed)  # with h = 1 there are |V| contexts

Observe = Callable[[Positions, Callable[[int], None]], Evidence]
"""Turns positions into evidence: :func:`observe` with a proxy, or a service that does so for many callers in turn."""


def permutations(profile: Profile, contexts: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The seeds of every colour's permutation at some contexts: uint32 (contexts, colours)."""
    words = [_partition_seed(profile.key, tuple(context)) for context in contexts.tolist()]
    first, second = np.array(words, dtype=np.uint32).reshape(-1, 2, 1).transpose(1, 0, 2)
    return hashing.permutation_seeds((first, second), profile.colours)


def observe(proxy: Proxy, positions: Positions, progress: Callable[[int], None] = lambda done: None) -> Evidence:
    """Weigh the vocabulary at each position and look the observed tokens up.

    Args:
        proxy: the proxy runner; its forward pass is nearly the whole cost.
        positions: the positions of one text.
        progress: called with the number of positions done after each batch.
    """
    from ctwl_protocol.partition import kernel  # importing numba takes half a second, and ranks do not need it

    profile = proxy.profile
    below, ranks = np.empty((2, len(positions), profile.colours), dtype=np.uint32)
    weight = np.empty(len(positions), dtype=np.uint32)
    total = np.empty(len(positions), dtype=np.uint64)
    for rows, weights in proxy.batches(positions.prefixes):
        seeds = permutations(profile, positions.contexts[rows])
        observed = positions.observed[rows]
        below[rows] = kernel.mass_below(weights, observed, seeds)
        ranks[rows] = hashing.ranks_of(seeds, observed[:, None])
        weight[rows] = weights[np.arange(len(weights)), observed]
        total[rows] = weights.sum(axis=1, dtype=np.uint64)
        progress(rows.stop)
    return Evidence(below, ranks, weight, total)


def observe_again(
    observer: Observe,
    positions: Positions,
    known: tuple[Positions, Evidence],
    progress: Callable[[int, int], None],
) -> Evidence:
    """The evidence of a second variant of a text; positions that the first one has too are not observed again.

    Args:
        observer: finds the evidence.
        positions: the second variant's.
        known: the positions of the first variant, and their evidence.
        progress: called with the number of positions done, of both variants, and of all.
    """
    before, evidence = known
    rows = _rows_of(before, positions)
    missing = Positions(*(column[rows < 0] for column in positions))
    done, total = len(before), len(before) + len(missing)
    fresh = observer(missing, lambda part: progress(done + part, total))
    rows[rows < 0] = len(evidence) + np.arange(len(missing))
    return Evidence.joined([evidence, fresh])[rows]


def _rows_of(before: Positions, text: Positions) -> NDArray[np.int64]:
    """Where each position of a text is among those of an earlier variant: int64 (positions,), -1 where it is not."""
    keys = [[row.tobytes() for row in np.column_stack([p.prefixes, p.observed])] for p in (before, text)]
    place = {key: i for i, key in enumerate(keys[0])}
    return np.array([place.get(key, -1) for key in keys[1]], dtype=np.int64)

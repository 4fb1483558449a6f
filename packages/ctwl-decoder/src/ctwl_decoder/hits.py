"""Hits: which colours' halves hold the token that the text shows (spec section 10, steps 4 and 5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import hashing, kernel, partition
from ctwl_protocol.proxy import Proxy
from ctwl_protocol.windows import Positions

__all__ = ["Evidence", "find_hits", "first_occurrences", "gather"]

MassBelow = Callable[[NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint32]], NDArray[np.uint32]]


@dataclass(frozen=True)
class Evidence:
    """What a text says about every code: hits summed over the positions that share a context.

    Attributes:
        contexts: int64 (contexts, h), distinct.
        table: int32 (contexts, colours): at each context, how many positions each colour hits.
        counted: how many positions were summed.
    """

    contexts: NDArray[np.int64]
    table: NDArray[np.int32]
    counted: int


def find_hits(
    proxy: Proxy,
    positions: Positions,
    *,
    progress: Callable[[int], None] = lambda done: None,
    mass_below: MassBelow = kernel.mass_below,
) -> NDArray[np.bool_]:
    """Whether ``V(c, a)`` holds the observed token: bool (positions, colours).

    Args:
        proxy: the proxy runner; its forward pass is nearly the whole cost.
        positions: the text's positions.
        progress: called with the number of positions done after each batch.
        mass_below: the partition kernel, or the NumPy reference.
    """
    profile = proxy.profile
    hits = np.empty((len(positions), profile.colours), dtype=np.bool_)
    for rows, weights in proxy.batches(positions.windows):
        contexts = positions.contexts[rows].tolist()
        partition_seeds = [hashing.partition_seed(profile.key, context) for context in contexts]
        seeds = np.stack([hashing.permutation_seeds(seed, profile.colours) for seed in partition_seeds])
        below = mass_below(weights, positions.observed[rows], seeds)
        total = weights.sum(axis=1, dtype=np.uint64)[:, None]
        hits[rows] = partition.is_member(below, total, profile.sigma)
        progress(rows.stop)
    return hits


def first_occurrences(positions: Positions) -> NDArray[np.bool_]:
    """Marks the first position of every distinct (context, token) pair: bool (positions,).

    A pair that comes back brings the same permutations, so it is no new evidence.
    """
    pairs = np.column_stack([positions.contexts, positions.observed])
    first = np.zeros(len(positions), dtype=np.bool_)
    if len(positions):
        first[np.unique(pairs, axis=0, return_index=True)[1]] = True
    return first


def gather(positions: Positions, hits: NDArray[np.bool_], counted: NDArray[np.bool_]) -> Evidence:
    """Sum the hits of the counted positions by context.

    Args:
        positions: the text's positions.
        hits: bool (positions, colours).
        counted: bool (positions,), the positions that count.
    """
    contexts, group = np.unique(positions.contexts[counted], axis=0, return_inverse=True)
    table = np.zeros((len(contexts), hits.shape[1]), dtype=np.int32)
    np.add.at(table, group.reshape(-1), hits[counted])
    return Evidence(contexts, table, int(counted.sum()))

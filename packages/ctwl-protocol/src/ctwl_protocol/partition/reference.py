"""The partition: exact integers after the proxy (spec section 7).

This is the reference, in NumPy, written to be read beside the specification. For speed, writers compute weights
and find members on the device that has the logits; the tests hold them equal. Readers ask for rivals alone.

In the order of rank, a token is a member of ``V(c, a)`` if the weight ranked before it is less than ``sigma`` of the
total weight.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..hashing import ranks

Sigma = tuple[int, int]
"""A share of the weight as a rational: numerator, denominator."""


def quantize(probabilities: NDArray[np.float64] | NDArray[np.float32], weight_bits: int) -> NDArray[np.uint32]:
    """Integer weights ``w(v) = floor(P(v) * 2^bits + 1/2)`` (section 7.1).

    Args:
        probabilities: float64 in [0, 1], any shape; float32 is enough where the proxy computes in it.
        weight_bits: the profile's weight bits.

    Returns:
        uint32, the same shape.
    """
    scaled = probabilities * float(1 << weight_bits)
    scaled += 0.5
    return scaled.astype(np.uint32)  # the cast drops the fraction


def weights_of(logits: NDArray[np.float32], special: Sequence[int], weight_bits: int) -> NDArray[np.uint32]:
    """The weights that a proxy LM's logits give (section 7.1).

    Args:
        logits: float32 (n, vocabulary).
        special: the tokens that weigh 0.
        weight_bits: the profile's.

    Returns:
        uint32, the same shape.
    """
    return quantize(masses_of(logits, special), weight_bits)


def masses_of(logits: NDArray[np.float32], special: Sequence[int]) -> NDArray[np.float64]:
    """The probabilities before they become weights: softmax, then 0 for special tokens; float64, the same shape."""
    mass = logits.astype(np.float64)
    mass -= mass.max(axis=1, keepdims=True)
    np.exp(mass, out=mass)
    mass /= mass.sum(axis=1, keepdims=True)
    mass[:, list(special)] = 0
    return mass


def mass_below(
    weights: NDArray[np.uint32], observed: NDArray[np.int64], permutation_seeds: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    """The weight ranked before the observed token, for each position and colour (section 7.2).

    Args:
        weights: uint32 (positions, vocabulary).
        observed: int64 (positions,), token ids.
        permutation_seeds: uint32 (positions, colours).

    Returns:
        uint32 (positions, colours): ``S = sum of w(u) over r(u) < r(v)``.
    """
    below = np.empty(permutation_seeds.shape, dtype=np.uint32)
    for i, (row, token) in enumerate(zip(weights, observed, strict=True)):
        for a, seed in enumerate(permutation_seeds[i]):
            rank = ranks(int(seed), len(row))
            below[i, a] = row[rank < rank[token]].sum(dtype=np.uint64)
    return below


def is_member(
    below: NDArray[np.uint32] | NDArray[np.uint64], total: NDArray[np.uint64], sigma: Sigma
) -> NDArray[np.bool_]:
    """``v in V`` iff the weight ranked before it is less than ``sigma`` of the whole (section 7.2).

    Args:
        below: the weight ranked before the token, any shape.
        total: the sum of the position's weights, broadcastable to ``below``.
        sigma: numerator and denominator.

    Returns:
        bool, the shape of ``below``.
    """
    numerator, denominator = np.uint64(sigma[0]), np.uint64(sigma[1])
    return np.asarray(below.astype(np.uint64) * denominator < total * numerator, dtype=np.bool_)


def members(weights: NDArray[np.uint32], permutation_seeds: NDArray[np.uint32], sigma: Sigma) -> NDArray[np.bool_]:
    """Membership of the whole vocabulary, one colour a row (section 7.2).

    Args:
        weights: uint32 (rows, vocabulary).
        permutation_seeds: uint32 (rows,).
        sigma: numerator and denominator.

    Returns:
        bool (rows, vocabulary).
    """
    inside = np.empty(weights.shape, dtype=np.bool_)
    for i, (row, seed) in enumerate(zip(weights, permutation_seeds, strict=True)):
        order = np.argsort(ranks(int(seed), len(row)))
        running = np.cumsum(row[order], dtype=np.uint64)
        inside[i, order] = is_member(running - row[order], running[-1:], sigma)
    return inside

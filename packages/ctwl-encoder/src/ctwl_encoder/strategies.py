"""Encoding strategies: how logits are changed so that tokens of ``V`` are preferred (spec section 8).

Each is a function of the logits and of the permutation that the code picks at the position; the decoder is the same for
all. Logits are float32 of shape (rows, size), where size is at least the proxy's vocabulary.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import kernel
from ctwl_protocol.partition import Sigma

from .errors import ModelFailed

__all__ = ["Strategy", "add_delta", "split_mass"]


class Strategy(StrEnum):
    """The strategies by name."""

    DELTA = "delta"
    """Add a constant to the logits of ``V`` (Wang et al. 2024, equation 7). For any way of decoding."""

    UNBIASED = "unbiased"
    """Keep the first half of the model's own mass in rank order. For sampling; needs no proxy while encoding."""

    VANILLA = "vanilla"
    """``delta`` over a random half of the vocabulary: the paper's baseline (its section 4.2)."""


def add_delta(
    logits: NDArray[np.float32],
    weights: NDArray[np.uint32],
    carriers: NDArray[np.bool_],
    permutation_seeds: NDArray[np.uint32],
    sigma: Sigma,
    delta: float,
) -> NDArray[np.float32]:
    """Add ``delta`` to the logits of the carriers that are members of ``V``.

    Args:
        logits: float32 (rows, size).
        weights: uint32 (rows, |V|), the proxy's.
        carriers: bool (size,), the tokens that appear in text.
        permutation_seeds: uint32 (rows,), ``s(c, a)`` for the code's colour.
        sigma: the profile's.
        delta: nats.
    """
    inside = np.zeros(logits.shape, dtype=np.bool_)
    inside[:, : weights.shape[1]] = kernel.members(weights, permutation_seeds, sigma)
    return np.where(inside & carriers, logits + np.float32(delta), logits)


def split_mass(
    logits: NDArray[np.float32], carriers: NDArray[np.bool_], permutation_seeds: NDArray[np.uint32]
) -> NDArray[np.float32]:
    """Keep the first half of the mass of the carriers in rank order, doubled; leave every other token as it is.

    Averaged over permutations the distribution is unchanged. Nearly every token that is kept lies in ``V``, because
    ``V`` is the first half of the proxy's mass in the same order.

    Args:
        logits: float32 (rows, size), after temperature, top-p and the like; need not be normalised.
        carriers: bool (size,), the tokens that appear in text.
        permutation_seeds: uint32 (rows,).

    Returns:
        float32 (rows, size): log-probabilities, minus infinity for the tokens that were cut.

    Raises:
        ModelFailed: a row has no finite maximum.
    """
    if not np.isfinite(logits.max(axis=1)).all():
        raise ModelFailed("the model's logits are not numbers; run it in float32 or bfloat16")
    exponent = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    mass = exponent / exponent.sum(axis=1, keepdims=True)
    kept = np.where(carriers, kernel.split(mass * carriers, permutation_seeds), mass)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(kept), dtype=np.float32)

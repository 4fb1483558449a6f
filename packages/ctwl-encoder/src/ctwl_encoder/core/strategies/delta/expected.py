"""What ``delta`` is expected to say, see :func:`ctwl_encoder.core.expected_evidence.expected_nats`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def nats(chances: NDArray[np.float64], hits: NDArray[np.float32], delta: float) -> NDArray[np.float64]:  # noqa: ARG001
    """What the tokens of a text say that ``delta`` marked, in nats: float64 (n,).

    Args:
        chances: float64 (n,), the tokens' probabilities.
        hits: float32 (n,), 1 for a member of the half, else 0.
        delta: nothing here: the hits show it.
    """
    null = np.minimum(null_hits(chances), 1 - 1e-9)
    told: NDArray[np.float64] = half_nats(chances) * np.clip((hits - null) / (1 - null), -1, 1)
    return told


def half_nats(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """The expected log-likelihood ratios, in nats, of tokens that a half of the mass prefers: float64 (n,).

    A token of chance ``p`` begins at a place ``b`` that is uniform on [0, 1 - p] in the order of ranks, and is twice as
    likely as usual as far as it lies in the half (the factor of spec section 8.3). Both averages have a closed form.

    Args:
        chances: float64 (n,), the tokens' probabilities.
    """
    p = np.clip(chances, 1e-9, 1 - 1e-9)
    whole = np.maximum(0.5 - p, 0) * 2 * math.log(2)

    def part(ratio: NDArray[np.float64]) -> NDArray[np.float64]:
        return ratio**2 / 2 * np.log(np.maximum(ratio, 1e-300)) - ratio**2 / 4

    across = part(np.minimum(2.0, 1 / p)) - part(np.maximum((p - 0.5) * 2 / p, 0))
    return (whole + p / 2 * across) / (1 - p)


def null_hits(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """How often random permutations put tokens of these probabilities, float64 (n,), into ``V``: float64 (n,).

    The mass ranked before a token is nearly uniform on [0, 1 - chance], and the token is in if that is below 1/2.
    """
    return 0.5 / np.maximum(1 - chances, 0.5)

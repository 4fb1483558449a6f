"""P-values of secret watermarks: the chance that a text's tokens score as high under a random key.

What one key says of one pair of context and token counts once, so the nulls are exact for texts that repeat themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .philox import CONTEXT, context_of, philox_words, uniform

_EXACT = 512
"""Positions up to which SynthID-Text's null is computed exactly; it takes 4 million points then."""

_ROUNDING = 1e-12
"""What is smaller, an exact null does not tell apart."""


def kgw(ids: Sequence[int], config: Any, size: int) -> float | None:
    """KGW: how many distinct pairs of tokens are green is binomial. None where there is no pair.

    Args:
        ids: the text's tokens by the model's tokenizer, without the prompt.
        config: transformers' ``WatermarkingConfig``.
        size: of the model's vocabulary.
    """
    import torch
    from scipy import stats

    if len(ids) <= config.context_width:
        return None
    # Not by WatermarkDetector: before transformers 5.20 it counts repeats though it is told not to.
    processor, own = config.construct_processor(size, "cpu"), config.seeding_scheme == "selfhash"
    width = config.context_width + (not own)  # under selfhash, a token is the last one of its own context
    pairs = {tuple(ids[end - width : end]) for end in range(width, len(ids) + 1)}
    green = sum(pair[-1] in processor._get_greenlist_ids(torch.tensor(pair if own else pair[:-1])) for pair in pairs)
    return float(stats.binom.sf(green - 1, len(pairs), processor.greenlist_size / size))


def synthid(ids: Sequence[int], config: Any, size: int) -> float | None:
    """SynthID-Text by the weighted mean of the rounds' bits, weights from 10 down to 1 as in the paper, untrained.

    Under a random key all bits are fair and independent, so the null is a sum of binomials.

    Args:
        ids: see :func:`kgw`.
        config: transformers' ``SynthIDTextWatermarkingConfig`` of two keys or more.
        size: see :func:`kgw`.
    """
    import torch

    if len(ids) < config.ngram_len:
        return None
    processor, given = config.construct_processor(size, "cpu"), torch.tensor([list(ids)])
    new = processor.compute_context_repetition_mask(given)[0].bool()
    bits: NDArray[np.int64] = processor.compute_g_values(given)[0, new].numpy()
    weights = weights_of(len(config.keys))
    score = int((bits @ weights).sum())
    if len(bits) > _EXACT:
        return _chernoff(len(bits), score, weights)
    points = 1 << int(len(bits) * weights.sum()).bit_length()
    chances = np.fft.irfft(transform(len(weights), points) ** len(bits), points)
    return float(np.clip(chances[score:].sum(), _ROUNDING, 1))


def weights_of(depth: int) -> NDArray[np.int64]:
    """Of the rounds, 10 down to 1 in equal steps, as whole numbers: int64 (depth,)."""
    return 10 * (depth - 1) - 9 * np.arange(depth)


@lru_cache(maxsize=4)
def transform(depth: int, points: int) -> NDArray[np.complex128]:
    """The Fourier transform of the weighted sum of one position's fair bits: complex128 (points // 2 + 1,)."""
    turns = np.arange(points // 2 + 1) * (-2j * np.pi / points)
    whole = np.ones(len(turns), dtype=complex)
    for weight in weights_of(depth).tolist():
        whole *= (1 + np.exp(weight * turns)) / 2
    return whole


def _chernoff(positions: int, score: int, weights: NDArray[np.int64]) -> float:
    """A bound on the tail of that null, which is never below it."""
    tilts = np.linspace(0, 4 / weights.max(), 4001)[1:, None]
    logs = positions * (np.logaddexp(0, tilts * weights) - np.log(2)).sum(axis=1) - tilts[:, 0] * score
    return float(np.exp(min(0.0, logs.min())))


def gumbel(ids: Sequence[int], key: int) -> float | None:
    """VLLM's Gumbel: minus the logarithms of 1 - u of distinct contexts add up to a Gamma variable.

    Args:
        ids: see :func:`kgw`.
        key: of 64 bits.
    """
    from scipy import special

    if not ids:
        return None
    tokens, first = np.array(ids), dict[tuple[int, ...], int]()
    for place in range(len(ids)):
        first.setdefault(context_of(ids[max(0, place - CONTEXT) : place]), place)
    chosen = tokens[list(first.values())]
    words = philox_words(key, np.array(list(first)), chosen[:, None] >> 2)[:, 0]
    u = uniform(words[np.arange(len(chosen)), chosen & 3]).astype(np.float64)
    return float(special.gammaincc(len(chosen), -np.log1p(-u).sum()))

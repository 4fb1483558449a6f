"""The random numbers of vLLM's watermark, ``vllm/v1/watermarking`` of version 0.32, in NumPy.

The last four tokens of a text select a number for each token of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

CONTEXT = 4
"""Tokens that select a number; vLLM's default."""

_MASK = np.uint64(0xFFFFFFFF)
_DOMAINS = np.uint64(0x574D4358), np.uint64(0x574D544B)
"""Of contexts and of tokens."""


def context_of(tokens: Sequence[int]) -> tuple[int, ...]:
    """The last tokens that a text has, minus ones before its first."""
    return tuple([*[-1] * CONTEXT, *tokens][-CONTEXT:])


def uniform(words: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Numbers between 0 and 1 of words of 32 bits, vLLM's ``uint32_to_uniform``."""
    return (((words >> np.uint64(8)) + 1.0) / (2**24 + 1)).astype(np.float32)


def philox_words(key: int, contexts: NDArray[np.int64], blocks: NDArray[np.int64]) -> NDArray[np.uint64]:
    """What vLLM's ``PhiloxPRF`` makes of contexts and tokens; token ``4 b + i`` has the word ``i`` of block ``b``.

    Args:
        key: of 64 bits.
        contexts: int64 (contexts, CONTEXT).
        blocks: int64 (contexts or 1, blocks).

    Returns:
        Words of 32 bits: uint64 (contexts, blocks, 4).
    """
    low, high = np.uint64(key & 0xFFFFFFFF), np.uint64(key >> 32)
    given = contexts.astype(np.uint64) & _MASK
    lengths = (_DOMAINS[0], np.uint64(CONTEXT), np.uint64(0), np.uint64(0))
    state = philox((given.T ^ np.array(lengths)[:, None])[:, :, None], low, high)
    counter = np.broadcast_arrays(blocks.astype(np.uint64), *state[:3])
    return np.stack(philox(np.stack(counter), low ^ state[3], high ^ _DOMAINS[1]), axis=-1)


def philox(counter: NDArray[np.uint64], low: Any, high: Any) -> tuple[NDArray[np.uint64], ...]:
    """Philox4x32-10 (Salmon et al., SC 2011, https://doi.org/10.1145/2063384.2063405).

    Args:
        counter: words of 32 bits, uint64 (4, ...).
        low: the key's first word, uint64 that broadcasts with the counter's words.
        high: its second word.
    """
    half, (c0, c1, c2, c3) = np.uint64(32), counter
    for number in range(10):
        first, third = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        key0 = (low + np.uint64(number * 0x9E3779B9 & 0xFFFFFFFF)) & _MASK
        key1 = (high + np.uint64(number * 0xBB67AE85 & 0xFFFFFFFF)) & _MASK
        c0, c1, c2, c3 = (third >> half) ^ c1 ^ key0, third & _MASK, (first >> half) ^ c3 ^ key1, first & _MASK
    return c0, c1, c2, c3

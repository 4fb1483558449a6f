"""Toy weights: a proxy of integers only, so that an implementation can be tried without a model (spec section 7.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..hashing import GOLDEN, fmix32

_PRINTABLE = slice(32, 127)
_MOST = np.uint32(1 << 22)
_SPREAD = np.uint32(63)


def toy_weights(prefixes: NDArray[np.int64], vocabulary: int) -> NDArray[np.uint32]:
    """Integer weights of the token after each prefix, from a hash of the prefix (spec section 7.3).

    Args:
        prefixes: int64 (n, L_prefix), token ids.
        vocabulary: |V|.

    Returns:
        uint32 (n, |V|); 1 for every token that is no printable ASCII character.
    """
    golden, one = np.uint32(GOLDEN), np.uint32(1)
    state = np.zeros(len(prefixes), dtype=np.uint32)
    for token in prefixes.astype(np.uint32).T:
        state = fmix32((state + token + one) * golden)
    mixed = fmix32(state[:, None] ^ (np.arange(vocabulary, dtype=np.uint32) * golden))
    weights = np.ones(mixed.shape, dtype=np.uint32)
    weights[:, _PRINTABLE] = _MOST // (one + (mixed[:, _PRINTABLE] & _SPREAD))
    return weights

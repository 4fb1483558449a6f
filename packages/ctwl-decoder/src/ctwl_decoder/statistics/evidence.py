"""Evidence: where the permutations of a text's contexts begin, and what weighs its tokens (spec section 10, step 4)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import hashing
from ctwl_protocol.profile.document import Profile
from ctwl_protocol.proxy.rivals import Rivals

from ..text.tokens import TokenizedVariant

_partition_seed = lru_cache(maxsize=1 << 16)(hashing.partition_seed)  # with h = 1 there are |V| contexts

Weigh = Callable[[TokenizedVariant, Callable[[int], None]], Rivals]
"""Gives the rivals at a text's positions, and says after each block how many positions are done: by the proxy LM, by
another language model, or by a service that asks the proxy LM for many callers in turn."""


def permutations(profile: Profile, contexts: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The seeds of every colour's permutation at some contexts: uint32 (contexts, colours)."""
    different, place = np.unique(contexts, axis=0, return_inverse=True)
    words = [_partition_seed(profile.key, tuple(context)) for context in different.tolist()]
    first, second = np.array(words, dtype=np.uint32).reshape(-1, 2, 1).transpose(1, 0, 2)
    return hashing.permutation_seeds((first, second), profile.colours)[place.reshape(-1)]

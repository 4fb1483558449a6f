"""From token ids to positions: prefix, context and observed token of each (spec section 5.4)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Positions(NamedTuple):
    """The positions of a text that can carry evidence, in order; there are ``n = max(0, tokens - L_prefix)``.

    Attributes:
        prefixes: int64 (n, L_prefix), the tokens that the proxy LM sees.
        contexts: int64 (n, h), the tokens that are hashed.
        observed: int64 (n,), the token at the position.
    """

    prefixes: NDArray[np.int64]
    contexts: NDArray[np.int64]
    observed: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.observed)


def positions(ids: NDArray[np.int64], prefix_length: int, context_length: int) -> Positions:
    """The positions of a text, from its proxy tokens.

    Args:
        ids: int64 (tokens,).
        prefix_length: L_prefix.
        context_length: h, at most L_prefix.
    """
    if len(ids) <= prefix_length:
        empty = np.empty((0, prefix_length), dtype=np.int64)
        return Positions(empty, empty[:, :context_length], np.empty(0, dtype=np.int64))
    prefixes = np.lib.stride_tricks.sliding_window_view(ids, prefix_length)[:-1]
    return Positions(prefixes, prefixes[:, prefix_length - context_length :], ids[prefix_length:])

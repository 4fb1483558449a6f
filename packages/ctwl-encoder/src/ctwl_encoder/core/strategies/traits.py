"""What tells one strategy from another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.bridge import Branch

Nats: TypeAlias = Callable[[Branch, int, float], NDArray[np.float64]]
"""Gives the nats, float64 (n,), that are added to the logits of a branch's candidates, under the permutation of a seed
and for a share."""


@dataclass(frozen=True)
class Traits:
    """What tells one strategy from another.

    Attributes:
        summary: what it does, for help pages.
        nats: of a strategy that, on average over permutations, keeps the distribution. Such a strategy needs
            sampling, acts after temperature, top-p and the like, and asks no proxy. None for a strategy that adds to
            the logits of the members of ``V``: it works with any way of decoding, and asks the proxy for ``V``.
        bits_per_token: evidence to count on for a token of news-like text at temperature 1, before the correction for
            the code space.
    """

    summary: str
    nats: Nats | None
    bits_per_token: float

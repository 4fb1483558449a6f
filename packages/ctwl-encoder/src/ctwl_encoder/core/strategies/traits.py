"""What tells one strategy from another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Traits:
    """What tells one strategy from another.

    Attributes:
        summary: what it does, for help pages.
        price: what its user pays, for pages.
        strength: the option that says how strongly it marks.
        keeps_distribution: whether, on average over permutations, it keeps the model's distribution. Such a strategy
            needs sampling, acts after temperature, top-p and the like, and asks no proxy. Another one adds to the
            logits of the members of ``V``: it works with any way of decoding, and asks the proxy for ``V``.
        bits_per_token: evidence to count on for a token of news-like text at temperature 1, before the correction for
            the code space.
    """

    summary: str
    price: str
    strength: Literal["share", "delta"]
    keeps_distribution: bool
    bits_per_token: float

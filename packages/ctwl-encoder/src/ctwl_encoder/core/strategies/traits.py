"""What tells one strategy from another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Strength:
    """The number that says how strongly a strategy marks. Several strategies may have one together.

    Attributes:
        name: of the option that sets it, a field of :class:`ctwl_encoder.options.MarkingOptions`.
        meaning: what it is and its unit, for help pages; its first sentence stands in tables too.
        bounds: what it may be: ``ge`` or ``gt``, and ``le``, as pydantic calls them.
        default: the number where none is named; or a function that gives it for a temperature of sampling.
        step: so much more or less is another choice, for those who compare.
        digits: decimal digits that count; None for all.
    """

    name: str
    meaning: str
    bounds: Mapping[str, float]
    default: float | Callable[[float], float]
    step: float
    digits: int | None = None

    @property
    def fixed(self) -> float | None:
        """The number where none is named; None where the temperature decides it."""
        return None if callable(self.default) else self.default

    def usual(self, temperature: float) -> float:
        """The number where none is named, at a temperature of sampling; 0 for greedy decoding and beam search."""
        return self.rounded(self.default(temperature) if callable(self.default) else self.default)

    def rounded(self, number: float) -> float:
        """A number without the digits that do not count."""
        return number if self.digits is None else round(number, self.digits)


@dataclass(frozen=True)
class Traits:
    """What tells one strategy from another.

    Attributes:
        summary: what it does, for help pages.
        price: what its user pays, for pages.
        strength: how strongly it marks.
        keeps_distribution: whether, on average over permutations, it keeps the model's distribution. Such a strategy
            needs sampling, acts after temperature, top-p and the like, and asks no proxy. Another one adds to the
            logits of the members of ``V``: it works with any way of decoding, and asks the proxy for ``V``.
        score: the name of the score that was made for it (spec section 10.1).
        bits_per_token: evidence to count on for a token of news-like text at temperature 1, before the correction for
            the code space.
        reader_share: share of its evidence that a reader gets who has the proxy LM and not the model's distribution:
            of a model with a vocabulary of its own, and of one with the proxy's, most likely its relative. A part of
            the loss is the price of the decoder's other tests.
    """

    summary: str
    price: str
    strength: Strength
    keeps_distribution: bool
    score: str
    bits_per_token: float
    reader_share: tuple[float, float]

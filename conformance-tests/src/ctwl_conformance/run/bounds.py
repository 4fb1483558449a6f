"""Binomial bounds that are fixed before anything is run (spec section 14, statistical claims)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scipy.stats import binom, binomtest

ERROR = 1e-3
"""How often a bound may fail an implementation whose true rate equals the claimed one."""

_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Bound:
    """A claim about a rate: at least, or at most, this value.

    Attributes:
        side: which of the two.
        rate: the claimed rate.
    """

    side: Literal["at least", "at most"]
    rate: float

    def limit(self, trials: int) -> int:
        """The fewest (most) successes that pass; at the claimed rate, fewer (more) are rarer than :data:`ERROR`."""
        found = binom.ppf if self.side == "at least" else binom.isf
        return int(found(ERROR, trials, self.rate))

    def holds(self, successes: int, trials: int) -> bool:
        """Whether this number of successes passes."""
        if self.side == "at least":
            return successes >= self.limit(trials)
        return successes <= self.limit(trials)

    def excluded(self, trials: int) -> float:
        """The true rate that would pass in only 5 % of runs: this number of trials can tell it from the claim."""
        side = "greater" if self.side == "at least" else "less"
        bounds = binomtest(self.limit(trials), trials, alternative=side).proportion_ci(_CONFIDENCE)
        return float(bounds.low if self.side == "at least" else bounds.high)


def interval(successes: int, trials: int) -> tuple[float, float]:
    """The exact (Clopper-Pearson) 95 % interval of a rate."""
    bounds = binomtest(successes, trials).proportion_ci(_CONFIDENCE)
    return float(bounds.low), float(bounds.high)

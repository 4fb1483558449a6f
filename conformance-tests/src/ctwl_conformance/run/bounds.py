"""Binomial bounds that are fixed before anything is run (spec section 14, statistical claims)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from scipy.stats import beta, binom

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
        if self.side == "at least":
            return max(k for k in range(trials + 1) if k == 0 or binom.cdf(k - 1, trials, self.rate) <= ERROR)
        return min(k for k in range(trials + 1) if binom.sf(k, trials, self.rate) <= ERROR)

    def holds(self, successes: int, trials: int) -> bool:
        """Whether this number of successes passes."""
        if self.side == "at least":
            return successes >= self.limit(trials)
        return successes <= self.limit(trials)

    def excluded(self, trials: int) -> float:
        """The true rate that would pass in only 5 % of runs: this number of trials can tell it from the claim."""
        limit = self.limit(trials)
        if self.side == "at least":
            return float(beta.ppf(1 - _CONFIDENCE, limit, trials - limit + 1)) if limit else 0.0
        return float(beta.ppf(_CONFIDENCE, limit + 1, trials - limit)) if limit < trials else 1.0


def interval(successes: int, trials: int) -> tuple[float, float]:
    """The exact (Clopper-Pearson) 95 % interval of a rate."""
    tail = (1 - _CONFIDENCE) / 2
    low = float(beta.ppf(tail, successes, trials - successes + 1)) if successes else 0.0
    high = float(beta.ppf(1 - tail, successes + 1, trials - successes)) if successes < trials else 1.0
    return low, high

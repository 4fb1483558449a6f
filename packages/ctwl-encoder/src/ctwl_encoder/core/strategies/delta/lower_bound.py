"""What ``delta`` chooses whatever the proxy says, so that the proxy need not be asked (spec section 8.2).

``V`` contains the tokens that rank before some border. The ranks are known without the proxy; only the border is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.bridge import Branch
from ctwl_protocol.hashing import ranks_of

_Permuted: TypeAlias = tuple[Branch, int]
"""A branch, and the seed of the permutation there, ``s(c, a)``."""

_MOST = 500.0
"""Nats that several branches may add together, so that no sum overflows. Chosen by hand: far above any useful delta."""


class LowerBound:
    """A lower bound on each token's probability under ``delta`` that does not depend on the proxy.

    A token's probability is least where it is the first token outside ``V``: all tokens that rank before it gain, and
    none after it. The bounds of all tokens are a part of the marked distribution that is known without the proxy.
    To draw from the marked distribution, draw from this part with probability ``mass``, and otherwise from the rest of
    the marked distribution (a maximal coupling over all weights that the proxy may give).

    For a token at several branches the bound may be lower than the least probability: its rank counts at the first of
    them only.

    Attributes:
        mass: sum of the bounds, in [0, 1].
    """

    def __init__(self, likely: NDArray[np.float32], branches: Sequence[_Permuted], delta: float) -> None:
        """Compute the bounds.

        Args:
            likely: float32 (size,), the model's distribution.
            branches: where tokens may be preferred.
            delta: nats.
        """
        self._likely = likely.astype(np.float64)
        self._branches = branches
        self._delta = delta
        self._factors = self._least_factors()
        self.mass = float((self._likely * self._factors).sum())

    def _least_factors(self) -> NDArray[np.float64]:
        """The factor of each probability where it is least: float64 (size,)."""
        times = np.zeros(len(self._likely), dtype=np.int64)
        for branch, _ in self._branches:
            times[branch.candidates] += 1
        raised = self._likely * _gain(times, self._delta)
        factors = np.full(len(raised), 1 / raised.sum())
        left = np.ones(len(raised), dtype=np.bool_)
        for branch, seed in self._branches:
            order, first = branch.by_rank(seed)
            at = branch.candidates[order]
            elsewhere = np.ones(len(raised), dtype=np.bool_)
            elsewhere[at] = False
            high, low = raised[at], raised[at] * np.exp(-self._delta)
            widths = np.diff(np.append(first, len(at)))
            before, beside, after = _sum_before(high)[first], _sum_before(low), _sum_before(low[::-1])[::-1]
            # Not as a difference of large sums: beside one large token the other tokens would be lost in rounding.
            others = raised[elsewhere].sum() + np.repeat(before - beside[first], widths) + beside + after
            here = left[at]
            factors[at[here]] = 1 / (self._likely[at] + others)[here]
            left[at] = False
        return factors

    def known(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """The known part: logarithms, float32 (size,), of numbers whose sum is ``mass``.

        Args:
            logits: float32 (size,), the model's.
        """
        return self._multiplied(logits, self._factors)

    def beyond(self, logits: NDArray[np.float32], insides: Sequence[NDArray[np.bool_]]) -> NDArray[np.float32]:
        """The marked distribution without the known part: logarithms, float32 (size,).

        Args:
            logits: float32 (size,), the model's.
            insides: bool (|V|,) each, membership at the branches.
        """
        times = np.zeros(len(self._likely), dtype=np.int64)
        for (branch, _), inside in zip(self._branches, insides, strict=True):
            times[branch.candidates] += inside[branch.tokens]
        whole = _gain(times, self._delta)
        whole /= (self._likely * whole).sum()
        rest = np.maximum(whole - self._factors, 0.0)
        # Where nothing is left except for rounding, the rest is drawn from the whole.
        return self._multiplied(logits, rest if (self._likely * rest).sum() > 0 else whole)

    def _multiplied(self, logits: NDArray[np.float32], factors: NDArray[np.float64]) -> NDArray[np.float32]:
        """Logarithms of the model's probabilities times factors."""
        best = int(self._likely.argmax())
        with np.errstate(divide="ignore"):
            return np.asarray(logits + np.log(factors) + (np.log(self._likely[best]) - logits[best]), dtype=np.float32)


def argmax_is_certain(likely: NDArray[np.float32], branches: Sequence[_Permuted], delta: float) -> bool:
    """Whether the likeliest token stays the likeliest, whatever the proxy says.

    Another token gains on it only where that one ranks before it, or where the likeliest token cannot be preferred.

    Args:
        likely: float32 (size,), the model's distribution.
        branches: where tokens may be preferred.
        delta: nats.
    """
    best = int(likely.argmax())
    times = np.zeros(len(likely), dtype=np.int64)
    for branch, seed in branches:
        ranks = ranks_of(np.uint32(seed), branch.tokens)
        own = ranks[branch.candidates == best]
        times[branch.candidates[ranks < own] if len(own) else branch.candidates] += 1
    raised = likely * _gain(times, delta)
    raised[best] = 0.0
    return bool(likely[best] > raised.max() * (1 + 1e-5))  # a tie, up to rounding, is decided by the proxy


def _gain(times: NDArray[np.int64], delta: float) -> NDArray[np.float64]:
    """The factor of a probability, before normalization, whose logit gained ``delta`` so many times."""
    each = np.exp(np.minimum(delta * np.arange(int(times.max(initial=0)) + 1), _MOST))
    return np.asarray(each[times])


def _sum_before(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of the values before each."""
    return np.concatenate([[0.0], np.cumsum(values[:-1])])

"""What ``delta`` chooses whatever the proxy says, so that the proxy need not be asked (spec section 8.2).

``V`` contains the tokens that rank before some border. The ranks are known without the proxy; only the border is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.hashing import ranks_of

from .bridge import Branch
from .strategies import by_rank

__all__ = ["LowerBound", "argmax_is_certain"]

Permuted: TypeAlias = tuple[Branch, int]
"""A branch, and the seed of the permutation there, ``s(c, a)``."""

_MOST = 500.0
"""Nats that several branches may add together, so that no sum overflows."""


class LowerBound:
    """A lower bound on each token's probability under ``delta`` that does not depend on the proxy.

    A token's probability is least where it is the first token outside ``V``: all tokens that rank before it gain, those
    behind it do not. The bounds of all tokens are a part of the marked distribution that is known without the proxy.
    To draw from the marked distribution, draw from this part with probability ``mass``, and otherwise from the rest of
    the marked distribution (a maximal coupling over all weights that the proxy may give).

    For a token at several branches the bound may be lower than the least probability: its rank counts at the first of
    them only.

    Attributes:
        mass: sum of the bounds, in [0, 1].
    """

    def __init__(self, likely: NDArray[np.float32], branches: Sequence[Permuted], delta: float) -> None:
        """Compute the bounds.

        Args:
            likely: float32 (size,), the model's distribution.
            branches: where tokens may be preferred.
            delta: nats.
        """
        preferred = np.zeros(len(likely), dtype=np.bool_)
        for branch, _ in branches:
            preferred[branch.candidates] = True
        self._delta = delta
        self._branches = branches
        self._ids = ids = np.flatnonzero(preferred)
        """Tokens that may be preferred at a branch; all others change by one factor."""
        index = np.empty(len(likely), dtype=np.int64)
        index[ids] = np.arange(len(ids))
        self._places = [index[branch.candidates] for branch, _ in branches]
        self._likely = likely[ids].astype(np.float64)
        self._best = int(likely.argmax())
        self._highest = np.log(likely[self._best])
        self._rest = max(float(likely.sum(dtype=np.float64) - self._likely.sum()), 0.0)
        self._factors, self._factor = self._weigh()
        """The least factors of the probabilities: float64 (|ids|,), and the one of all other tokens."""
        self.mass = self._sum(self._factors, self._factor)

    def _weigh(self) -> tuple[NDArray[np.float64], float]:
        times = np.zeros(len(self._ids), dtype=np.int64)
        for at in self._places:
            times[at] += 1
        raised = self._likely * _gain(times, self._delta)
        most = float(self._rest + raised.sum())
        factors = np.full(len(self._ids), 1 / most)
        left = np.ones(len(self._ids), dtype=np.bool_)
        for (branch, seed), unordered in zip(self._branches, self._places, strict=True):
            order, first = by_rank(branch, seed)
            at = unordered[order]
            elsewhere = np.ones(len(self._ids), dtype=np.bool_)
            elsewhere[at] = False
            high, low = raised[at], raised[at] * np.exp(-self._delta)
            widths = np.diff(np.append(first, len(at)))
            before, beside, behind = _sum_before(high)[first], _sum_before(low), _sum_before(low[::-1])[::-1]
            # Not as a difference of large sums: beside one large token the others would be lost in rounding.
            others = self._rest + raised[elsewhere].sum() + np.repeat(before - beside[first], widths) + beside + behind
            here = left[at]
            factors[at[here]] = 1 / (self._likely[at] + others)[here]
            left[at] = False
        return factors, 1 / most

    def _sum(self, factors: NDArray[np.float64], factor: float) -> float:
        # No dot product: BLAS has threads of its own for long ones, which then spin where the models want to compute.
        return float((self._likely * factors).sum() + self._rest * factor)

    def known(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """The known part: logarithms, float32 (size,), of numbers whose sum is ``mass``.

        Args:
            logits: float32 (size,), the model's.
        """
        return self._multiplied(logits, self._factors, self._factor)

    def beyond(self, logits: NDArray[np.float32], insides: Sequence[NDArray[np.bool_]]) -> NDArray[np.float32]:
        """The marked distribution without the known part: logarithms, float32 (size,).

        Args:
            logits: float32 (size,), the model's.
            insides: bool (|V|,) each, membership at the branches.
        """
        times = np.zeros(len(self._ids), dtype=np.int64)
        for at, (branch, _), inside in zip(self._places, self._branches, insides, strict=True):
            times[at] += inside[branch.tokens]
        gains = _gain(times, self._delta)
        total = self._sum(gains, 1.0)
        factors = np.maximum(gains / total - self._factors, 0.0)
        factor = max(1 / total - self._factor, 0.0)
        if self._sum(factors, factor) > 0:
            return self._multiplied(logits, factors, factor)
        return self._multiplied(logits, gains / total, 1 / total)  # nothing is left, except for rounding

    def _multiplied(
        self, logits: NDArray[np.float32], factors: NDArray[np.float64], factor: float
    ) -> NDArray[np.float32]:
        normal = float(self._highest - logits[self._best])
        with np.errstate(divide="ignore"):
            found = logits + np.float32(normal + np.log(factor))
            found[self._ids] = logits[self._ids] + (normal + np.log(factors)).astype(np.float32)
        return found


def argmax_is_certain(likely: NDArray[np.float32], branches: Sequence[Permuted], delta: float) -> bool:
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
    found: NDArray[np.float64] = each[times]
    return found


def _sum_before(values: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.concatenate([[0.0], np.cumsum(values[:-1])])
    return found

"""The exact null distribution of a wrong code's score, and the p-values that follow (spec section 12).

Given the text, a wrong code is random only in its colour at each context: uniform over the colours, and independent
between distinct contexts. So its score is distributed as a sum over contexts of one entry each, drawn uniformly from
the context's row of the table. That is a convolution. Nothing is estimated, and nothing is assumed about the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.partition.kernel import jit

__all__ = ["FLOOR", "Null", "null_of"]

FLOOR = 1e-300
"""Smallest p-value that is reported: float64 ends a little below it."""

_NOTHING = 1e-306  # smaller probabilities at the ends are dropped: processors are slow on subnormal numbers


@dataclass(frozen=True)
class Null:
    """Distribution of the score of one wrong code.

    Attributes:
        lowest: the score that ``probability[0]`` belongs to.
        probability: float64 (scores,), sums to 1.
    """

    lowest: int
    probability: NDArray[np.float64]

    def tail(self, score: int) -> float:
        """``P(S >= score)`` for one code chosen before the text was seen."""
        return float(min(1.0, self.probability[max(score - self.lowest, 0) :].sum()))

    def p_value(self, score: int, tests: float) -> float:
        """``min(1, tests * P(S >= score))``, the p-value of the best of ``tests`` codes; at least :data:`FLOOR`."""
        return min(1.0, max(tests * self.tail(score), FLOOR))

    def randomised(self, score: int, u: float) -> float:
        """``P(S > score) + u P(S = score)``: exactly uniform under the null for ``u`` uniform on [0, 1)."""
        return self.tail(score + 1) + u * (self.tail(score) - self.tail(score + 1))


@jit
def _convolve(table: Any, reach: int) -> Any:
    contexts, colours = table.shape
    old, new = np.zeros(reach + 1), np.zeros(reach + 1)
    old[0] = 1.0
    first, last, lowest = 0, 0, 0  # the range that is not zero, and the score of index 0
    for c in range(contexts):
        least, most = table[c].min(), table[c].max()
        lowest += least
        span = most - least
        chance = np.zeros(span + 1)
        for a in range(colours):
            chance[table[c, a] - least] += 1.0 / colours
        new[first : last + span + 1] = 0.0
        for step in range(span + 1):
            if chance[step] > 0:
                for k in range(first, last + 1):
                    new[k + step] += chance[step] * old[k]
        old, new = new, old
        last += span
        while first < last and old[first] < _NOTHING:
            first += 1
        while first < last and old[last] < _NOTHING:
            last -= 1
    return lowest + first, old[first : last + 1].copy()


def null_of(table: NDArray[np.int32]) -> Null:
    """Convolve the rows of a table of scores.

    Args:
        table: int32 (contexts, colours), the scores by context.
    """
    if not len(table):
        return Null(0, np.ones(1))
    reach = int((table.max(axis=1) - table.min(axis=1)).sum())
    lowest, probability = _convolve(table, reach)
    return Null(int(lowest), probability)

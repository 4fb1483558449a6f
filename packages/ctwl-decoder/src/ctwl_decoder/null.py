"""The exact null distribution of a wrong code's score, and the p-values that follow (spec section 12).

Given the text, the only thing random about a wrong code is its colour at each context: uniform over the colours and
independent between distinct contexts. Its score is therefore distributed as the sum, over contexts, of a uniformly
drawn entry of that context's row of the table: a convolution, with nothing estimated and nothing assumed of the text.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["FLOOR", "Null", "null_of"]

FLOOR = 1e-300
"""Smallest p-value that is reported: below it float64 runs out of range, so the report says "at most"."""


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

    def p_value(self, score: int, tests: int) -> float:
        """``min(1, tests * P(S >= score))``, the p-value of the best of ``tests`` codes; at least :data:`FLOOR`."""
        return min(1.0, max(tests * self.tail(score), FLOOR))

    def randomised(self, score: int, u: float) -> float:
        """``P(S > score) + u P(S = score)``: exactly uniform under the null for ``u`` uniform on [0, 1)."""
        return self.tail(score + 1) + u * (self.tail(score) - self.tail(score + 1))


def null_of(table: NDArray[np.int32]) -> Null:
    """Convolve the rows of a table of evidence.

    Args:
        table: int32 (contexts, colours).
    """
    lowest, probability = 0, np.ones(1)
    for row in table:
        least = int(row.min())
        step = np.bincount(row - least) / len(row)
        probability = np.convolve(probability, step)
        lowest += least
    return Null(lowest, probability)

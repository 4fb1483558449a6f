"""The exact null distribution of a wrong code's score, and the p-values that follow (spec section 12).

Given the text, a wrong code is random only in its colour at each context: uniform over the colours, and independent
between distinct contexts. So its score is distributed as a sum over contexts of one entry each, drawn uniformly from
the context's row of the table. That is a convolution. Nothing is estimated, and nothing is assumed about the text.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["FLOOR", "Null", "null_of", "tail_of"]

FLOOR = 1e-300
"""Smallest p-value that is reported: float64 ends a little below it."""

_NOTHING = 1e-306  # smaller probabilities at the ends are dropped: processors are slow on subnormal numbers

_STEEPEST, _HALVINGS = 600.0, 40
"""The steepest tilt raises a context's highest score e^600 times, which float64 holds; and the halvings that find a
tilt. Any tilt gives the same tail."""


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


def null_of(table: NDArray[np.int32]) -> Null:
    """Convolve the rows of a table of scores.

    Args:
        table: int32 (contexts, colours), the scores by context.
    """
    if not len(table):
        return Null(0, np.ones(1))
    lowest, probability = 0, np.ones(1)
    for row in _chances(table):
        probability = np.convolve(probability, row)
        above = np.flatnonzero(probability >= _NOTHING)
        lowest, probability = lowest + int(above[0]), probability[above[0] : above[-1] + 1]
    return Null(lowest + int(table.min(axis=1).sum()), probability)


def tail_of(table: NDArray[np.int32], score: int) -> float:
    """``null_of(table).tail(score)``, in a fraction of the time where there are many contexts.

    The distribution is tilted until the score is its mean (Esscher's transform). There Fourier transforms convolve it
    with nearly all digits, however small the tail is; the tilt is then undone.

    Args:
        table: int32 (contexts, colours), the scores by context.
        score: of one code chosen before the text was seen.
    """
    if not len(table):
        return float(score <= 0)
    least = table.min(axis=1).astype(np.int64)
    above = score - int(least.sum())
    if above <= 0:
        return 1.0
    if above > int((table.max(axis=1) - least).sum()):
        return 0.0
    chances = _chances(table)
    steps = np.arange(chances.shape[1])
    tilt = _tilt(chances, above)
    tilted = chances * np.exp(tilt * steps)
    mass = tilted.sum(axis=1, keepdims=True)
    parts = tilted / mass
    while len(parts) > 1:
        if len(parts) % 2:
            parts = np.concatenate([parts, np.eye(1, parts.shape[1])])  # of a score that is always 0
        size = 2 * parts.shape[1] - 1
        spectra = np.fft.rfft(parts, 1 << (size - 1).bit_length())
        parts = np.maximum(np.fft.irfft(spectra[::2] * spectra[1::2])[:, :size], 0)
    upper = parts[0, above:]
    return float(np.exp(np.log(mass).sum() - tilt * above) * (upper * np.exp(-tilt * np.arange(len(upper)))).sum())


def _tilt(chances: NDArray[np.float64], above: int) -> float:
    """The tilt under which the mean of the sum is ``above``; 0 where it is so without, or lower."""
    steps, low, high = np.arange(chances.shape[1]), 0.0, _STEEPEST / chances.shape[1]
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        tilted = chances * np.exp(middle * steps)
        below = float((tilted @ steps / tilted.sum(axis=1)).sum()) < above
        low, high = (middle, high) if below else (low, middle)
    return low


def _chances(table: NDArray[np.int32]) -> NDArray[np.float64]:
    """For each context the probability of each step above its lowest score: float64 (contexts, steps)."""
    contexts, colours = table.shape
    steps = (table - table.min(axis=1, keepdims=True)).astype(np.int64)
    width = int(steps.max()) + 1
    cells = steps + width * np.arange(contexts)[:, None]
    counts = np.bincount(cells.reshape(-1), minlength=contexts * width)
    chances: NDArray[np.float64] = counts.reshape(contexts, width) / colours
    return chances

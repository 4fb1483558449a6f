"""The exact null distribution of a wrong code's score, and the p-values that follow (spec section 12).

Given the text, a wrong code is random only in its colour at each context: uniform over the colours, and independent
between distinct contexts. So its score is distributed as a sum over contexts of one entry each, drawn uniformly from
the context's row of the table. That is a convolution. Nothing is estimated, and nothing is assumed about the text.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.numbers import NUMBERS

FLOOR = NUMBERS.null.floor
"""Smallest p-value that is reported."""

_NOTHING = 1e-306  # smaller probabilities at the ends are dropped: processors are slow on subnormal numbers

_STEEPEST = NUMBERS.null.steepest
"""The steepest tilt."""

_TRIES, _NEAR = 40, 0.01
"""The search for a tilt ends where the mean is so near the score, in standard deviations, or after so many tries. Any
tilt gives the same tail: a bad one loses digits."""


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
    rows = _Rows.of(table)
    lowest, probability = 0, np.ones(1)
    for row in np.split(rows.chance, rows.starts[1:]):
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
    above = score - int(table.min(axis=1).sum())
    if above <= 0:
        return 1.0
    rows = _Rows.of(table)
    below_top = int((rows.widths - 1).sum()) - above
    if below_top < 0:
        return 0.0
    tilt = _tilt(rows, above)
    tilted, mass = rows.tilted(tilt)
    upper = _sum(rows, tilted)[above:]
    undone = np.log(mass).sum() + tilt * below_top
    return float(np.exp(undone + np.log((upper * np.exp(-tilt * np.arange(len(upper)))).sum())))


@dataclass(frozen=True)
class _Rows:
    """The distribution of each context's score above its lowest: rows of several widths, one after the other.

    Attributes:
        chance: float64 (cells,), the probability of a step above the lowest score.
        steps: int64 (cells,), the step.
        starts: int64 (contexts,), the first cell of each row.
        widths: int64 (contexts,), the cells of each row.
    """

    chance: NDArray[np.float64]
    steps: NDArray[np.int64]
    starts: NDArray[np.int64]
    widths: NDArray[np.int64]

    @classmethod
    def of(cls, table: NDArray[np.int32]) -> _Rows:
        steps = (table - table.min(axis=1, keepdims=True)).astype(np.int64)
        widths = steps.max(axis=1) + 1
        starts, cells = widths.cumsum() - widths, int(widths.sum())
        counts = np.bincount((steps + starts[:, None]).reshape(-1), minlength=cells)
        return cls(counts / table.shape[1], np.arange(cells) - np.repeat(starts, widths), starts, widths)

    def tilted(self, tilt: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The cells under a tilt, float64 (cells,), each row with the sum 1; and what divided it, float64 (rows,).

        A row's highest score keeps its chance, and lower scores lose: nothing overflows, however wide a row is.
        """
        below = np.repeat(self.widths, self.widths) - 1 - self.steps
        cells = self.chance * np.exp(-tilt * below)
        mass = np.add.reduceat(cells, self.starts)
        return cells / np.repeat(mass, self.widths), mass


def _tilt(rows: _Rows, above: int) -> float:
    """The tilt under which the mean of the sum is about ``above``; 0 where it is so without, or lower.

    Newton's method; where that leaves what is known to hold the tilt, the middle of it.
    """
    low, high, tilt = 0.0, float(_STEEPEST), 0.0
    for _ in range(_TRIES):
        cells, _ = rows.tilted(tilt)
        first = np.add.reduceat(cells * rows.steps, rows.starts)
        second = np.add.reduceat(cells * rows.steps**2, rows.starts)
        left, variance = above - float(first.sum()), max(float((second - first**2).sum()), _NOTHING)
        low, high = (tilt, high) if left > 0 else (low, tilt)
        if abs(left) <= _NEAR * variance**0.5:
            break
        tilt += left / variance
        if not low < tilt < high:
            tilt = (low + high) / 2
    return tilt


def _sum(rows: _Rows, cells: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distribution of the sum of the rows: float64 (steps,).

    Rows of about one width are added in pairs, which are as wide as the next rows. Few contexts come often in a text,
    and only their rows are wide.
    """
    power = np.ceil(np.log2(rows.widths)).astype(np.int64)
    sums = np.empty((0, 1))
    for exponent in range(int(power.max()) + 1):
        mine, steps = np.flatnonzero(power == exponent), np.arange(1 << exponent)
        places = np.minimum(rows.starts[mine, None] + steps, len(cells) - 1)
        own = np.where(steps < rows.widths[mine, None], cells[places], 0.0)
        sums = np.concatenate([_in_pairs(sums) if exponent else sums, own])
    while len(sums) > 1:
        sums = _in_pairs(sums)
    found: NDArray[np.float64] = sums[0]
    return found


def _in_pairs(parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distributions of sums of two, and of a last one alone: of (parts, width) float64 (parts / 2, 2 width)."""
    size = 2 * parts.shape[1]
    if len(parts) <= 1:
        return np.pad(parts, ((0, 0), (0, size // 2)))
    spectra = np.fft.rfft(parts, size)
    if len(parts) % 2:
        spectra = np.concatenate([spectra, np.ones((1, spectra.shape[1]))])  # of a score that is always 0
    return np.maximum(np.fft.irfft(spectra[::2] * spectra[1::2], size), 0)

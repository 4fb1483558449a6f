"""From texts to figures: shares with intervals, tokens needed, runs that texts share; and resamples of the prompts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

NINE_IN_TEN = 0.9

RESAMPLES = 1000
"""Chosen by hand: the ends of an interval are then known to about a tenth of its width."""

_LEAST_AT_RISK = 1 / 4
"""Share of the texts that must be as long for a length to say something. Chosen by hand: of the few longest texts, a
single one would decide."""


class Share(NamedTuple):
    """So many of so many, with a 95 % interval of the rate."""

    successes: int
    trials: int
    low: float
    high: float

    @property
    def rate(self) -> float:
        """The share itself."""
        return self.successes / self.trials


class Estimate(NamedTuple):
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float


class Needed(NamedTuple):
    """Tokens, with a 95 % interval; None where it is more than was written."""

    tokens: int | None
    low: int | None
    high: int | None


def share(successes: int, trials: int) -> Share:
    """A share with its exact interval (Clopper and Pearson 1934), as if the texts were independent."""
    ways = [math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1) for k in range(trials + 1)]

    def from_on(least: int, p: float) -> float:
        """The chance of so many successes or more; in logarithms, because the terms overflow from 1,030 trials on."""
        kept, left = math.log(p), math.log1p(-p)
        return sum(math.exp(ways[k] + k * kept + (trials - k) * left) for k in range(least, trials + 1))

    low = _rises_to(partial(from_on, successes), 0.025) if successes else 0.0
    high = _rises_to(partial(from_on, successes + 1), 0.975) if successes < trials else 1.0
    return Share(successes, trials, low, high)


def _rises_to(function: Callable[[float], float], value: float) -> float:
    """Where a rising function on [0, 1] has a value, by halving."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < value else (low, middle)
    return (low + high) / 2


def found_by(lengths: Sequence[int], found_at: Sequence[int | None]) -> list[tuple[int, float]]:
    """The share of texts that are found, by the number of tokens read (Kaplan and Meier 1958).

    A text that ended before its code was found says nothing of longer texts, so from there on it is left out.

    Args:
        lengths: of the texts, in tokens.
        found_at: how many tokens of each it took to find its code; None where it was not found.

    Returns:
        The lengths at which the share changes, ascending, each with the share from there on. They end where fewer than
        a quarter of the texts are as long.
    """
    ends = np.array([length if at is None else at for length, at in zip(lengths, found_at, strict=True)])
    finds = np.array([at is not None for at in found_at])
    reach, left, curve = np.array(lengths), 1.0, list[tuple[int, float]]()
    for tokens in np.unique(ends[finds]).tolist():
        if (reach >= tokens).mean() < _LEAST_AT_RISK:
            break
        left *= 1 - float((finds & (ends == tokens)).sum()) / float((ends >= tokens).sum())
        curve.append((tokens, 1 - left))
    return curve


def tokens_until(curve: Sequence[tuple[int, float]]) -> int | None:
    """Where a curve of :func:`found_by` reaches nine in ten; None where it does not."""
    return next((tokens for tokens, reached in curve if reached >= NINE_IN_TEN - 1e-9), None)


def resampled(groups: int, seed: int) -> NDArray[np.int64]:
    """Which groups of texts each resample takes: int64 (RESAMPLES, groups), drawn with replacement (Efron 1979).

    Texts of one prompt resemble each other. So prompts are drawn, each with all its texts.
    """
    return np.random.default_rng([seed, groups]).integers(groups, size=(RESAMPLES, groups))


def estimate(values: NDArray[np.float64], picks: NDArray[np.int64]) -> Estimate:
    """The mean of float64 (groups,) with the interval by resamples, int64 (resamples, groups).

    NaN, where a group has nothing to say, is left out; the estimate is NaN where all groups are.
    """
    known = ~np.isnan(values)
    if not known.any():
        return Estimate(math.nan, math.nan, math.nan)
    sums, counts = np.where(known, values, 0)[picks].sum(axis=1), known[picks].sum(axis=1)
    low, high = np.quantile(sums[counts > 0] / counts[counts > 0], [0.025, 0.975]).tolist()
    return Estimate(float(values[known].mean()), low, high)


def needed(
    lengths: NDArray[np.int64], found_at: Sequence[Sequence[int | None]], picks: NDArray[np.int64]
) -> tuple[Needed, list[tuple[int, float]]]:
    """The tokens until nine texts in ten are found, and the curve of :func:`found_by`.

    Args:
        lengths: int64 (groups, texts).
        found_at: for each group its texts, as for :func:`found_by`.
        picks: the resamples, int64 (resamples, groups).
    """

    def curve(groups: Sequence[int]) -> list[tuple[int, float]]:
        return found_by(lengths[groups].reshape(-1).tolist(), [at for group in groups for at in found_at[group]])

    whole = curve(range(len(lengths)))
    drawn = sorted(tokens_until(curve(pick)) or math.inf for pick in picks.tolist())
    low, high = (drawn[round(q * (len(drawn) - 1))] for q in (0.025, 0.975))
    return Needed(tokens_until(whole), *(None if math.isinf(end) else int(end) for end in (low, high))), whole


def shared_runs(own: Sequence[int], others: Sequence[Sequence[int]]) -> float:
    """The share of a text's runs of three tokens that other texts have, too; NaN where it has no run.

    Args:
        own: the text's tokens.
        others: the tokens of the other texts.
    """
    runs, *seen = (set(zip(ids, ids[1:], ids[2:], strict=False)) for ids in [own, *others])
    return len(runs & set().union(*seen)) / len(runs) if runs else math.nan

"""Numbers with their exact intervals, and measures of texts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats


def rate(successes: int, trials: int) -> dict[str, Any]:
    """A rate with its exact (Clopper-Pearson) 95 % interval."""
    interval = stats.binomtest(successes, trials).proportion_ci(0.95, "exact")
    return {
        "successes": successes,
        "trials": trials,
        "rate": round(successes / trials, 4),
        "interval_95": [round(interval.low, 4), round(interval.high, 4)],
    }


def mean(values: NDArray[np.float64]) -> dict[str, Any]:
    """The mean with its 95 % interval by the t distribution."""
    half = float(stats.sem(values) * stats.t.ppf(0.975, len(values) - 1))
    middle = float(values.mean())
    return {
        "mean": round(middle, 4),
        "interval_95": [round(middle - half, 4), round(middle + half, 4)],
        "interval holds 0": bool(abs(middle) <= half),
    }


def beside(values: NDArray[np.float64], plain: NDArray[np.float64]) -> dict[str, Any]:
    """How the means of paired values differ, see :func:`mean`."""
    found = mean(values - plain)
    return {"difference to plain": found.pop("mean")} | found


def small_p_values(p_values: NDArray[np.float64], levels: Sequence[float]) -> dict[str, Any]:
    """Whether small p-values are more frequent than in a uniform distribution: a one-sided Kolmogorov-Smirnov test.

    Much probability at 1 is fine for a p-value that is capped there; only an excess of small ones is tested.

    Args:
        p_values: float64 (texts,).
        levels: at each of which the values are counted, too.
    """
    below = stats.kstest(p_values, "uniform", alternative="greater")
    return {
        "mean": round(float(p_values.mean()), 4),
        "smallest": float(p_values.min()),
        "KS p, one-sided": round(float(below.pvalue), 4),
        "at most": {str(level): int((p_values <= level).sum()) for level in levels},
    }


def tokens_needed(
    good: NDArray[np.bool_], lengths: Sequence[int], rng: np.random.Generator, tenths: int = 9
) -> dict[str, Any]:
    """The shortest length at which nine in ten texts are good, with its interval over 2,000 draws of the texts.

    Args:
        good: bool (texts, lengths).
        lengths: in tokens, ascending.
        rng: draws the texts.
        tenths: so many in ten instead of nine.

    Returns:
        Lengths; None for more than the longest.
    """
    drawn = [_shortest(good[rows], lengths, tenths) for rows in rng.integers(len(good), size=(2000, len(good)))]
    values = [_shortest(good, lengths, tenths), *np.quantile(drawn, (0.025, 0.975), method="inverted_cdf")]
    value, low, high = (None if np.isinf(each) else int(each) for each in values)
    return {"tokens": value, "interval_95": [low, high]}


def _shortest(good: NDArray[np.bool_], lengths: Sequence[int], tenths: int) -> float:
    """The shortest length at which enough texts are good; infinite where there is none."""
    enough = np.flatnonzero(10 * good.sum(axis=0) >= tenths * len(good))
    return lengths[enough[0]] if len(enough) else np.inf


def repeats(ids: Sequence[int]) -> float:
    """The share of the pairs of neighbouring tokens that came before."""
    pairs = list(pairwise(ids))
    return 1 - len(set(pairs)) / max(len(pairs), 1)

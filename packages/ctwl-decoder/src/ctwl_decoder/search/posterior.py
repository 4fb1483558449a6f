"""The paper's own test, as a compatibility mode (Wang et al. 2024, equation 9 and section 6.2).

With a uniform prior over codes and one nat of log-probability per hit, the posterior of a code is the softmax of the
scores; a window of the text counts as watermarked when its best code's posterior reaches 1 - 1e-5. Every position
counts, repeated or not. The posterior compares codes with each other, not a text with human text: it is no
false-positive rate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..statistics.code_scores import score_all
from ..statistics.evidence import ScoredPositions, ScoreTable
from ..statistics.scores import Score
from .spans import Candidate, ScoredText, Window

__all__ = ["LENGTH", "STEP", "THRESHOLD", "posterior", "posterior_windows"]

THRESHOLD = 1 - 1e-5

LENGTH = 200
"""Positions in a sliding window."""

STEP = 50
"""Positions between the starts of two windows."""


def posterior(scores: NDArray[np.int32], best: int) -> float:
    """Posterior probability of the code at index ``best``: the softmax of all scores at it."""
    return float(1 / np.exp(scores.astype(np.float64) - float(scores[best])).sum())


def posterior_windows(
    marks: ScoredPositions, codes: NDArray[np.uint32], share: float = 1.0
) -> list[tuple[Candidate, float]]:
    """The best code of each sliding window and its posterior.

    Args:
        marks: the text's marks, in units of the count.
        codes: uint32, the codes that are searched.
        share: the share of the level that this text's tests may use, for the p-value.
    """
    found = []
    last = max(0, len(marks) - LENGTH)
    starts = sorted({*range(0, last, STEP), last})
    for start in starts:
        window = (start, min(start + LENGTH, len(marks)))
        scores = score_all(ScoreTable.of(marks[slice(*window)], repeats=True), codes)
        best = int(scores.argmax())
        tests = len(codes) * len(starts) / share
        candidate = Window.of(ScoredText(marks, Score.COUNT), *window).judge(int(codes[best]), codes, tests)
        found.append((candidate, posterior(scores, best)))
    return found

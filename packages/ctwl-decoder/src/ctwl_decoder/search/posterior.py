"""The paper's own test, as a compatibility mode (Wang et al. 2024, equation 9 and section 6.2).

The prior over codes is uniform, and each hit adds one nat of log-probability. So the posterior of a code is the softmax
of the scores. A window of the text counts as watermarked where its best code has a posterior of at least 1 - 1e-5. All
positions count, repeated ones too. The posterior compares codes with each other, not a text with human text: it is no
false-positive rate.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..statistics.code_scores import score_all
from ..statistics.scored_positions import ScoredPositions, ScoreTable
from ..statistics.scores import Score
from .candidates import Candidate, ScoredText, Window

__all__ = ["LENGTH", "STEP", "THRESHOLD", "posterior", "posterior_windows"]

THRESHOLD = 1 - 1e-5

LENGTH = 200
"""Positions in a sliding window."""

STEP = 50
"""Positions between the starts of two windows."""


def posterior(scores: NDArray[np.int32], best: int) -> float:
    """Posterior probability of the code at index ``best``: the softmax of all scores at it."""
    return float(1 / np.exp(scores.astype(np.float64) - float(scores[best])).sum())


def posterior_windows(positions: ScoredPositions, codes: NDArray[np.uint32], share: float = 1.0) -> list[Candidate]:
    """The best code of each sliding window, with its posterior and its exact p-value.

    Args:
        positions: the text's positions, scored by the count.
        codes: uint32, the codes that are searched.
        share: the share of the level that this text's tests may use, for the p-value.
    """
    found = []
    last = max(0, len(positions) - LENGTH)
    starts = sorted({*range(0, last, STEP), last})
    for start in starts:
        window = (start, min(start + LENGTH, len(positions)))
        scores = score_all(ScoreTable.of(positions[slice(*window)], repeats=True), codes)
        best = int(scores.argmax())
        tests = len(codes) * len(starts) / share
        candidate = Window.of(ScoredText(positions, Score.COUNT), *window).candidate(int(codes[best]), codes, tests)
        found.append(replace(candidate, posterior=posterior(scores, best)))
    return found

"""The paper's own decoder, to compare with (Wang et al. 2024); the product does not read so.

The proxy LM weighs the vocabulary behind the ``L_prefix`` tokens before each position, and a code hits where its half
holds the token that the text shows. The prior over codes is uniform, and each hit adds one nat of log-probability. So
the posterior of a code is the softmax of the hits (equation 9). A window of the text counts as watermarked where its
best code has a posterior of at least 1 - 1e-5 (section 6.2). All positions count, repeated ones too. The posterior
compares codes with each other, not a text with human text: it is no false-positive rate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ctwl_decoder.statistics.code_scores import code_space, score_all
from ctwl_decoder.statistics.evidence import permutations
from ctwl_decoder.statistics.scored_positions import ScoredPositions, ScoreTable
from ctwl_protocol.partition.reference import is_member, mass_below
from ctwl_protocol.proxy import Proxy
from ctwl_protocol.text.positions import positions

THRESHOLD = 1 - 1e-5

LENGTH = 200
"""Positions in a sliding window."""

STEP = 50
"""Positions between the starts of two windows."""


class Passage(NamedTuple):
    """A stretch of a text and its best code.

    Attributes:
        start, end: its positions.
        code: its best code.
        posterior: of the code.
    """

    start: int
    end: int
    code: int
    posterior: float


def hits(proxy: Proxy, ids: NDArray[np.int64]) -> ScoredPositions:
    """Whether each colour's half holds the token at each position of a text, int64 (tokens,)."""
    profile = proxy.profile
    cut = positions(ids, profile.prefix_length, profile.context_length)
    found = np.empty((len(cut), profile.colours), dtype=np.int8)
    for start in range(0, len(cut), proxy.batch_size):
        rows = slice(start, start + proxy.batch_size)
        weights = proxy.weights(cut.prefixes[rows])
        below = mass_below(weights, cut.observed[rows], permutations(profile, cut.contexts[rows]))
        found[rows] = is_member(below, weights.sum(axis=1, keepdims=True, dtype=np.uint64), profile.sigma)
    return ScoredPositions.of(profile, cut, found)


def posterior(counts: NDArray[np.int32], best: int) -> float:
    """Posterior probability of the code at index ``best``: the softmax of all codes' hits at it."""
    return float(1 / np.exp(counts.astype(np.float64) - float(counts[best])).sum())


def best_of(proxy: Proxy, found: ScoredPositions, start: int = 0) -> Passage:
    """The best code of :func:`hits`, of a whole text or of a part that begins at ``start``."""
    codes = code_space(proxy.profile)
    counts = score_all(ScoreTable(found.seeds, found.scores.astype(np.int32)), codes)
    best = int(counts.argmax())
    return Passage(start, start + len(found), int(codes[best]), posterior(counts, best))


def passages(proxy: Proxy, ids: NDArray[np.int64]) -> list[Passage]:
    """The passages of a text that count as watermarked; windows of one code that meet are one passage."""
    found, joined = hits(proxy, ids), list[Passage]()
    last = max(0, len(found) - LENGTH)
    for start in sorted({*range(0, last, STEP), last}):
        window = best_of(proxy, found[start : start + LENGTH], start)
        before = joined[-1] if joined else None
        if window.posterior < THRESHOLD:
            continue
        if before and before.code == window.code and window.start <= before.end:
            joined[-1] = before._replace(end=window.end, posterior=max(before.posterior, window.posterior))
        else:
            joined.append(window)
    return joined

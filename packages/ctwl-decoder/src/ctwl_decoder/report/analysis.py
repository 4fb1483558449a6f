"""A report together with the evidence behind it, token by token."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .model import Report

_HARDLY = 0.1
_FOR = {"half": (0.3, 0.5), "race": (0.7, 2.0)}
_FOR |= {"light-soft": _FOR["half"], "light-rank": _FOR["race"]}
_AGAINST = (0.5, 1.0)
"""Nats from which a token is shown more strongly: chosen so that each score reaches every shade."""


_AROUND = 24
"""Tokens that are shown on both sides of a span of a long text. Chosen by hand: a line or two."""


@dataclass(frozen=True)
class Analysis:
    """A report with the evidence behind it.

    Attributes:
        text: the text as given.
        report: the report.
        starts: int64 (tokens + 1,), where each proxy token, and the end, stands in the text.
        contributions: float64 (tokens,), the log-likelihood ratio of each token in nats: for the code of its span, else
            for the report's code or the likeliest one. NaN for the first ``L_prefix`` tokens, which are not scored.
    """

    text: str
    report: Report
    starts: NDArray[np.int64]
    contributions: NDArray[np.float64]

    def pieces(self) -> Iterator[tuple[str, float]]:
        """The text's tokens as they stand in it, white space included, each with its contribution."""
        bounds = self.starts.tolist()
        bounds[0], bounds[-1] = 0, len(self.text)
        for (start, end), value in zip(pairwise(bounds), self.contributions.tolist(), strict=True):
            yield self.text[start:end], value

    def shown(self, most: int) -> NDArray[np.bool_]:
        """Which tokens a report of limited length shows: bool (tokens,), at most ``most`` of them.

        A short text is shown whole. Of a longer one the spans are shown with some tokens on both sides, or its
        beginning where there is no span.
        """
        tokens = len(self.contributions)
        if tokens <= most:
            return np.ones(tokens, dtype=np.bool_)
        visible = np.zeros(tokens, dtype=np.bool_)
        for span in self.report.spans:
            first = int(np.searchsorted(self.starts[1:], span.start, side="right"))
            last = int(np.searchsorted(self.starts[:-1], span.end, side="left"))
            visible[max(first - _AROUND, 0) : last + _AROUND] = True
        if not self.report.spans:
            visible[:_AROUND] = True
        return np.asarray(visible & (visible.cumsum() <= most))


def evidence_level(contribution: float, score: str) -> int:
    """The shade of a token's evidence: 1 to 3 for the code, -1 to -3 against it, 0 for hardly any or none (NaN).

    Args:
        contribution: in nats.
        score: the score that it is by.
    """
    if math.isnan(contribution) or abs(contribution) < _HARDLY:
        return 0
    if contribution > 0:
        return 1 + sum(contribution >= step for step in _FOR[score])
    return -1 - sum(-contribution >= step for step in _AGAINST)

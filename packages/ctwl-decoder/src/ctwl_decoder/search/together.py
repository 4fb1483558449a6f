"""Several texts of one origin, read as one body: short messages that show nothing alone.

Each text carries a beacon with a nonce of its own, so what all of them share is a provider and a model version: a
*pair*. A hypothesis is a pair and, for each text, a nonce and a variant: its score is the sum of the texts' scores, a
token that comes back in its context under one nonce counted once. Its null is exact, as for one text (spec section 12),
and the p-value is multiplied by the number of all hypotheses, whichever of them was looked at. One half of the level is
for hypotheses with a nonce for each text, the other one for hypotheses with one nonce, far fewer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.records.beacon import NONCE_COUNT

from ..statistics.code_scores import score_all
from ..statistics.e_value import log_e_value
from ..statistics.null import FLOOR, tail_of
from ..statistics.scored_positions import ScoredPositions, ScoreTable
from ..statistics.scores import Score
from .candidates import CodeSet, HeldBy, light_needs

MOST_TEXTS = 128
"""Texts that are read together: a tail must be a number of float64 before it is multiplied by 64 for each text."""

_SMALLEST = 1e-300
"""What a tail is taken for that is smaller."""


@dataclass(frozen=True)
class Joint:
    """The best hypothesis on a body of texts by one score.

    Attributes:
        codes: the code of each text.
        by: how positions were scored.
        log_e: the natural logarithm of the hypothesis's e-value.
        contexts: the distinct contexts of all texts.
        choices: the natural logarithm of how many choices of nonces and variants a pair has.
        pairs: how many pairs were searched.
        p_value: corrected for all that was searched.
    """

    codes: tuple[int, ...]
    by: Score
    log_e: float
    contexts: int
    choices: float
    pairs: int
    p_value: float

    def passes(self, alpha: float, every: int) -> bool:
        """Whether the texts carry the pair, by the rule of :meth:`.candidates.Candidate.passes`.

        Args:
            alpha: the level.
            every: how many codes the profile has.
        """
        return self.held_by(alpha, every) is None

    def held_by(self, alpha: float, every: int) -> HeldBy | None:
        """The rule that the texts do not pass; None where they pass."""
        if self.p_value > alpha:
            return "level"
        if not self.by.light:
            return None if self.log_e >= self.choices - math.log(alpha) else "e-value"
        return None if self.p_value <= self.needs(alpha, every) else "few-contexts"

    def needs(self, alpha: float, every: int) -> float:
        """The largest p-value that passes."""
        return light_needs(self.contexts, every / NONCE_COUNT / self.pairs, alpha) if self.by.light else alpha


def read_together(texts: Sequence[Sequence[ScoredPositions]], by: Score, code_set: CodeSet, share: float) -> Joint:
    """The best hypothesis of a set of codes.

    Args:
        texts: the variants of each text.
        by: how their positions are scored.
        code_set: whole pairs, each with all its nonces, and their share of the level.
        share: the score's share of the level.
    """
    pairs = len(code_set.codes) // NONCE_COUNT
    apart, alike = np.zeros(pairs), np.zeros(len(code_set.codes))
    nonces, variants = list[NDArray[np.int64]](), list[NDArray[np.int64]]()
    for text in texts:
        scores = np.stack([score_all(ScoreTable.of(variant), code_set.codes) for variant in text])
        best = scores.max(axis=0)
        apart += best.reshape(-1, NONCE_COUNT).max(axis=1)
        alike += best
        nonces.append(best.reshape(-1, NONCE_COUNT).argmax(axis=1))
        variants.append(scores.argmax(axis=0))
    pair, one = int(apart.argmax()), int(alike.argmax())
    of_variants = sum(math.log(len(text)) for text in texts)
    hypotheses = [
        ([pair * NONCE_COUNT + int(each[pair]) for each in nonces], len(texts) * math.log(NONCE_COUNT)),
        ([one] * len(texts), math.log(NONCE_COUNT)),
    ]
    found = []
    for places, of_nonces in hypotheses:
        parts = [text[which[place]] for text, which, place in zip(texts, variants, places, strict=True)]
        codes = code_set.codes[places].tolist()
        choices = of_variants + of_nonces + math.log(len(hypotheses))
        tests = math.log(pairs / (share * code_set.share)) + choices
        found.append(_joint(parts, codes, by, tests, choices, pairs))
    return min(found, key=lambda joint: joint.p_value)


def _joint(
    parts: Sequence[ScoredPositions], codes: Sequence[int], by: Score, tests: float, choices: float, pairs: int
) -> Joint:
    """A hypothesis with its p-value, for so many tests (their natural logarithm)."""
    table, units = _table(parts, codes)
    contexts = len(np.unique(np.concatenate([part.pairs[:, :-1] for part in parts]), axis=0))
    logarithm = tests + math.log(max(tail_of(table, int(units.sum())), _SMALLEST))
    p_value = max(math.exp(min(logarithm, 0.0)), FLOOR)
    return Joint(tuple(codes), by, log_e_value(units), contexts, choices, pairs, p_value)


def _table(parts: Sequence[ScoredPositions], codes: Sequence[int]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The scores by context and code: int32 (contexts, colours); and what the codes score there: int32 (contexts,)."""
    rows, units = [], []
    for code in dict.fromkeys(codes):
        same = [part for part, own in zip(parts, codes, strict=True) if own == code]
        table = ScoreTable.of(_joined(same))
        rows.append(table.scores)
        units.append(table.units(code))
    return np.concatenate(rows), np.concatenate(units)


def _joined(parts: Sequence[ScoredPositions]) -> ScoredPositions:
    columns = ("pairs", "seeds", "scores", "slots")
    return ScoredPositions(*(np.concatenate([getattr(part, name) for part in parts]) for name in columns))

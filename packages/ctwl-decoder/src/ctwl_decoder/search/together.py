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

from ctwl_protocol.records.beacon import BEACON_BITS, NONCE_COUNT

from ..statistics.code_scores import score_all
from ..statistics.e_value import log_e_value
from ..statistics.null import FLOOR, tail_of
from ..statistics.scored_positions import ScoredPositions, ScoreTable
from ..statistics.scores import Score
from .candidates import CodeSet, HeldBy, held_by

MOST_TEXTS = 128
"""Texts that are read together: a tail must be a number of float64 before it is multiplied by 64 for each text."""

_LOG_PAIRS = math.log(1 << BEACON_BITS) - math.log(NONCE_COUNT)
"""The natural logarithm of how many pairs there are."""

_SMALLEST = 1e-300
"""What a tail is taken for that is smaller."""


@dataclass(frozen=True)
class Joint:
    """The best hypothesis on a body of texts by one score.

    Attributes:
        codes: the code of each text.
        by: how positions were scored.
        log_e: the natural logarithm of the hypothesis's e-value.
        positions: of all texts.
        contexts: their distinct contexts.
        log_choices: the natural logarithm of how many choices of nonces and variants its pair has.
        left_out: the natural logarithm of all choices of pairs and nonces that there are, over the searched ones.
        p_value: corrected for all that was searched.
    """

    codes: tuple[int, ...]
    by: Score
    log_e: float
    positions: int
    contexts: int
    log_choices: float
    left_out: float
    p_value: float

    def held_by(self, alpha: float) -> tuple[HeldBy, float | None] | None:
        """The rule that the texts do not pass, see :func:`.candidates.held_by`; None where they carry the pair."""
        return held_by(
            self.p_value, alpha, light=self.by.light, positions=self.positions, contexts=self.contexts,
            factor=math.exp(self.left_out), log_e=self.log_e, log_choices=self.log_choices,
        )  # fmt: skip


def read_together(texts: Sequence[Sequence[ScoredPositions]], by: Score, code_set: CodeSet, share: float) -> Joint:
    """The best hypothesis of a set of codes.

    Args:
        texts: the variants of each text.
        by: how their positions are scored.
        code_set: whole pairs, each with all nonces that it may have, as many as the others.
        share: the score's share of the level.
    """
    _, starts = np.unique(code_set.codes // NONCE_COUNT, return_index=True)
    nonces = len(code_set.codes) // len(starts)
    apart, alike = np.zeros(len(starts)), np.zeros(len(code_set.codes))
    best_of, variants = list[NDArray[np.int64]](), list[NDArray[np.int64]]()
    for text in texts:
        scores = np.stack([score_all(ScoreTable.of(variant), code_set.codes) for variant in text])
        best = scores.max(axis=0)
        of_pairs = np.maximum.reduceat(best, starts)
        apart += of_pairs
        alike += best
        elsewhere = np.where(best == np.repeat(of_pairs, nonces), np.arange(len(best)), len(best))
        best_of.append(np.minimum.reduceat(elsewhere, starts))
        variants.append(scores.argmax(axis=0))
    pair, one = int(apart.argmax()), int(alike.argmax())
    hypotheses = [([int(each[pair]) for each in best_of], len(texts)), ([one] * len(texts), 1)]
    of_variants = sum(math.log(len(text)) for text in texts) + math.log(len(hypotheses))
    joints = []
    for places, drawn in hypotheses:
        of_nonce = drawn * math.log(nonces)  # a pair has so many choices of nonces, and all pairs so many hypotheses
        of_all = math.log(len(starts) * code_set.parts) + of_nonce
        left_out = _LOG_PAIRS + drawn * math.log(NONCE_COUNT) - of_all
        parts = [text[which[place]] for text, which, place in zip(texts, variants, places, strict=True)]
        codes = code_set.codes[places].tolist()
        tests = of_all + of_variants - math.log(share * code_set.share)
        joints.append(_joint(parts, codes, by, tests, of_variants + of_nonce, left_out))
    return min(joints, key=lambda joint: joint.p_value)


def _joint(
    parts: Sequence[ScoredPositions], codes: Sequence[int], by: Score, tests: float, log_choices: float, left_out: float
) -> Joint:
    """A hypothesis with its p-value, for so many tests (their natural logarithm)."""
    table, units = _table(parts, codes)
    contexts = len(np.unique(np.concatenate([part.pairs[:, :-1] for part in parts]), axis=0))
    logarithm = tests + math.log(max(tail_of(table, int(units.sum())), _SMALLEST))
    p_value = max(math.exp(min(logarithm, 0.0)), FLOOR)
    positions = sum(map(len, parts))
    return Joint(tuple(codes), by, log_e_value(units), positions, contexts, log_choices, left_out, p_value)


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

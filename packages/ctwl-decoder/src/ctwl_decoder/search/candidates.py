"""Candidates: a window, its best code, and the exact p-value of that (spec section 10, steps 6 and 7)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.records.layouts import Layout

from ..statistics.e_value import log_e_value
from ..statistics.null import FLOOR, tail_of
from ..statistics.scored_positions import ScoredPositions, ScoreTable
from ..statistics.scores import Score

MANY_CONTEXTS = NUMBERS.search.many_contexts
"""From so many distinct contexts on a window is of no very narrow kind."""

POSITIONS_PER_CONTEXT = NUMBERS.search.positions_per_context
"""From so many positions a context on, texts of one kind hold much the same pairs."""


HeldBy: TypeAlias = Literal["level", "few-contexts", "every-code", "e-value"]
"""The rule that a window, or a body of texts, does not pass: the p-value is above the level; by light scores it would
have to be smaller, as it stands on few contexts, or as it must be small enough over every code; or a text that the
language model expects fits the code as well."""


def held_by(
    p_value: float,
    alpha: float,
    *,
    light: bool,
    positions: int,
    contexts: int,
    factor: float,
    log_e: float,
    log_choices: float,
) -> tuple[HeldBy, float | None] | None:
    """The rule that a finding does not pass, and the largest p-value that passes it (spec section 10, step 8).

    The p-value says how rarely another code fits this text as well. That is not enough, as a code may fit all texts of
    a kind whose pairs recur, such as legal boilerplate. The e-value says how rarely a text that the language model
    expects fits this code; it pays for the choice of the best window. Where contexts come back so often that texts of a
    kind hold much the same pairs, one code may have been chosen for all of them; so it pays for all codes. Light scores
    expect no texts. So by them the p-value must be at most the level over all codes: then it does not matter which code
    was asked for. In a text of few contexts it must be at most the level's square.

    Args:
        p_value: corrected for all that was searched.
        alpha: the level.
        light: whether the score needs no language model.
        positions: of the window.
        contexts: the distinct contexts that it stands on.
        factor: all codes of the profile, over those that the tests pay for.
        log_e: the natural logarithm of the e-value.
        log_choices: the natural logarithm of how many hypotheses the best was chosen from, which the e-value pays for.

    Returns:
        None where it passes every rule; a p-value of None where the rule asks for something else.
    """
    if p_value > alpha:
        return "level", alpha
    if not light:
        recurring = positions >= POSITIONS_PER_CONTEXT * contexts
        paid = log_choices + (math.log(factor) if recurring else 0.0)
        return None if log_e >= paid - math.log(alpha) else ("e-value", None)
    few = contexts < MANY_CONTEXTS
    needed = (alpha**2 if few else alpha) / factor
    return None if p_value <= needed else ("few-contexts" if few else "every-code", needed)


@dataclass(frozen=True)
class ScoredText:
    """A text's positions by one score.

    Attributes:
        positions: the positions.
        score: how they are scored.
        share: the share of the level that its tests may use; the shares of all scores of a text add up to 1.
        variants: how many variants of the text share the level.
    """

    positions: ScoredPositions
    score: Score = Score.HALF
    share: float = 1.0
    variants: int = 1


@dataclass(frozen=True)
class CodeSet:
    """Codes that are searched.

    Attributes:
        codes: uint32, ascending.
        share: the share of the level that their tests may use, and the tests of the sets that they share it with.
        parts: into how many parts of the size of this set that share is divided.
    """

    codes: NDArray[np.uint32]
    share: float = 1.0
    parts: float = 1.0

    @property
    def number(self) -> float:
        """For how many codes their tests pay."""
        return len(self.codes) * self.parts


@dataclass(frozen=True)
class FoundRecord:
    """The record that a window carries, as far as it was read.

    Attributes:
        layout: the record's; None where it was not read, or is none that is known here.
        codes: the codes that were read, the beacon first.
        p_values: for each code, how often a record with another code in its place would fit as well (spec section
            10.4).
        p_value: how often some other record would fit as well, at most.
        authenticator: p-value of the provider's own test; None where there is none or the key is not here.
    """

    layout: Layout | None
    codes: tuple[int, ...]
    p_values: tuple[float, ...]
    p_value: float
    authenticator: float | None = None


@dataclass(frozen=True)
class Candidate:
    """A window's best code.

    Attributes:
        start, end: positions of the window.
        record_codes: the number of codes of the record whose slot 0 carries the code.
        code: its best code.
        by: how positions were scored.
        score: the code's score there.
        expected: the mean score of a wrong code.
        log_e: the natural logarithm of the code's e-value, see :mod:`ctwl_decoder.statistics.e_value`.
        contexts: the distinct contexts of the window, in all slots.
        tests: the number of tests (spec section 10.2).
        chance: the probability that one wrong code scores as high in slot 0.
        p_value: corrected for all that was searched.
        code_set: the codes that were searched.
        log_choices: the natural logarithm of how many windows, variants and records it was chosen from.
        record: the whole record, where it was read.
        beacons: the number of its best beacons whose nonces were tried, with or without success.
    """

    start: int
    end: int
    record_codes: int
    code: int
    by: Score
    score: int
    expected: float
    log_e: float
    contexts: int
    tests: float
    chance: float
    p_value: float
    code_set: CodeSet = field(repr=False, compare=False)
    log_choices: float
    record: FoundRecord | None = None
    beacons: int = 0

    def passes(self, alpha: float, every: int) -> bool:
        """Whether the window carries the code, see :meth:`held_by`."""
        return self.held_by(alpha, every) is None

    def held_by(self, alpha: float, every: int) -> tuple[HeldBy, float | None] | None:
        """The rule that the window does not pass, see :func:`held_by`; None where it carries the code.

        Args:
            alpha: the level.
            every: how many codes the profile has.
        """
        factor, light = every / self.code_set.number, self.by.light
        return held_by(
            self.p_value, alpha, light=light, positions=self.end - self.start, contexts=self.contexts, factor=factor,
            log_e=self.log_e, log_choices=self.log_choices,
        )  # fmt: skip

    @property
    def order(self) -> tuple[float, float]:
        """By p-value, then by the expected number of wrong codes that score as high."""
        return self.p_value, self.tests * self.chance

    def overlaps(self, start: int, end: int) -> bool:
        """Whether the window has positions in common with ``start`` to ``end``."""
        return self.start < end and start < self.end


@dataclass(frozen=True)
class Window:
    """A window's slot 0, in records of one number of codes.

    Attributes:
        start, end: its positions.
        record_codes: how many codes the record has.
        by: how positions are scored.
        contexts: the distinct contexts, in all slots.
        table: the scores of slot 0 by context.
    """

    start: int
    end: int
    record_codes: int
    by: Score
    contexts: int
    table: ScoreTable

    @classmethod
    def of(cls, text: ScoredText, start: int, end: int, record_codes: int = 1) -> Window:
        """The window of a text."""
        part = text.positions[start:end]
        table = ScoreTable.of(part[part.indices_of_slot(record_codes, 0)])
        contexts = len(np.unique(part.pairs[:, :-1], axis=0))
        return cls(start, end, record_codes, text.score, contexts, table)

    def candidate(self, code: int, code_set: CodeSet, tests: float, choices: int = 1) -> Candidate:
        """A code, the best of a set, with its exact p-value for so many tests; the window is one of ``choices``."""
        units = self.table.units(code)
        score = int(units.sum())
        chance = tail_of(self.table.scores, score)
        return Candidate(
            self.start,
            self.end,
            self.record_codes,
            code=code,
            by=self.by,
            score=score,
            expected=self.table.expected,
            log_e=log_e_value(units),
            contexts=self.contexts,
            tests=tests,
            chance=chance,
            p_value=min(1.0, max(tests * chance, FLOOR)),
            code_set=code_set,
            log_choices=math.log(choices),
        )

"""From the lines of logs to sums by day and policy, and to the lines that are missing."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ctwl_encoder import FIRST_TOKENS

from ..budget import Budget

_MOST = 1e9
"""The nats of a text, and the strength of its mark. Chosen by hand: none is so large."""

_Count = Annotated[int, Field(ge=0, le=1 << 53)]
"""Of tokens, or of the lines before a line. What is larger could neither be summed up nor printed."""


class Nats(BaseModel):
    """The evidence of a text, as :class:`ctwl_encoder.core.expected_evidence.Evidence` says it."""

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False)

    decided: Annotated[float, Field(ge=-_MOST, le=_MOST)]
    repeats: Annotated[float, Field(ge=-_MOST, le=_MOST)]
    reader: Annotated[float, Field(ge=-_MOST, le=_MOST)]


class Line(BaseModel):
    """One line of a log, as :mod:`ctwl_engines.log` writes it."""

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False)

    process: Annotated[str, Field(max_length=64)]
    line: _Count
    time: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z$", max_length=32)]
    event: Literal["start", "begin", "unmarked", "end", "again"]
    policy: str = ""
    why: Annotated[str, Field(max_length=64, pattern=r"^[a-z ]*$")] = ""
    decided: dict[str, Any] = {}
    profile: str = ""
    provider: int = 0
    version: int = 0
    strategy: str = ""
    begun: tuple[str, int] | None = None
    tokens: _Count = 0
    marked: _Count = 0
    left: dict[str, _Count] = {}
    chance: Annotated[float, Field(ge=0, le=1)] = 0.0
    strength: Annotated[float, Field(ge=0, le=_MOST)] | None = None
    nats: Nats | None = None


def parse_line(given: bytes) -> Line | None:
    """A line of a log; None where it is none, as one that was cut off."""
    try:
        return Line.model_validate_json(given.removeprefix(codecs.BOM_UTF8))
    except ValidationError:
        return None


@dataclass
class Day:
    """The texts of one day under one policy.

    Attributes:
        marked_texts: that began, to be marked.
        unmarked_texts: that began without a mark.
        unmarked: the texts without a mark, by the reason.
        ended: texts to be marked that ended.
        expected_found: how many of these a reader may be expected to find, the sum of their chances.
        tokens: of these.
        marked: tokens that were drawn at a marked place.
        left: the other tokens, by the reason.
    """

    marked_texts: int = 0
    unmarked_texts: int = 0
    ended: int = 0
    expected_found: float = 0.0
    tokens: int = 0
    marked: int = 0
    left: Counter[str] = field(default_factory=Counter)
    unmarked: Counter[str] = field(default_factory=Counter)


@dataclass
class Accounts:
    """The sums of the texts that ended and whose lines say where their evidence goes.

    Attributes:
        texts: how many.
        marked, first, elsewhere: their tokens at marked places, their first tokens, and the others.
        decided, repeats, reader: in nats, see :class:`ctwl_operations.budget.Budget`.
    """

    texts: int = 0
    marked: int = 0
    first: int = 0
    elsewhere: int = 0
    decided: float = 0.0
    repeats: float = 0.0
    reader: float = 0.0

    @property
    def budget(self) -> Budget | None:
        """The budget of the mean text; None where no token was marked."""
        return Budget.of_counts(**vars(self)) if self.marked else None

    def add(self, line: Line) -> None:
        """Count a text."""
        if line.nats is None:
            return
        first = line.left.get(FIRST_TOKENS, 0)
        self.texts += 1
        self.marked += line.marked
        self.first += first
        self.elsewhere += sum(line.left.values()) - first
        self.decided += line.nats.decided
        self.repeats += line.nats.repeats
        self.reader += line.nats.reader


@dataclass(frozen=True)
class Gap:
    """Lines of a process that are missing, from the first to the last, and the times of the lines around them."""

    process: str
    first: int
    last: int
    after: str | None
    before: str


@dataclass
class Summary:
    """What logs show, line by line.

    Attributes:
        days: by the day (UTC) and the digest of the policy under which its texts began or ended.
        policies: what was decided, by the digest.
        written: marked texts by profile, provider, version, strategy and strength; 0 where a line has none.
        accounts: where the evidence of the texts that ended goes.
        gaps: lines that are missing.
        broken: lines that cannot be read.
        repeated: lines that stand twice, or after a later one.
        unbegun: texts that ended, and whose beginning is not there.
        processes: the number of processes.
        lines: the number of lines that can be read.
        first: the time of the first of them.
        last: the time of the last one.
    """

    days: dict[tuple[str, str], Day] = field(default_factory=dict)
    policies: dict[str, dict[str, Any]] = field(default_factory=dict)
    written: Counter[tuple[str, int, int, str, float]] = field(default_factory=Counter)
    accounts: Accounts = field(default_factory=Accounts)
    gaps: list[Gap] = field(default_factory=list)
    broken: int = 0
    repeated: int = 0
    unbegun: int = 0
    lines: int = 0
    first: str = ""
    last: str = ""
    _next: dict[str, tuple[int, str | None]] = field(default_factory=dict)
    _open: set[tuple[str, int]] = field(default_factory=set)

    @classmethod
    def of(cls, lines: Iterable[bytes]) -> Summary:
        """Sum up lines, the oldest first; empty ones say nothing."""
        found = cls()
        for given in lines:
            if given.strip():
                line = parse_line(given)
                if line is None:
                    found.broken += 1
                else:
                    found._add(line)
        return found

    @property
    def processes(self) -> int:
        """The number of processes."""
        return len(self._next)

    @property
    def without_end(self) -> int:
        """Texts that began, and whose end is not there: they were being written when the log was read, or killed."""
        return len(self._open)

    @property
    def unmarked(self) -> Counter[str]:
        """The texts without a mark, by the reason."""
        return sum((day.unmarked for day in self.days.values()), Counter[str]())

    @property
    def complete(self) -> bool:
        """Whether no line is missing, broken or repeated."""
        return not (self.gaps or self.broken or self.repeated or self.unbegun)

    def as_json(self) -> dict[str, Any]:
        """Plain data: the sums by day and policy, and of all days together."""
        days = [{"day": day, "policy": policy, **vars(sums)} for (day, policy), sums in sorted(self.days.items())]
        counts = ("marked_texts", "unmarked_texts", "ended", "expected_found", "tokens", "marked")
        names = ("profile", "provider", "version", "strategy", "strength", "texts")
        written = [(*how, strength or None, count) for (*how, strength), count in sorted(self.written.items())]
        own = ("lines", "processes", "first", "last", "complete", "broken", "repeated", "unbegun", "without_end",
               "unmarked", "policies")  # fmt: skip
        budget = self.accounts.budget
        return {name: getattr(self, name) for name in own} | {
            "budget": budget and {**asdict(budget), "read": budget.read},
            "gaps": [asdict(gap) for gap in self.gaps],
            "totals": {name: sum(getattr(day, name) for day in self.days.values()) for name in counts},
            "days": days,
            "written": [dict(zip(names, each, strict=True)) for each in written],
        }

    def _add(self, line: Line) -> None:
        if not self._count(line):
            return
        self.lines += 1
        self.first, self.last = min(self.first or line.time, line.time), max(self.last, line.time)
        if line.event == "start":
            self.policies[line.policy] = line.decided
            return
        day = self.days.setdefault((line.time[:10], line.policy), Day())
        if line.event == "unmarked":
            day.unmarked_texts += 1
            day.unmarked[line.why or "no reason noted"] += 1
        elif line.event == "begin":
            day.marked_texts += 1
            self.written[line.profile, line.provider, line.version, line.strategy, line.strength or 0.0] += 1
            self._open.add((line.process, line.line))
        else:
            self._end(line, day)

    def _count(self, line: Line) -> bool:
        """Follow the numbers of a process; False where a line has been there."""
        expected, before = self._next.get(line.process, (0, None))
        if line.line < expected:
            self.repeated += 1
            return False
        if line.line > expected:
            self.gaps.append(Gap(line.process, expected, line.line - 1, before, line.time))
        self._next[line.process] = line.line + 1, line.time
        return True

    def _end(self, line: Line, day: Day) -> None:
        day.tokens += line.tokens
        day.marked += line.marked
        day.left.update(line.left)
        if line.event == "again":  # the rest of a text that has ended once
            return
        if line.begun not in self._open:
            self.unbegun += 1
            return
        self._open.discard(line.begun)
        day.ended += 1
        day.expected_found += line.chance
        self.accounts.add(line)

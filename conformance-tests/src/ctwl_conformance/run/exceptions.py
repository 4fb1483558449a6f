"""Known exceptions: cases to leave out and cases that are expected to fail, each with a reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Self

from ctwl_protocol import CTWLError
from ctwl_protocol.files import read_bounded

from .results import Result

_MAX_BYTES = 1 << 20


class ExceptionsMalformed(CTWLError):
    """A file of exceptions is not usable."""


@dataclass(frozen=True)
class Exceptions:
    """Patterns of case ids, as in a shell, with reasons.

    Attributes:
        skip: cases that are not run.
        xfail: cases that must fail; one that passes is a failure.
    """

    skip: tuple[tuple[str, str], ...] = ()
    xfail: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, skip: Path | None, xfail: Path | None) -> Self:
        """Read the files that are there.

        Raises:
            ExceptionsMalformed: see :func:`read`.
        """
        return cls(read(skip) if skip else (), read(xfail) if xfail else ())

    def check(self, ids: Iterable[str]) -> None:
        """Refuse patterns that match no case: the case is gone, or the pattern has an error.

        Raises:
            ExceptionsMalformed: there is one.
        """
        known = list(ids)
        for pattern, _ in (*self.skip, *self.xfail):
            if not any(fnmatchcase(each, pattern) for each in known):
                raise ExceptionsMalformed(f"no case is called {pattern}; remove the line, or correct it")

    def skipped(self, case: str) -> str | None:
        """Why a case is not run; None where it is."""
        return _reason(self.skip, case)

    def applied(self, result: Result) -> Result:
        """A result with the expectation applied."""
        reason = _reason(self.xfail, result.id)
        if reason is None or result.verdict in ("skipped", "errored"):
            return result  # no answer is not the failure that was expected
        if result.verdict == "passed":
            why = f"it was expected to fail ({reason}), but passed: remove the expectation"
            return result.model_copy(update={"verdict": "failed", "reason": why})
        return result.model_copy(update={"verdict": "xfailed", "reason": f"{reason} ({result.reason})"})


def read(path: Path) -> tuple[tuple[str, str], ...]:
    """The patterns and reasons of a file: one pair on each line. Empty lines and lines that begin with # do not count.

    Raises:
        ExceptionsMalformed: there is no such file, it is too large, or a line has no reason.
    """
    try:
        text = read_bounded(path, _MAX_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ExceptionsMalformed(f"cannot read {path}: {error}") from error
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        pattern, _, reason = line.strip().partition(" ")
        if not pattern or pattern.startswith("#"):
            continue
        if not reason.strip():
            raise ExceptionsMalformed(f"{path}, line {number}: {pattern} has no reason; write one after the pattern")
        found.append((pattern, reason.strip()))
    return tuple(found)


def _reason(patterns: tuple[tuple[str, str], ...], case: str) -> str | None:
    return next((reason for pattern, reason in patterns if fnmatchcase(case, pattern)), None)

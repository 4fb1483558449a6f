"""What is known beforehand: cases to leave out, and cases that are expected to fail; each with a reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Self

from ctwl_protocol import CTWLError

from .results import Result

__all__ = ["Exceptions", "ExceptionsMalformed", "read"]

_MAX_BYTES = 1 << 20


class ExceptionsMalformed(CTWLError):
    """A file of exceptions that cannot be used."""

    code = "exceptions-malformed"


@dataclass(frozen=True)
class Exceptions:
    """Patterns of case ids, as a shell has them, and why.

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
        """Refuse patterns that no case has: what they were for is gone, or they are mistyped.

        Raises:
            ExceptionsMalformed: there is one.
        """
        known = list(ids)
        for pattern, _ in (*self.skip, *self.xfail):
            if not any(fnmatchcase(each, pattern) for each in known):
                raise ExceptionsMalformed(f"no case is called {pattern}; take the line out, or mend it")

    def skipped(self, case: str) -> str | None:
        """Why a case is not run; None where it is."""
        return _reason(self.skip, case)

    def applied(self, result: Result) -> Result:
        """A result in the light of what was expected."""
        reason = _reason(self.xfail, result.id)
        if reason is None or result.verdict == "skipped":
            return result
        if result.verdict == "passed":
            why = f"it was expected to fail ({reason}), but passed: take the expectation out"
            return result.model_copy(update={"verdict": "failed", "reason": why})
        if result.verdict == "errored":
            return result  # whoever gives no answer has not failed as announced
        return result.model_copy(update={"verdict": "xfailed", "reason": f"{reason} ({result.reason})"})


def read(path: Path) -> tuple[tuple[str, str], ...]:
    """Lines of a pattern, white space and a reason; empty ones and those that begin with # are left out.

    Raises:
        ExceptionsMalformed: there is no such file, it is too large, or a line has no reason.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise ExceptionsMalformed(f"{path} has more than {_MAX_BYTES} bytes; patterns of a few lines do")
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ExceptionsMalformed(f"cannot read {path}: {error}") from error
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        pattern, _, reason = line.strip().partition(" ")
        if not pattern or pattern.startswith("#"):
            continue
        if not reason.strip():
            raise ExceptionsMalformed(f"{path}, line {number}: {pattern} has no reason; say why behind it")
        found.append((pattern, reason.strip()))
    return tuple(found)


def _reason(patterns: tuple[tuple[str, str], ...], case: str) -> str | None:
    return next((reason for pattern, reason in patterns if fnmatchcase(case, pattern)), None)

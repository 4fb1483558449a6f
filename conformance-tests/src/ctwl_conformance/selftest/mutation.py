"""A change of one place in the reference's source, and the child process that runs with it."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

__all__ = ["Mutation", "child", "source"]


_IN_KERNELS = ("GOLDEN = ", "NAT = ", "RAMP = ", "UNMARKED = ")
"""The constants that compiled kernels hold."""

_KERNELS = "ctwl_decoder.statistics.compiled"
"""The module whose own source is compiled."""


@dataclass(frozen=True)
class Mutation:
    """One place in one module, and its replacement.

    Attributes:
        module: its full name.
        start, end: characters of its source.
        new: the replacement.
    """

    module: str
    start: int
    end: int
    new: str

    @classmethod
    def of(cls, module: str, old: str, new: str) -> Self:
        """A change of a piece of source that occurs once.

        Raises:
            ValueError: it does not occur exactly once: the reference has changed, and the self-test has not.
        """
        text = source(module)
        if text.count(old) != 1:
            raise ValueError(f"{module} has {old!r} {text.count(old)} times, not once; bring the self-test up to date")
        start = text.index(old)
        return cls(module, start, start + len(old), new)

    @property
    def line(self) -> str:
        """The source line of the place."""
        text = source(self.module)
        return text[text.rfind("\n", 0, self.start) + 1 :].partition("\n")[0].strip()

    def __str__(self) -> str:
        text = source(self.module)
        number = text.count("\n", 0, self.start) + 1
        return f"{self.module}:{number}: {text[self.start : self.end]} -> {self.new}  in  {self.line}"


@cache
def source(module: str) -> str:
    """A module's source, without importing it."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ValueError(f"there is no module {module}")
    return importlib.util.decode_source(Path(spec.origin).read_bytes())


def child(task: str, mutation: Mutation | None, **told: Any) -> list[str]:
    """The command of a child process with a change."""
    script = Path(__file__).with_name("child.py")
    isolated = mutation is not None and (mutation.module == _KERNELS or mutation.line.startswith(_IN_KERNELS))
    given = {"task": task, "mutation": asdict(mutation) if mutation else None, "isolated": isolated, **told}
    return [sys.executable, "-P", str(script), json.dumps(given)]

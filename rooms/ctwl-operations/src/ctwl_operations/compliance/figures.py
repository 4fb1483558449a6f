"""Figures that can be traced: each is a value in a file, by the file's digest and a JSON pointer (RFC 6901)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ctwl_encoder.errors import OptionOutOfRange


@dataclass(frozen=True)
class Source:
    """Where figures come from.

    Attributes:
        name: of the file, or of the files.
        digest: SHA-256 of each file, in hexadecimal.
        data: what it holds, as JSON has it.
        reads: the command or the file whose JSON the pointers lead into.
    """

    name: str
    digest: str
    data: Mapping[str, Any]
    reads: str

    def value(self, pointer: str) -> Any:
        """What stands at a place.

        Raises:
            OptionOutOfRange: there is nothing.
        """
        found: Any = self.data
        try:
            for part in pointer.removeprefix("/").split("/"):
                found = found[int(part)] if isinstance(found, list) else found[part]
        except (LookupError, TypeError, ValueError) as error:
            raise OptionOutOfRange(f"{self.name} has no {pointer}; give what {self.reads} prints") from error
        return found


@dataclass(frozen=True)
class Figure:
    """One value, and where it stands."""

    source: Source
    pointer: str
    value: Any


@dataclass
class Figures:
    """All figures of a page, in the order in which they are named there."""

    used: list[Figure] = field(default_factory=list)

    def show(self, source: Source, pointer: str, form: str = "{}") -> str:
        """A value in words, with the number by which the table at the end says where it stands.

        Raises:
            OptionOutOfRange: there is none, or it has not the form.
        """
        found = Figure(source, pointer, source.value(pointer))
        if found not in self.used:
            self.used.append(found)
        try:
            shown = form.format(found.value)
        except (ValueError, TypeError) as error:
            raise OptionOutOfRange(f"{source.name} has no number at {pointer}; is it whole?") from error
        return f"{shown} [{self.used.index(found) + 1}]"

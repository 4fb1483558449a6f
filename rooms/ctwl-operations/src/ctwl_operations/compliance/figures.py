"""Figures that can be traced: each has a number, by which a table says where it stands."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from ctwl_encoder.errors import OptionOutOfRange

from .source import Source


@dataclass(frozen=True)
class Figure:
    """One value, and where it stands."""

    source: Source
    pointer: str
    value: Any

    @property
    def as_json(self) -> str:
        """The value as the file has it."""
        return json.dumps(self.value, ensure_ascii=False)


@dataclass
class Figures:
    """All figures of a page, in the order in which they are named there."""

    used: list[Figure] = field(default_factory=list)

    def show(self, source: Source, pointer: str, form: str = "{}") -> Markup:
        """A value in words, with the number by which the table at the end says where it stands, as Markdown.

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
        return Markup("{} [{}]").format(plain(shown), self.used.index(found) + 1)


def plain(value: object) -> Markup:
    """A value as Markdown in which nothing is markup: names of models and files are anybody's.

    What is Markdown already stays as it is.
    """
    if isinstance(value, Markup):
        return value
    shown = "".join(each if each.isprintable() else " " for each in str(value))
    return Markup(re.sub(r"([\\`*_<>|&~\[\]])", r"\\\1", shown))  # noqa: S704 - no markup is left in it

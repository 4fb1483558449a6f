"""The numbers that several languages share, each with its section and its reason: ``spec/numbers.json``, read once.

The file is the one home of their names and kinds too: ``tools/number_types.py`` writes ``number_types.pyi`` from it, by
which a type checker knows them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from importlib import resources
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

if TYPE_CHECKING:
    from .number_types import Numbers

_CODE_POINTS = re.compile(r"[0-9A-F]{1,6}(-[0-9A-F]{1,6})?( [0-9A-F]{1,6}(-[0-9A-F]{1,6})?)*")


class CodePoints:
    """Code points, written as ranges such as ``AD 200E-200F``; in the order in which they are named.

    Attributes:
        ranges: the first and the last of each range.
    """

    def __init__(self, ranges: str) -> None:
        bounds = [[int(bound, 16) for bound in each.split("-")] for each in ranges.split()]
        self.ranges = tuple((each[0], each[-1]) for each in bounds)

    def __iter__(self) -> Iterator[int]:
        return (point for first, last in self.ranges for point in range(first, last + 1))


class Layout(NamedTuple):
    """A layout: its number, its name, the fields that follow the beacon's, with their bits, and what these are for."""

    number: int
    name: str
    fields: tuple[tuple[str, int], ...]
    about: str = ""


class Dialect(NamedTuple):
    """What shows that a text is of a kind: a pattern, how often it is found at least, and a kind that excludes it."""

    pattern: str
    times: int
    unless: str = ""


class Mark(NamedTuple):
    """A rule for marks that are taken out of a text (spec section 10, step 1).

    Attributes:
        pattern: of the mark, in a text whose capitals of ASCII are small. ``%letter`` is a letter or a digit.
        at: the characters that it begins with; where there are none, it stands at the beginning of a line.
        does: "drop" takes it out; "keep" leaves its group; "put" has other words for it; "hide" takes out all up to an
            end; "stay" leaves it, and reads no mark in it; "tag", "reference" and "number" are HTML's and strings' own.
        put: the words, or the end.
        dialect: the kind of text that it is for; for all where there is none.
        eats: whether the spaces before go with it.
        breaks: the break that it leaves: 1 is a space, 2 the end of a line.
    """

    pattern: str
    at: str = ""
    does: Literal["drop", "keep", "put", "hide", "stay", "tag", "reference", "number"] = "drop"
    put: str = ""
    dialect: str = ""
    eats: bool = False
    breaks: int = 0


_ROWS: dict[str, Callable[..., Any]] = {"dialects": Dialect, "marks": Mark}
"""Groups whose values are rows of a table."""


def value_of(value: Any, name: str) -> Any:
    """A value of the file as Python has it: a string of code points as these, a layout as one."""
    if isinstance(value, str):
        return CodePoints(value) if _CODE_POINTS.fullmatch(value) else value
    if isinstance(value, list):
        return tuple(value_of(item, name) for item in value)
    if isinstance(value, dict):
        values = {key: value_of(item, key) for key, item in value.items()}
        return Layout(**values) if name == "layouts" else values
    return value


def linked(content: bytes) -> bytes:
    """The content of the file that a checkout links to.

    Raises:
        OSError: git wrote the link as a text, as it does on Windows unless it is told otherwise.
    """
    if content.startswith(b"../"):
        raise OSError("this checkout has no symbolic links; clone it anew: git clone -c core.symlinks=true")
    return content


def _read(content: bytes) -> Numbers:
    groups: dict[str, Any] = {}
    for group, numbers in json.loads(content).items():
        values = {name: value_of(number["value"], name) for name, number in numbers.items()}
        table = _ROWS.get(group)
        groups[group] = {name: table(**row) for name, row in values.items()} if table else SimpleNamespace(**values)
    return cast("Numbers", SimpleNamespace(**groups))


NUMBERS = _read(linked((resources.files("ctwl_protocol") / "numbers.json").read_bytes()))

"""How names in the registry are spelled, and which of them look alike (spec section 9.6, Names)."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources
from typing import Any
from unicodedata import category, is_normalized, normalize

from ..numbers import NUMBERS

_MAX_MARKS = NUMBERS.registry.marks

_LOOSE = re.compile(rf"(?<![LM])M|M{{{_MAX_MARKS + 1}}}")
"""In a name's general categories: a mark on nothing that carries one, or a tower of marks."""


_LEFTWARD = re.compile("[\u0590-\u08ff]")
"""A character that is written from right to left, or belongs to one; the table has no others."""

_ONE_WAY = re.compile("[\u0590-\u08ff][\u0590-\u08ff -@[-`{-~]*")
"""A name from right to left: else two names may be shown alike, for its parts change places where it is shown."""


def check_name(name: str) -> str:
    """Check that a name has one spelling, all of which can be seen; returns it.

    Nothing in it can steer a terminal: no controls, no direction marks, no line ends.

    Raises:
        ValueError: it has not.
    """
    strange = _characters().sub("", name)
    if strange:
        raise ValueError(f"a name cannot have U+{ord(strange[0]):04X}; take letters, digits, ASCII signs and spaces")
    if not is_normalized("NFC", name):
        raise ValueError("a name is in NFC; compose its letters and accents")
    if "" in name.split(" "):
        raise ValueError("a name has single spaces, and none at its ends; take the other spaces away")
    if not name.isascii() and _LOOSE.search("".join(category(letter)[0] for letter in name)):
        raise ValueError(f"a name has accents on letters alone, {_MAX_MARKS} in a row at most; take the rest away")
    if _LEFTWARD.search(name) and not (category(name[0])[0] == "L" and _ONE_WAY.fullmatch(name)):
        raise ValueError(
            "a name from right to left begins with a letter and has none from left to right; take one script"
        )
    return name


def looks(name: str) -> set[str]:
    """The skeletons of a name, of its capitals and of its small letters: names that share one look alike.

    A skeleton is that of UTS #39, without spaces and punctuation, in capitals.
    """
    return {_skeleton(form) for form in (name, name.upper(), name.lower())}


def _skeleton(name: str) -> str:
    shown = _table()["looks"]
    return normalize("NFD", "".join(shown.get(part, part) for part in normalize("NFD", name))).upper()


@cache
def _table() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((resources.files(__package__) / "spelling.json").read_text("ascii"))
    return found


@cache
def _characters() -> re.Pattern[str]:
    ranges = "".join(f"{chr(first)}-{chr(last)}" for first, last in _table()["characters"])
    return re.compile(f"[{ranges}]+")

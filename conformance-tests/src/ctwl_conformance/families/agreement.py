"""When an answer agrees with the expected one: exactly, except for decimal numbers."""

from __future__ import annotations

import re
from typing import Any

_RELATIVE, _LEAST = 1e-9, 1e-300
"""An answer may differ by this share of the expected number; all numbers below the second count as that one."""

_DECIMAL = re.compile(r"[0-9]\.[0-9]{11}e[+-][0-9]{2,3}")
_NUMBER = re.compile(r"[0-9]{1,40}(\.[0-9]{0,400})?([eE][+-]?[0-9]{1,4})?")


def decimal(number: float) -> str:
    """A number in the one form that vectors use: twelve significant digits and an exponent."""
    return f"{number:.11e}"


def agree(expected: Any, answer: Any) -> bool:
    """Whether an answer agrees: it must be equal, but decimal numbers need only be near."""
    match expected:
        case dict():
            same = isinstance(answer, dict) and answer.keys() == expected.keys()
            return same and all(agree(value, answer[name]) for name, value in expected.items())
        case list():
            same = isinstance(answer, list) and len(answer) == len(expected)
            return same and all(map(agree, expected, answer))
        case str() if _DECIMAL.fullmatch(expected):
            return _near(float(expected), answer)
    return type(answer) is type(expected) and bool(answer == expected)


def _near(expected: float, answer: Any) -> bool:
    if not (isinstance(answer, str) and _NUMBER.fullmatch(answer)) and type(answer) not in (int, float):
        return False
    if type(answer) is int and abs(answer) >= 10**40:  # a whole number of JavaScript's has up to 21 digits
        return False
    found = float(answer)
    return abs(max(found, _LEAST) - expected) <= _RELATIVE * expected

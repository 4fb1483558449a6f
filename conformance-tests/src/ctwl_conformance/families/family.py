"""What a family of vectors is: questions of one kind, the reference's answer, and the shape of both as JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from importlib.util import find_spec
from typing import Any, TypeAlias

from ctwl_protocol.errors import CTWLError

__all__ = [
    "BOOLEAN", "BYTES", "COUNT", "DECIMAL", "FORMAT", "HEX", "HEX32", "INTEGER", "JSON", "SIGMA", "STATUS", "TEXT",
    "WORD", "Answer", "Case", "Family", "Schema", "agree", "array", "bounded", "decimal", "either",
    "nullable", "refusing", "shape", "unhex",
]  # fmt: skip

FORMAT = "ctwl-vectors/1"
"""Of the files."""

JSON: TypeAlias = dict[str, Any]
Answer: TypeAlias = Callable[[JSON], JSON]
Case: TypeAlias = tuple[str, JSON]
"""What a vector is about, from which its id is made, and its input."""

Schema: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Family:
    """Vectors of one kind.

    Attributes:
        name: of the family and its file.
        section: of the specification.
        about: what is asked and what is to be answered, in a sentence.
        input, expected: JSON Schemas.
        answer: the reference's answer: a pure function.
        cases: what is asked; made when it is called.
        needs: packages that the answer takes beside ``ctwl_protocol``'s own.
    """

    name: str
    section: str
    about: str
    input: Schema
    expected: Schema
    answer: Answer
    cases: Callable[[], Iterable[Case]]
    needs: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """Packages that the reference's answer takes and this environment lacks."""
        return tuple(name for name in self.needs if find_spec(name) is None)


def refusing(answer: Answer) -> Answer:
    """The same, where a refusal is an answer too: its status code."""

    @wraps(answer)
    def answered(data: JSON) -> JSON:
        try:
            return answer(data)
        except CTWLError as error:
            return {"status": error.code}

    return answered


def unhex(value: str | Sequence[str | JSON]) -> bytes:
    """Bytes of hexadecimal, or of parts of which one may be repeated."""
    parts = [value] if isinstance(value, str) else value
    return b"".join(
        bytes.fromhex(part) if isinstance(part, str) else bytes.fromhex(part["repeat"]) * part["times"]
        for part in parts
    )


_RELATIVE, _LEAST = 1e-9, 1e-300
_DECIMAL = re.compile(r"[0-9]\.[0-9]{11}e[+-][0-9]{2,3}")
_NUMBER = re.compile(r"[0-9]{1,40}(\.[0-9]{0,400})?([eE][+-]?[0-9]{1,4})?")


def decimal(number: float) -> str:
    """A number in the one form that vectors have it in: twelve significant digits and an exponent."""
    return f"{number:.11e}"


def agree(expected: Any, answer: Any) -> bool:
    """Whether an answer is the expected one: equal, but for decimal numbers, see :data:`DECIMAL`."""
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
    if type(answer) is int and abs(answer) > 2**53:  # floats do not hold all of these
        return False
    found = float(answer)
    return abs(max(found, _LEAST) - expected) <= _RELATIVE * expected


# Shapes. Every field is required and none else is allowed.


def shape(**fields: Schema) -> Schema:
    """An object of these fields."""
    return {"type": "object", "properties": fields, "required": sorted(fields), "additionalProperties": False}


def either(*shapes: Schema) -> Schema:
    """One of these."""
    return {"oneOf": list(shapes)}


def nullable(value: Schema) -> Schema:
    """This, or null."""
    return {"oneOf": [value, {"type": "null"}]}


def array(items: Schema, least: int = 0, most: int | None = None) -> Schema:
    """An array."""
    bounds = {"minItems": least} | ({} if most is None else {"maxItems": most})
    return {"type": "array", "items": items} | bounds


def bounded(least: int, most: int) -> Schema:
    """An integer of a range, both ends included."""
    return {"type": "integer", "minimum": least, "maximum": most}


TEXT: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}
INTEGER: Schema = {"type": "integer"}
COUNT: Schema = {"type": "integer", "minimum": 0}
WORD: Schema = bounded(0, 2**32 - 1)
HEX: Schema = {"type": "string", "pattern": "^([0-9a-f]{2})*$", "description": "bytes in hexadecimal"}
HEX32: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$", "description": "32 bytes in hexadecimal"}
BYTES: Schema = {
    "description": "bytes in hexadecimal; long ones in parts, some of them repeated",
    "oneOf": [HEX, array(either(HEX, shape(repeat=HEX, times=COUNT)))],
}
SIGMA: Schema = {"type": "array", "prefixItems": [COUNT, COUNT], "minItems": 2, "maxItems": 2}
DECIMAL: Schema = {
    "type": "string",
    "pattern": f"^{_DECIMAL.pattern}$",
    "description": "a decimal number. An answer, which may be a number or a string, agrees if it differs by at most "
    f"{_RELATIVE} of it; all below {_LEAST} count as that.",
}
STATUS: Schema = shape(status={"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$", "description": "section 11"})

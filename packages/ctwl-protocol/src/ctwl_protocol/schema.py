"""What every document is made of: strict fields, bounded text, and one byte form (spec section 4.1)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, NoReturn, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field, ValidationError

from . import canonical
from .errors import CTWLError, NonCanonical

_Item = TypeVar("_Item")

Bytes32 = Annotated[bytes, Field(min_length=32, max_length=32)]
"""32 bytes; hexadecimal in JSON."""

Bytes64 = Annotated[bytes, Field(min_length=64, max_length=64)]
"""64 bytes; hexadecimal in JSON."""

as_tuple = BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value)
"""MessagePack gives a list; a frozen document holds a tuple."""

Many = Annotated[tuple[_Item, ...], FailFast(), as_tuple]
"""An array of any length. The first item that is wrong ends the reading: a document may hold a million."""


class Part(BaseModel):
    """A map inside a document. It is frozen, has exactly its fields, and converts no value to another type."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, ser_json_bytes="hex", val_json_bytes="hex")


class Document(Part):
    """A whole document; its canonical MessagePack is its only byte form.

    Attributes:
        MAX_BYTES: the longest document that is read.
        MALFORMED: makes the error for bytes that are no such document, from a message.
    """

    MAX_BYTES: ClassVar[int] = canonical.MAX_BYTES
    MALFORMED: ClassVar[Callable[[str], CTWLError]]

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read a document.

        Raises:
            CTWLError: what ``MALFORMED`` makes: the bytes are too many, not canonical, or break the schema; or the
                error of a rule that has a code of its own (spec section 11).
        """
        try:
            return cls.model_validate(canonical.decode(data, max_bytes=cls.MAX_BYTES))
        except (NonCanonical, ValidationError) as error:
            raise cls.MALFORMED(f"not a valid {_words(cls.__name__)}: {describe_error(error)}") from error

    def to_bytes(self) -> bytes:
        """The canonical MessagePack of the document."""
        return canonical.encode(self.model_dump(mode="python"))


def _words(name: str) -> str:
    """The name of a class in words: ``_SecretFile`` is a secret file."""
    return re.sub("(?<=[a-z])(?=[A-Z])", " ", name.strip("_")).lower()


def read_json(data: bytes) -> Any:
    """The value of JSON in UTF-8.

    Raises:
        ValueError: it is none, or holds what JSON for exchange has not: NaN, a key twice, lone surrogates.
    """
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in an object")
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def describe_error(error: Exception) -> str:
    """What is wrong with a document, in one line: the first error of the schema, and the field that has it."""
    text = str(error)
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        text = f"{'.'.join(str(part) for part in first['loc']) or 'the document'}: {first['msg']}"
    # A hostile document chooses its fields' names: none of them may steer a terminal.
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:300]

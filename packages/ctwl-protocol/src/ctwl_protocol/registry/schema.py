"""What every document of the registry is made of: strict fields, bounded text, one encoding (spec 4.1, 9.6)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationError

from .. import canonical
from ..errors import NonCanonical, RegistryError
from ..profile.document import Bytes32, describe_error

__all__ = ["Bytes32", "Bytes64", "Document", "Line", "Many", "Part", "Time", "as_tuple"]

_Item = TypeVar("_Item")


def _on_one_line(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise ValueError("a name has printable characters only, and no space at its ends")
    return text


Line = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_on_one_line)]
"""A name for people. Nothing in it can steer a terminal: no controls, no marks of direction, no line ends."""

Time = Annotated[int, Field(ge=0, lt=253_402_300_800)]
"""Unix seconds, up to the year 9999."""

Bytes64 = Annotated[bytes, Field(min_length=64, max_length=64), PlainSerializer(bytes.hex, when_used="json")]
"""64 bytes; hexadecimal in JSON."""

as_tuple = BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value)
"""MessagePack gives a list; a document that is frozen holds a tuple."""

Many = Annotated[tuple[_Item, ...], as_tuple]
"""An array."""


class Part(BaseModel):
    """A map of a document: frozen, its fields all there, none besides, none converted."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Document(Part):
    """A whole document, as bytes in one form only.

    Attributes:
        MAX_BYTES: its bound.
        MALFORMED: the error for bytes that are no such document.
    """

    MAX_BYTES: ClassVar[int] = canonical.MAX_BYTES
    MALFORMED: ClassVar[type[RegistryError]] = RegistryError

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read a document.

        Raises:
            RegistryError: the class's ``MALFORMED``: too large, not canonical, or outside the schema; or the error of
                a rule that has one of its own (KeyUnsuitable, KeyIsForTests, SignatureRepeated, CodeReused).
        """
        try:
            return cls.model_validate(canonical.decode(data, max_bytes=cls.MAX_BYTES))
        except (NonCanonical, ValidationError) as error:
            raise cls.MALFORMED(f"no {cls.__name__.lower()}: {describe_error(error)}") from error

    def to_bytes(self) -> bytes:
        """The canonical MessagePack of the document."""
        return canonical.encode(self.model_dump(mode="python"))

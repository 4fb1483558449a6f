"""Parts of a file: their bytes, their text, or why they have no words."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable
from typing import NamedTuple

from ctwl_decoder.errors import DecoderError, DocumentRefused
from ctwl_decoder.files import text_of

AS_TEXT = "save its words as plain text (UTF-8)"
"""What helps with any document."""


class Member(NamedTuple):
    """A part of a container: its bytes, its words, or why it is not read; what is packed alone has no name."""

    name: str
    data: bytes | str | DecoderError


LONG = 25
"""Words of a text that is not left out silently."""

SENTENCE = 8
"""Words of a line or a string that says something; fewer are a name, a title, a path."""


def plain(data: bytes) -> str:
    """The text in bytes of UTF-8.

    Raises:
        NotText: they are not.
    """
    return text_of(data.removeprefix(BOM_UTF8), "it")


def size(text: str) -> int:
    """The words of a text; in a script without spaces four characters are one."""
    characters = len(text) if any(character >= "\u2e80" for character in text) else 0
    return max(len(text.split()), characters // 4)


def prose(lines: Iterable[str]) -> str:
    """The sentences between lines of other kinds; none where they are too few to be a text."""
    told = "\n".join(line for line in lines if size(line) >= SENTENCE)
    return told if size(told) >= LONG else ""


def broken(error: Exception) -> DecoderError:
    """Why a part of a file has no words, by what its parser raised; parsers, too, have bugs."""
    if isinstance(error, DecoderError):
        return error
    deep = "more parts of it are inside each other than a sound file has"
    why = deep if isinstance(error, RecursionError) else f"it is broken ({type(error).__name__})"
    return DocumentRefused(f"{why}; {AS_TEXT}")

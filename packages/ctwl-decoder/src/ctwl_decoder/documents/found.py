"""What comes of a file: its texts, and why a part of it has none."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import DecoderError, DocumentRefused

AS_TEXT = "save its words as plain text (UTF-8)"
"""What helps with any document."""


class Found(NamedTuple):
    """A text in a file, or why a part of the file has none.

    Attributes:
        name: of the file; for what is in it, the names on the way there.
        text: the words, or the error.
    """

    name: str
    text: str | DecoderError


def broken(error: Exception) -> DecoderError:
    """Why a part of a file has no words, by what its parser raised; parsers, too, have bugs."""
    if isinstance(error, DecoderError):
        return error
    deep = "more parts of it are inside each other than a sound file has"
    why = deep if isinstance(error, RecursionError) else f"it is broken ({type(error).__name__})"
    return DocumentRefused(f"{why}; {AS_TEXT}")

"""Why a part of a file has no words."""

from __future__ import annotations

from ctwl_decoder.errors import DecoderError, DocumentRefused

AS_TEXT = "save its words as plain text (UTF-8)"
"""What helps with any document."""


def broken(error: Exception) -> DecoderError:
    """Why a part of a file has no words, by what its parser raised; parsers, too, have bugs."""
    if isinstance(error, DecoderError):
        return error
    deep = "more parts of it are inside each other than a sound file has"
    why = deep if isinstance(error, RecursionError) else f"it is broken ({type(error).__name__})"
    return DocumentRefused(f"{why}; {AS_TEXT}")

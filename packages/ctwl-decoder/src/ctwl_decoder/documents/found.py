"""What comes of a file: its texts, and why a part of it has none."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import DecoderError

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

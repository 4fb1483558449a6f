"""Text normalization ``ctwl-n1``: what both sides do to a text before they tokenize it (spec section 5.1).

Pasting changes a text in ways that no reader sees: letters and accents are split, quotes become curly, spaces become
non-breaking, invisible characters are added. The rule undoes exactly these changes, and leaves changes that a reader
would see. It is idempotent.
"""

from __future__ import annotations

import re
import unicodedata

from ..numbers import NUMBERS

_TABLE: dict[int, str] = (
    dict.fromkeys(NUMBERS.text.deleted, "")
    | dict.fromkeys(NUMBERS.text.spaces, " ")
    | dict.fromkeys(NUMBERS.text.line_ends, "\n")
    | dict.fromkeys(NUMBERS.text.single_quotes, "'")
    | dict.fromkeys(NUMBERS.text.double_quotes, '"')
    | dict.fromkeys(NUMBERS.text.hyphens, "-")
    | dict.fromkeys(NUMBERS.text.ellipses, "...")
)


DELETED = "".join(map(chr, NUMBERS.text.deleted))
"""The characters that the table deletes."""

WHITE_SPACE = "".join(map(chr, NUMBERS.text.white_space))
"""All white space that the table does not replace."""


def normalize(text: str) -> str:
    """Apply ``ctwl-n1``: NFC, the table, CR LF and CR to LF, NFC again, no white space at either end.

    NFC runs twice because a deleted character may have kept a letter and its accent apart.
    """
    return normalize_within(text).strip(WHITE_SPACE)


def normalize_within(text: str) -> str:
    """``ctwl-n1`` for part of a text: the same, but white space at the ends stays."""
    if text.isascii():
        return text.replace("\r\n", "\n").replace("\r", "\n")  # nothing else applies
    text = unicodedata.normalize("NFC", text).translate(_TABLE)
    return unicodedata.normalize("NFC", re.sub("\r\n?", "\n", text))

"""Text normalization ``ctwl-n1``: what both sides do to a text before they tokenize it (spec section 5.1).

Pasting changes a text in ways that no reader sees: letters and accents are split, quotes become curly, spaces become
non-breaking, invisible characters are added. The rule undoes exactly these changes, and leaves changes that a reader
would see. It is idempotent.
"""

from __future__ import annotations

import re
import unicodedata

_DELETED = [0x00AD, 0x061C, 0x180E, 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF]
_DELETED += range(0xE0000, 0xE0080)
_SPACES = [0x00A0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000]
_NEWLINES = [0x0085, 0x2028, 0x2029]

_TABLE: dict[int, str] = (
    dict.fromkeys(_DELETED, "")
    | dict.fromkeys(_SPACES, " ")
    | dict.fromkeys(_NEWLINES, "\n")
    | dict.fromkeys([0x2018, 0x2019, 0x201A, 0x201B], "'")
    | dict.fromkeys([0x201C, 0x201D, 0x201E, 0x201F], '"')
    | dict.fromkeys([0x2010, 0x2011], "-")
    | {0x2026: "..."}
)


DELETED = "".join(map(chr, _DELETED))
"""The characters that the table deletes."""

WHITE_SPACE = " \t\n\v\f\r"
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

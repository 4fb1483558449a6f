"""Public marks of other kinds: invisible characters that programs put into text.

They are named, and no more: a text is read without them, and whoever copies a text may add or delete them. No signature
in them is verified here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .model import OtherMark

_MICROSOFT = re.compile("\u200b\u034f\u2060\u200b")
_SELECTORS = re.compile("\ufeff?[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")
_TAGS = re.compile("(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0000-\U000e007f]{2,}")
"""A flag of a region is tags too, after a black flag."""

_WIDTHLESS = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff]{8,}")
_ARMOUR = re.compile("-----BEGIN C2PA MANIFEST-----")

_C2PA = b"C2PATXT\0"
_SHOWN = 60
"""Characters of a hidden message that a sentence shows."""

ANYONE = "Anyone can write it or delete it, and the text was read without it."


def other_marks(text: str) -> list[OtherMark]:
    """The marks of other kinds in a text as given, in the order of their first places; each scheme once."""
    found: dict[str, list[tuple[int, int, str]]] = {}
    for scheme, start, end, message in _marks(text) if not text.isascii() or "BEGIN C2PA" in text else ():
        found.setdefault(scheme, []).append((start, end, message))
    marks = []
    for scheme, places in sorted(found.items(), key=lambda item: item[1][0]):
        start, end, message = places[0]
        says = f"{_SAYS[scheme]}{f': {message!r}' if message else ''} (characters {start} to {end}"
        says += f", and {len(places) - 1} more). {ANYONE}" if len(places) > 1 else f"). {ANYONE}"
        marks.append(OtherMark(scheme=scheme, start=start, end=end, count=len(places), says=says))
    return marks


_SAYS = {
    "microsoft": "The text has the four invisible code points by which Microsoft marks text of an AI",
    "c2pa": "The text has a C2PA manifest, which claims who made the text, and how; its signature is not verified "
    "here, but by C2PA's own tools",
    "variation-selectors": "The text has bytes that are hidden as variation selectors",
    "tags": "The text has a message that is hidden as invisible tags",
    "zero-width": "The text has a run of characters without a width, as programs write that hide a message",
}
"""What each scheme claims."""


def _marks(text: str) -> Iterator[tuple[str, int, int, str]]:
    """All marks: scheme, place and hidden message."""
    for found in _MICROSOFT.finditer(text):
        yield "microsoft", *found.span(), ""
    for found in _ARMOUR.finditer(text):
        yield "c2pa", *found.span(), ""
    for found in _SELECTORS.finditer(text):
        data = _bytes_of(found[0])
        if data.startswith(_C2PA):
            yield "c2pa", *found.span(), ""
        else:
            yield "variation-selectors", *found.span(), _shown(data.decode("latin-1"))
    for found in _TAGS.finditer(text):
        yield "tags", *found.span(), _shown("".join(chr(ord(character) - 0xE0000) for character in found[0]))
    for found in _WIDTHLESS.finditer(text):
        if not _MICROSOFT.fullmatch(found[0]):
            yield "zero-width", *found.span(), ""


def _bytes_of(run: str) -> bytes:
    """The bytes that variation selectors stand for, as C2PA and others write them."""
    codes = (ord(character) for character in run.lstrip("\ufeff"))
    return bytes(code - 0xFE00 if code < 0xFE10 else code - 0xE0100 + 16 for code in codes)


def _shown(message: str) -> str:
    """The beginning of a hidden message, if it is made of letters that can be shown; it is somebody else's word."""
    return message[:_SHOWN] if message.isascii() and message.isprintable() else ""

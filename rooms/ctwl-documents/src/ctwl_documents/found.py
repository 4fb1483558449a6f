"""Parts of a file: their bytes, their text, or why they have no words."""

from __future__ import annotations

import base64
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from itertools import chain
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

_SENTENCE = re.compile(r"[^\W\d_]\W?[.!?]\W?(?:\s|\Z)|[\u3002\uff01\uff1f]")
"""The end of a sentence: other long strings are code, or names of styles."""

_BASE64 = re.compile(r"[A-Za-z0-9+/]{43,}+={0,2}")


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


def is_told(text: str) -> bool:
    """Whether a string is long, and says something."""
    return len(text) >= 2 * LONG - 1 and size(text) >= LONG and _SENTENCE.search(text) is not None


def uncoded(string: str) -> str | None:
    """The text that a string is in base64; None of others."""
    try:
        text = plain(base64.b64decode(string, validate=True)) if _BASE64.fullmatch(string) else None
    except (ValueError, DecoderError):
        return None
    return text


def prose(lines: Iterable[str]) -> str:
    """The sentences between lines of other kinds; none where they are too few to be a text."""
    told = "\n".join(line for line in lines if size(line) >= SENTENCE)
    return told if size(told) >= LONG else ""


def with_others(words: str, texts: Iterable[str], told: Iterable[str] = ()) -> str | Iterator[Member]:
    """The words of a file, and its other long texts, see :func:`others`."""
    found = others(words, texts, told)
    return iter([Member("", words), *found]) if found else words


def others(words: str, texts: Iterable[str], told: Iterable[str] = ()) -> list[Member]:
    """The long texts that stand neither in a file's words nor in what else is told, as one; or none."""
    ends = {text: _ends(text) for text in texts}
    wanted = set[tuple[str, ...]]().union(*ends.values())
    seen = {run for text in chain([words], told) for run in _runs(text) if run in wanted} if ends else set()
    left = [text for text, runs in ends.items() if not runs <= seen]
    return [Member("other texts", "\n\n".join(left))] if left else []


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    """Each run of some words of a text, or of characters where it has fewer words."""
    parts = _parts(text)
    for start in range(max(len(parts) - SENTENCE + 1, 1)):
        yield tuple(parts[start : start + SENTENCE])


def _ends(text: str) -> set[tuple[str, ...]]:
    """The first and the last run of a long text, without the words at its ends: others may be joined to these."""
    parts = _parts(text)[1:-1]
    return {tuple(parts[:SENTENCE]), tuple(parts[-SENTENCE:])}


def _parts(text: str) -> list[str]:
    words = text.split()
    return words if len(words) >= LONG else list(text)


def broken(error: Exception) -> DecoderError:
    """Why a part of a file has no words, by what its parser raised; parsers, too, have bugs."""
    if isinstance(error, DecoderError):
        return error
    deep = "more parts of it are inside each other than a sound file has"
    why = deep if isinstance(error, RecursionError) else f"it is broken ({type(error).__name__})"
    return DocumentRefused(f"{why}; {AS_TEXT}")

"""RTF, by striprtf; pictures and objects in it are not read."""

from __future__ import annotations

import codecs
import re

from striprtf import striprtf

_CODE_PAGE = re.compile(r"\\ansicpg(\d{1,5})")


def words_of(text: str) -> str:
    """The words of an RTF document."""
    return str(striprtf.rtf_to_text(_CODE_PAGE.sub(_known, text), errors="ignore")).strip()


def _known(named: re.Match[str]) -> str:
    """A code page that Python knows: under another one, striprtf would drop all letters beyond ASCII."""
    try:
        codecs.lookup(f"cp{named[1]}")
    except LookupError:
        return "\\ansicpg1252"
    return named[0]

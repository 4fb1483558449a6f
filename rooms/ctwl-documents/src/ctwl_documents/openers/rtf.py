"""RTF, by striprtf; pictures and objects in it are not read."""

from __future__ import annotations

import codecs
import re

from striprtf import striprtf

from ..budget import Budget
from . import opens

_CODE_PAGE = re.compile(r"\\ansicpg(\d{1,5})")


@opens("rtf")
def words_of(data: bytes, _: Budget) -> str:
    """The words of an RTF document."""
    text = _CODE_PAGE.sub(_known, data.decode("cp1252", "replace"))
    return str(striprtf.rtf_to_text(text, errors="ignore")).strip()


def _known(named: re.Match[str]) -> str:
    """A code page that Python knows: under another one, striprtf would drop all letters beyond ASCII."""
    try:
        codecs.lookup(f"cp{named[1]}")
    except LookupError:
        return "\\ansicpg1252"
    return named[0]

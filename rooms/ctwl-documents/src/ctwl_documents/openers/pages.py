"""Pages of HTML."""

from __future__ import annotations

import re

from ctwl_decoder.errors import DocumentRefused
from ctwl_decoder.words import said

from ..budget import Budget
from ..html import decoded, words_of
from . import opens

_SCRIPT = re.compile(r"<script\b.*?(?:</script|\Z)", re.I | re.A | re.S)

_FEW = 100
"""Characters of a page's words below which a script may be what shows its words."""

_LONG = 500
"""Characters of scripts that may hold the words of a text."""


@opens("html")
def read(data: bytes, _: Budget) -> str:
    """The words of a page.

    Raises:
        DocumentRefused: it has few, and a script shows the others.
    """
    page = decoded(data)
    words = words_of(page)
    if len(words) < _FEW:
        scripts = sum(len(script[0]) for script in _SCRIPT.finditer(page))
        if scripts > (_LONG if words else 0):
            raise DocumentRefused(said("reason-script"))
    return words

"""Pages of HTML, and the texts that their scripts may show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from ctwl_decoder.errors import DocumentRefused
from ctwl_decoder.words import said

from .. import html
from ..budget import Budget
from ..found import Member, is_told, uncoded, with_others
from . import opens
from .chats import unescaped

_SCRIPT = re.compile(r"<script\b(?![^>]{0,200}ld\+json).*?(?:</script|\Z)", re.I | re.A | re.S)
"""A script, or data of one; not what is for search engines alone."""

_TEXT = re.compile(
    r"<script[^>]{0,200}\btype\s*=\s*[\"']?text/(?:html|markdown|plain|[\w-]*template)[^>]*>(.*)", re.I | re.A | re.S
)
"""A script that is no program, but a text, or a part of a page."""

_STYLE = re.compile(r"<style\b.*?(?:</style|\Z)", re.I | re.A | re.S)
"""Its strings stand before and behind what elements hold."""

_GIVEN = re.compile(r"""<meta\b[^<>]*|=\s*(?:"([^"]{49,})"|'([^']{49,})')""", re.I | re.A)
"""What an attribute holds: words of a form, a description, data of a script. Those of ``meta`` are for searches."""

_STRING = re.compile(
    r""""[^"\\\n]*(?:\\[\s\S][^"\\\n]*)*"?|'[^'\\\n]*(?:\\[\s\S][^'\\\n]*)*'?|`[^`\\]*(?:\\[\s\S][^`\\]*)*`?"""
)
"""A string of a script; it matches at any quote, or time doubles."""

_DATA = re.compile(r'":|","')
"""Shows that there are strings in a string."""

_FEW = 100
"""Characters of a page's words below which a script may be what shows its words."""

_LONG = 500
"""Characters of scripts that may hold the words of a text."""


@opens("html")
def read(data: bytes, _: Budget) -> str | Iterator[Member]:
    """The words of a page, and other long texts that are hidden, in scripts or in attributes, as a text of their own.

    Raises:
        DocumentRefused: it has few, and a script shows the others.
    """
    page = html.decoded(data)
    words, hidden = html.read(page)
    scripts = _SCRIPT.findall(page)
    if len(words) < _FEW and sum(map(len, scripts)) > (_LONG if words else 0):
        raise DocumentRefused(said("reason-script"))
    texts = [html.words_of(part) for part in hidden]
    for program in (*scripts, *_STYLE.findall(page)):
        texts += _texts_in(program)
    for one, two in _GIVEN.findall(page):
        texts += _texts_of(unescape(one or two))
    return with_others(words, filter(is_told, texts))


def _texts_in(script: str) -> Iterator[str]:
    """The texts in the strings of a script, and in strings in these."""
    if whole := _TEXT.match(script):
        yield html.words_of(whole[1])
        return
    for string in _STRING.findall(script):
        yield from _texts_of(unescaped(string[1:-1].replace("\\'", "'")))


def _texts_of(string: str) -> Iterator[str]:
    """The texts in a string."""
    text = uncoded(string) or string
    if _DATA.search(text):
        yield from _texts_in(text)
    else:
        yield html.words_of(text) if "</" in text else text

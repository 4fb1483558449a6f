"""HTML: the words that a browser shows, with the breaks between them that the elements ask for.

Its tags are found by patterns that take linear time for any page, as those of the standard library do not, so that a
scan may read pages of strangers in its own process. ``documents/html.js`` in ctwl-web does the same.
"""

from __future__ import annotations

import codecs
import html
import re

from ..words import document_tables

_BLOCKS, _PARAGRAPHS, _UNSEEN, _VOID = (
    frozenset(document_tables()["elements"][name].split()) for name in ("blocks", "paragraphs", "unseen", "void")
)
_RAW = {"script": re.compile("</script", re.I), "style": re.compile("</style", re.I)}
"""Elements whose content has no tags, and what ends it."""

_TAG = re.compile(r"<(/?)([a-z][^\s/>]*)", re.I)
_TAG_END = re.compile(r"""=\s*"[^"]*"|=\s*'[^']*'|(>)""")
"""What may stand before the end of a tag and hold its sign, or the end."""

_HIDDEN = re.compile(r"\shidden(?=[\s=/]|\Z)", re.I)
_STYLE = re.compile(r"""\sstyle\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.I)
_UNSEEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_VALUES = re.compile(r""""[^"]*"|'[^']*'""")
_REFERENCE = re.compile(r"&(?:#\d{1,7};?|#x[0-9a-f]{1,6};?|[a-z][a-z0-9]{1,31};?)", re.I)
_BREAKS = ("", " ", "\n", "\n\n")

_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([a-z0-9_:-]{1,40})""", re.I)
_CHARSETS = re.compile(r"ascii|utf-|iso|cp\d|koi8|mac|gb|big5|euc|shift|tis")
"""Begins the names of charsets of pages. Python knows others, some of which take quadratic time."""


class _Words:
    """Collects the words."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._wanted = 0
        self._unseen: tuple[str, int] | None = None
        self._kept = 0  # open elements whose white space is kept

    def open(self, tag: str, attributes: str) -> None:
        if self._unseen:
            self._unseen = (self._unseen[0], self._unseen[1] + (tag == self._unseen[0]))
            return
        if (tag in _UNSEEN or _is_hidden(attributes)) and tag not in _VOID:
            self._unseen = (tag, 1)
        self._kept += tag == "pre"
        self._ask(tag)

    def close(self, tag: str) -> None:
        if self._unseen:
            name, depth = self._unseen
            depth -= tag == name
            self._unseen = (name, depth) if depth else None
            return
        self._kept = max(0, self._kept - (tag == "pre"))
        self._ask(tag)

    def _ask(self, tag: str) -> None:
        self._wanted = max(self._wanted, 3 if tag in _PARAGRAPHS else 2 if tag in _BLOCKS else 0)

    def text(self, given: str) -> None:
        if self._unseen or not given:
            return
        data = _REFERENCE.sub(lambda found: html.unescape(found[0]), given)
        if self._kept:
            self._write(data)
            return
        words = data.split()
        if not words or data[0].isspace():
            self._wanted = max(self._wanted, 1)
        if words:
            self._write(" ".join(words))
            self._wanted = int(data[-1].isspace())

    def _write(self, words: str) -> None:
        if self.pieces:
            self.pieces.append(_BREAKS[self._wanted])
        self.pieces.append(words)
        self._wanted = 0


def _is_hidden(attributes: str) -> bool:
    if not attributes:
        return False
    style = _STYLE.search(attributes)
    unseen = style is not None and _UNSEEN_STYLE.search(style[1] or style[2] or "")
    return bool(unseen or _HIDDEN.search(_VALUES.sub("", attributes)))


def words_of(page: str) -> str:
    """The words of a page, or of a part of one. What a browser drops, such as a tag without an end, is dropped."""
    found = _Words()
    done = place = 0
    while (begin := page.find("<", place)) >= 0:
        tag = _TAG.match(page, begin)
        if tag is None and not page.startswith(("<!", "<?"), begin):
            place = begin + 1  # it stands for itself
            continue
        found.text(page[done:begin])
        if tag is None:
            place = done = _after(page, "-->" if page.startswith("<!--", begin) else ">", begin + 2)
            continue
        name = tag[2].lower()
        place = done = _end_of_tag(page, tag.end())
        if tag[1]:
            found.close(name)
        elif name in _RAW:
            end = _RAW[name].search(page, place)
            place = done = _end_of_tag(page, end.end()) if end else len(page)
        else:
            found.open(name, page[tag.end() : place - 1])
    found.text(page[done:])
    return "".join(found.pieces).strip()


def _after(page: str, end: str, start: int) -> int:
    """The place after the next ``end``, or the page's end."""
    place = page.find(end, start)
    return place + len(end) if place >= 0 else len(page)


def _end_of_tag(page: str, start: int) -> int:
    """The place after the end of a tag, or the page's end."""
    return next((found.end() for found in _TAG_END.finditer(page, start) if found[1]), len(page))


def decoded(data: bytes, charset: str | None = None) -> str:
    """The characters of a page.

    Args:
        data: the page.
        charset: what its server says of it; None where it says nothing. Then it is UTF-8, else what the page says.
    """
    named = _CHARSET.search(data[:2048])
    for label in [charset] if charset else ["utf-8", named[1].decode() if named else "utf-8"]:
        try:
            return data.decode(_charset(label))
        except (UnicodeDecodeError, LookupError, ValueError):
            continue
    return data.decode("cp1252", "replace")


def is_charset(label: str) -> bool:
    """Whether a label names a charset of pages."""
    try:
        _charset(label)
    except (LookupError, ValueError):
        return False
    return True


def _charset(label: str) -> str:
    """The charset that browsers take for a label (LookupError: none)."""
    name = codecs.lookup(label).name
    if not _CHARSETS.match(name):
        raise LookupError(label)
    return {"utf-8": "utf-8-sig", "iso8859-1": "cp1252", "ascii": "cp1252"}.get(name, name)

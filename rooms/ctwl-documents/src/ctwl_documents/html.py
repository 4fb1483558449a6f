"""HTML: the words that a browser shows, with the breaks between them that the elements ask for.

Its tags are found by patterns that take linear time for any page, as those of the standard library do not, so that a
scan may read pages of strangers in its own process. ``documents/html.js`` in ctwl-web does the same.
"""

from __future__ import annotations

import base64
import codecs
import html
import json
import re
from collections import Counter
from functools import cached_property
from importlib import resources
from typing import Any
from urllib.parse import unquote_to_bytes

from ctwl_protocol.numbers import linked

_TABLES: dict[str, Any] = json.loads(linked((resources.files(__package__) / "tables.json").read_bytes()))
"""What both readers know of HTML: which elements hold words, and which end others."""

_BLOCKS, _PARAGRAPHS, _UNSEEN, _VOID = (
    frozenset(_TABLES["elements"][name].split()) for name in ("blocks", "paragraphs", "unseen", "void")
)
_ENDS = {name: frozenset(by.split()) for name, by in _TABLES["ends"].items()}
"""Elements whose end may be left out, and what then ends them: an element that begins, or ``/`` one that ends."""

_SEEN = {name: frozenset(inside.split()) for name, inside in _TABLES["seen"].items()}
"""Elements that are seen though they are in one that is not: words of drawings and of formulas."""

_ASIDE = ("defs", "switch")
"""Elements of drawings whose text is for use elsewhere, or for programs that do not show what stands before it."""

_NESTING = ("ul", "ol", "dl", "table")
"""Elements in which another such element may be open."""

_ASCII = re.I | re.A  # no other letter is one of these in small or large
_RAW = {"script": re.compile("</script", _ASCII), "style": re.compile("</style", _ASCII)}
"""Elements whose content has no tags, and what ends it."""

_TAG = re.compile(r"<(/?)([a-z][^\s/>]*)", _ASCII)
_ALONE = re.compile(r"(?:\A|[\s\"'])/\Z", re.A)
"""Ends the attributes of an element without content, where XML is spoken."""

_ALONE_TOO = _SEEN.keys() | frozenset[str]().union(*_SEEN.values())
"""Elements of a page of HTML that may end so."""

_TAG_END = re.compile(r"""=\s*"[^"]*"|=\s*'[^']*'|(>)""")
"""What may stand before the end of a tag and hold its sign, or the end."""

_HIDDEN = re.compile(r"\shidden(?=[\s=/]|\Z)", _ASCII)
_ID, _STYLE, _HOW_HIDDEN, _SRCDOC, _SRC = (
    re.compile(rf"""\s{name}\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", _ASCII)
    for name in ("id", "style", "hidden", "srcdoc", "(?:src|data)")
)
_FOUND = "until-found"
"""How words are hidden that a browser shows to whoever searches for them."""

_SHADOW = re.compile(r"\sshadowroot(?:mode)?\s*=", _ASCII)
"""A template with it is the inside of the element around it, which is seen."""

_NO_PLACE = re.compile(r"display\s*:\s*none", _ASCII)
_UNSEEN_STYLE = re.compile(r"visibility\s*:\s*hidden", _ASCII)
_ARGUMENT = re.compile(r"""(?:[(,]\s*|\sdata-sid=)["']#?([^"'\s]{1,80})["']""")
"""What a script calls a function with, or finds in a page, such as the name of an element that it shows."""

_SHOWN_LATER = {"t": "=", "aside": "epub:type"}
"""What a hidden element has that is shown: by Marko's script, which finds it by a name, or as a note of a book."""

_PLACED = re.compile(r"\s(?:x|y|dy)\s*=", _ASCII)
"""Whether words of a drawing begin at a place of their own, as those of a line do."""

_FRAMED = ("iframe", "frame", "object", "embed", "img")
_PAGE = re.compile(r"\s*data:(?:text/(?:html|plain)|application/xhtml\+xml|image/svg\+xml)([^,]*),(.*)", _ASCII | re.S)
"""The address of a page or a drawing that is that itself."""

_LITERAL = "<![CDATA["
"""Begins words of XML in which no sign has another meaning."""

_FRAMES = 3
"""Pages inside each other whose words are read."""

_VALUES = re.compile(r""""[^"]*"|'[^']*'""")
_REFERENCE = re.compile(r"&(?:#\d{1,7};?|#x[0-9a-f]{1,6};?|[a-z][a-z0-9]{1,31};?)", _ASCII)
_BREAKS = ("", " ", "\n", "\n\n")

_CHARSET = re.compile(
    rb"""<(?:meta[^>]{0,200}?charset|\?xml[^>]{0,100}?encoding)\s*=\s*["']?([a-z0-9_:-]{1,40})""", re.I
)
_CHARSETS = re.compile(r"ascii|utf-(?:8|16)|iso|cp\d|koi8|mac|gb|big5|euc|shift|tis")
"""Begins the names of charsets of pages. Python knows others, some of which take quadratic time."""

_WIDER = {
    "utf-8": "utf-8-sig", "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874",
    "tis-620": "cp874", "gb2312": "gb18030", "gbk": "gb18030", "euc_kr": "cp949", "shift_jis": "cp932",
    "big5": "big5hkscs",
}  # fmt: skip
"""The charset that browsers read where pages name one (WHATWG Encoding Standard, names and labels)."""

_SEVERAL_BYTES = re.compile(r"utf-16|gb|big5|euc|shift|iso2022|cp9(?:32|49|50)")
_ONE_BYTE = {"utf-8-sig": "cp1252"}
"""What is read where few of the bytes are UTF-8, though it is named."""

_WRONG = "\ufffd"
"""Stands for bytes that are not of a charset."""

_NOT_ASCII = re.compile(r"[^\0-\x7f]+")


class _Words:
    """Collects the words."""

    def __init__(self, page: str, left_out: frozenset[str]) -> None:
        self.pieces: list[str] = []
        self._page, self._left_out = page, left_out
        self._wanted = 0
        self._unseen: str | None = None
        self._hides = False  # whether it is not seen by an attribute or as a template, which a script may change
        self._inside = Counter[str]()  # open elements in the one that is not seen
        self._around: list[tuple[str, str, Counter[str]]] = []  # the same of drawings and formulas whose words are seen
        self._kept = 0  # open elements whose white space is kept

    @property
    def hides(self) -> bool:
        """Whether a script may show what stands here and is not seen."""
        return self._unseen is not None and self._hides

    def open(self, tag: str, attributes: str, *, alone: bool) -> None:
        if self._unseen and tag in _ENDS.get(self._unseen, ()) and not any(map(self._inside.get, _NESTING)):
            self._unseen = None
        aside = tag == "text" and any(map(self._inside.get, _ASIDE))
        if self._unseen and tag in _SEEN.get(self._unseen, ()) and not (alone or aside):
            self._around.append((self._unseen, tag, self._inside))
            self._unseen, self._inside = None, Counter()
            self._ask_around(tag)
            return
        if self._unseen:
            self._inside[tag] += not alone
            return
        if not alone and self._is_unseen(tag, attributes):
            self._unseen, self._inside = tag, Counter()
            self._hides = tag not in self._left_out or tag == "template"
        else:
            self._kept += tag == "pre"
        self._ask(tag)
        if tag == "tspan" and _PLACED.search(attributes):
            self._ask_around(tag)

    def close(self, tag: str) -> None:
        if self._around and not self._unseen and tag in self._around[-1][:2]:
            self._unseen, seen, self._inside = self._around.pop()
            self._ask_around(seen)
            if tag == seen:
                return
        if self._unseen and self._inside[tag]:
            self._inside[tag] -= 1
            return
        if self._unseen:
            ended, ends = tag == self._unseen, _ENDS.get(self._unseen, frozenset())
            parent = f"/{tag}" in ends or bool(ends and tag in _BLOCKS)
            self._unseen = None if ended or parent else self._unseen
            if ended or not parent:
                return
        self._kept = max(0, self._kept - (tag == "pre"))
        self._ask(tag)

    def _is_unseen(self, tag: str, attributes: str) -> bool:
        """Whether nobody sees an element.

        A script shows what is hidden and has an id that is the argument of a call. It also shows a page that is hidden
        as a whole, and an element that has an id and keeps its place while it is not seen.
        KaTeX has each formula a second time, for those who listen.
        """
        if tag in self._left_out and tag != "template":
            return True
        if not attributes or tag in ("html", "body"):
            return tag == "template"
        style, named = _value(_STYLE, attributes), _value(_ID, attributes)
        if tag == "template":
            return not (_SHADOW.search(attributes) or named in self._arguments)
        if _NO_PLACE.search(style) or _HIDDEN.search(_VALUES.sub("", attributes)):
            is_shown = tag in _SHOWN_LATER and _SHOWN_LATER[tag] in attributes
            is_found = _value(_HOW_HIDDEN, attributes).lower() == _FOUND
            return not (is_shown or is_found or named in self._arguments)
        return not named and (_UNSEEN_STYLE.search(style) is not None or "katex-mathml" in attributes)

    @cached_property
    def _arguments(self) -> frozenset[str]:
        return frozenset(_ARGUMENT.findall(self._page))

    def frame(self, words: str) -> None:
        """The words of a page in the page."""
        if words and not self._unseen:
            self._ask("p")
            self._write(words)
            self._ask("p")

    def _ask(self, tag: str) -> None:
        self._wanted = max(self._wanted, 3 if tag in _PARAGRAPHS else 2 if tag in _BLOCKS else 0)

    def _ask_around(self, tag: str) -> None:
        """Words of a drawing are a paragraph; lines of these, and words of a formula, are words apart."""
        self._wanted = max(self._wanted, 1 if tag in ("tspan", "mtext") else 3)

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


def _value(attribute: re.Pattern[str], attributes: str) -> str:
    found = attribute.search(attributes)
    return next(filter(None, found.groups()), "") if found else ""


def _page_in(attributes: str) -> str:
    """The page that the element of a frame holds itself."""
    if inner := _value(_SRCDOC, attributes):
        return html.unescape(inner)
    found = _PAGE.match(html.unescape(_value(_SRC, attributes)))
    if not found:
        return ""
    data = unquote_to_bytes(found[2])
    try:
        return decoded(base64.b64decode(data + b"==") if found[1].lower().endswith(";base64") else data)
    except ValueError:  # browsers do not show it either
        return ""


def words_of(page: str, *, xml: bool = False, frames: int = _FRAMES, contents: bool = True) -> str:
    """The words of a page, or of a part of one; see :func:`read`."""
    return read(page, xml=xml, frames=frames, contents=contents)[0]


def read(page: str, *, xml: bool = False, frames: int = _FRAMES, contents: bool = True) -> tuple[str, list[str]]:
    """The words of a page, or of a part of one, and the parts of it that are hidden, which a script may show.

    What a browser drops, such as a tag without an end, is dropped.

    Args:
        page: the page.
        xml: whether it is XHTML, as in books, though it does not say so; there any element may end where it begins.
        frames: how many pages inside each other are read.
        contents: whether tables of contents are read.
    """
    found, xml = _Words(page, _UNSEEN if contents else _UNSEEN | {"nav"}), xml or page.startswith("<?xml")
    done = place = 0
    edges = list[int]()  # where what is hidden begins and ends
    while (begin := page.find("<", place)) >= 0:
        tag = _TAG.match(page, begin)
        if tag is None and not page.startswith(("<!", "<?"), begin):
            place = begin + 1  # it stands for itself
            continue
        found.text(page[done:begin])
        if tag is None:
            literal = xml and page.startswith(_LITERAL, begin)
            closing = "]]>" if literal else "-->" if page.startswith("<!--", begin) else ">"
            place = done = _after(page, closing, begin + 2)
            if literal:
                found.text(page[begin + len(_LITERAL) : place].removesuffix(closing).replace("&", "&amp;"))
            continue
        name = tag[2].lower()
        place = done = _end_of_tag(page, tag.end())
        attributes = page[tag.end() : place - 1]
        alone = name in _VOID or ((xml or name in _ALONE_TOO) and _ALONE.search(attributes) is not None)
        if tag[1]:
            found.close(name)
        elif name in _RAW and not alone:
            end = _RAW[name].search(page, place)
            place = done = _end_of_tag(page, end.end()) if end else len(page)
        else:
            if name in _FRAMED and frames and (inner := _page_in(attributes)):
                found.frame(words_of(inner, frames=frames - 1))
            found.open(name, attributes, alone=alone)
        if found.hides is not (len(edges) % 2 == 1):
            edges.append(place if found.hides else begin)
    found.text(page[done:])
    edges.append(len(page))
    return "".join(found.pieces).strip(), [page[start:end] for start, end in zip(edges[::2], edges[1::2], strict=False)]


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
        charset: what its server or its mail says of it; None where it says nothing, so that the page itself is asked.

    What is UTF-8 but for a few bytes is UTF-8, unless a charset with several bytes a character is named and fits
    better: one with a single byte fits anything.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    found = _CHARSET.search(data[:2048])
    named = _charset(charset or (found[1].decode() if found else "utf-8")) or "utf-8-sig"
    text = data.decode("utf-8-sig", "replace")
    wrong = text.count(_WRONG)
    others = sum(map(len, _NOT_ASCII.findall(text))) - wrong
    if not _SEVERAL_BYTES.match(named) or (charset is None and named.startswith("utf-16")):
        return text if others > wrong or not wrong else data.decode(_ONE_BYTE.get(named, named), "replace")
    labelled = data.decode(named, "replace")
    surer = wrong - labelled.count(_WRONG) or (0 if charset else -others)
    return labelled if surer >= 0 else text


def is_charset(label: str) -> bool:
    """Whether a label names a charset of pages."""
    return _charset(label) is not None


def _charset(label: str) -> str | None:
    """The charset that browsers take for a label; None for one that is unknown."""
    try:
        name = codecs.lookup(label.lower().removeprefix("x-")).name
    except (LookupError, ValueError):
        return None
    return _WIDER.get(name, name) if _CHARSETS.match(name) else None

"""Documents that are XML in a zip: DOCX and PPTX of Office, ODT and its kin, EPUB.

What was deleted and what comments say are not words of the document. A DTD, by which XML names other files and
multiplies itself, is refused: no office program writes one.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from . import html
from .archives import member, open_zip
from .budget import Budget
from .markup import parse

_MOST_SPACES = 100
"""Spaces that one element of ODF may stand for."""


@dataclass(frozen=True)
class _Dialect:
    """How a kind of XML holds words; elements by their local names.

    Attributes:
        parts: the names of the parts that hold words, in their order.
        paragraphs: elements that are paragraphs.
        words: elements whose text is words; in ODF those are the paragraphs.
        breaks: what stands for an empty element.
        unread: elements that are left out.
    """

    parts: re.Pattern[str]
    paragraphs: frozenset[str]
    words: frozenset[str]
    breaks: Mapping[str, str]
    unread: frozenset[str]


_OFFICE_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}

DOCX = _Dialect(
    parts=re.compile(r"word/(document\d*|footnotes|endnotes)\.xml"),
    paragraphs=frozenset({"p"}),
    words=frozenset({"t"}),
    breaks=_OFFICE_BREAKS,
    unread=frozenset({"Fallback", "moveFrom", "del", "tabs", "pPr"}),
)
PPTX = _Dialect(
    parts=re.compile(r"ppt/slides/slide(\d+)\.xml"),
    paragraphs=frozenset({"p"}),
    words=frozenset({"t"}),
    breaks=_OFFICE_BREAKS,
    unread=frozenset({"Fallback", "fld"}),
)
ODF = _Dialect(
    parts=re.compile(r"content\.xml"),
    paragraphs=frozenset({"p", "h"}),
    words=frozenset({"p", "h"}),
    breaks={"tab": "\t", "line-break": "\n", "s": " "},
    unread=frozenset({"tracked-changes", "annotation", "note-citation", "forms"}),
)


def read(data: bytes, budget: Budget, dialect: _Dialect) -> str:
    """The words of a document, a paragraph a line.

    Raises:
        DocumentRefused: it is broken or would cost too much.
    """
    with open_zip(data) as packed:
        names = [name for name in packed.namelist() if dialect.parts.fullmatch(name)]
        parts = [member(packed, name, budget) for name in sorted(names, key=_in_order)]
    paragraphs = [text for part in parts for text in _paragraphs(part, dialect)]
    # Where the writer set empty paragraphs, these are the blank lines; else each paragraph has one after it.
    spaced = any(not text.strip() for text in paragraphs[1:-1])
    return ("\n" if spaced else "\n\n").join(paragraphs).strip()


def _in_order(name: str) -> tuple[bool, int, str]:
    """The body first, notes after it, slides by their numbers."""
    number = re.search(r"\d+", name)
    return "notes" in name, int(number[0]) if number else 0, name


def _paragraphs(part: bytes, dialect: _Dialect) -> list[str]:
    """The paragraphs of one part."""
    found: list[list[str]] = []
    open_words, unread = 0, 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal open_words, unread
        unread += name in dialect.unread
        if name in dialect.paragraphs:
            found.append([])
        elif name in dialect.breaks and found and not unread:
            times = attributes.get("c", "1")
            found[-1].append(dialect.breaks[name] * min(int(times) if times.isdecimal() else 1, _MOST_SPACES))
        open_words += name in dialect.words

    def end(name: str) -> None:
        nonlocal open_words, unread
        unread -= name in dialect.unread
        open_words -= name in dialect.words

    def text(data: str) -> None:
        if open_words and not unread and found:
            found[-1].append(data)

    parse(part, start, end, text)
    return ["".join(pieces) for pieces in found]


def read_epub(data: bytes, budget: Budget) -> str:
    """The words of a book's chapters, in the order in which they are read.

    Raises:
        DocumentRefused: it is broken or would cost too much.
    """
    with open_zip(data) as packed:
        (package,) = _values(member(packed, "META-INF/container.xml", budget), "rootfile", "full-path")[:1] or [""]
        listed = member(packed, package, budget)
        places = dict(zip(_values(listed, "item", "id"), _values(listed, "item", "href"), strict=True))
        spine = [places[name] for name in _values(listed, "itemref", "idref") if name in places]
        folder = posixpath.dirname(package)
        chapters = [posixpath.normpath(posixpath.join(folder, unquote(place))) for place in dict.fromkeys(spine)]
        pages = [html.words_of(html.decoded(member(packed, chapter, budget))) for chapter in chapters]
    return "\n\n".join(page for page in pages if page)


def _values(part: bytes, element: str, attribute: str) -> list[str]:
    """An attribute of all elements of a name."""
    found: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == element:
            found.append(attributes.get(attribute, ""))

    parse(part, start)
    return found

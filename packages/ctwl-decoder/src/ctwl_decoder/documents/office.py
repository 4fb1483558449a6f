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

from ..words import document_tables
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


def _dialect(name: str) -> _Dialect:
    given = document_tables()["dialects"][name]
    sets = {key: frozenset(given[key].split()) for key in ("paragraphs", "words", "unread")}
    return _Dialect(parts=re.compile(given["parts"]), breaks=given["breaks"], **sets)


DOCX, PPTX, ODF = map(_dialect, ("docx", "pptx", "odf"))


def read(data: bytes, budget: Budget, dialect: _Dialect) -> str:
    """The words of a document in a zip.

    Raises:
        DocumentRefused: it is broken or would cost too much.
    """
    with open_zip(data) as packed:
        names = {name for name in packed.namelist() if dialect.parts.fullmatch(name)}
        parts = [member(packed, name, budget) for name in sorted(names, key=_in_order)]
    return "\n\n".join(filter(None, (words_of(part, dialect) for part in parts)))


def _in_order(name: str) -> tuple[bool, int, str]:
    """The body first, notes after it, slides by their numbers."""
    number = re.search(r"\d+", name)
    return "notes" in name, int(number[0]) if number else 0, name


def words_of(part: bytes, dialect: _Dialect) -> str:
    """The words of one part; those of notes and boxes, which are paragraphs inside others, come last.

    Raises:
        DocumentRefused: it is broken.
    """
    outer: list[list[str]] = []
    inner: list[list[str]] = []
    open_paragraphs: list[list[str]] = []
    open_words, unread = 0, 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal open_words, unread
        unread += name in dialect.unread
        open_words += name in dialect.words
        if name in dialect.paragraphs:
            open_paragraphs.append([])
            if not unread:
                (inner if len(open_paragraphs) > 1 else outer).append(open_paragraphs[-1])
        elif name in dialect.breaks and open_paragraphs and not unread:
            times = attributes.get("c", "1")
            open_paragraphs[-1].append(dialect.breaks[name] * min(int(times) if times.isdecimal() else 1, _MOST_SPACES))

    def end(name: str) -> None:
        nonlocal open_words, unread
        unread -= name in dialect.unread
        open_words -= name in dialect.words
        if name in dialect.paragraphs:
            open_paragraphs.pop()

    def text(data: str) -> None:
        if open_words and not unread and open_paragraphs:
            open_paragraphs[-1].append(data)

    parse(part, start, end, text)
    return "\n\n".join(filter(None, map(_joined, (outer, inner))))


def _joined(paragraphs: list[list[str]]) -> str:
    """Paragraphs as a text.

    Where the writer set empty ones between most, these are the blank lines; else each paragraph has one after it.
    """
    texts = ["".join(pieces).rstrip() for pieces in paragraphs]
    full = [text for text in texts if text]
    spaced = 2 * (len(texts) - len(full)) > len(full) - 1
    return ("\n".join(texts) if spaced else "\n\n".join(full)).strip()


def read_epub(data: bytes, budget: Budget) -> str:
    """The words of a book's chapters, in the order in which they are read; not its table of contents.

    Raises:
        DocumentRefused: it is broken or would cost too much.
    """
    with open_zip(data) as packed:
        ((package,),) = _values(member(packed, "META-INF/container.xml", budget), "rootfile", "full-path")[:1] or [
            ("",)
        ]
        listed = member(packed, package, budget)
        items = _values(listed, "item", "id", "href", "properties")
        places = {name: place for name, place, kinds in items if "nav" not in kinds.split()}
        spine = [places[name] for (name,) in _values(listed, "itemref", "idref") if name in places]
        folder = posixpath.dirname(package)
        chapters = [posixpath.normpath(posixpath.join(folder, unquote(place))) for place in dict.fromkeys(spine)]
        pages = [html.words_of(html.decoded(member(packed, chapter, budget)), xml=True) for chapter in chapters]
    return "\n\n".join(page for page in pages if page)


def _values(part: bytes, element: str, *attributes: str) -> list[tuple[str, ...]]:
    """Some attributes of all elements of a name."""
    found: list[tuple[str, ...]] = []

    def start(name: str, given: dict[str, str]) -> None:
        if name == element:
            found.append(tuple(given.get(each, "") for each in attributes))

    parse(part, start)
    return found

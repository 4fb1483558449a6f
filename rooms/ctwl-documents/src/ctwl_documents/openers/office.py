"""Documents that are XML in a zip: DOCX and PPTX of Office, ODT and its kin, EPUB.

What was deleted and what comments say are not words of the document. Declarations in a DTD, by which XML multiplies
itself, are refused: no office program writes them.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import unquote
from zipfile import ZipFile

from ctwl_decoder.errors import DocumentRefused
from ctwl_decoder.kinds import KINDS
from ctwl_decoder.words import said

from .. import html
from ..budget import Budget, OverBudget
from ..found import Member
from ..markup import parse
from . import opens
from .archives import member, open_zip

_RELATED = re.compile(r"word/_rels/document\d*\.xml\.rels")

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


def _dialect(given: Mapping[str, Any]) -> _Dialect:
    sets = {key: frozenset(given[key].split()) for key in ("paragraphs", "words", "unread")}
    return _Dialect(parts=re.compile(given["parts"]), breaks=given["breaks"], **sets)


_DIALECTS = {kind.name: _dialect(kind.row["dialect"]) for kind in KINDS if "dialect" in kind.row}


def read(data: bytes, budget: Budget, dialect: _Dialect) -> tuple[str, list[Member]]:
    """The words of a document in a zip, and the files in it that are a part of its text.

    Raises:
        DocumentRefused: it is broken or would cost too much.
    """
    with open_zip(data) as packed:
        names = {name for name in packed.namelist() if dialect.parts.fullmatch(name)}
        parts = [member(packed, name, budget) for name in sorted(names, key=_in_order)]
        chunks = [_member_or_refusal(packed, name, budget) for name in _chunks(packed, budget)]
    return "\n\n".join(filter(None, (words_of(part, dialect) for part in parts))), chunks


for _name, _one in _DIALECTS.items():
    opens(_name)(partial(read, dialect=_one))


@opens("flat-odf")
def read_flat(data: bytes, _: Budget) -> str:
    """The words of a document of OpenDocument that is one file of XML.

    Raises:
        DocumentRefused: it is broken.
    """
    return words_of(data, _DIALECTS["odf"])


def _chunks(packed: ZipFile, budget: Budget) -> list[str]:
    """The files whose words Word puts into the text when it opens the document (``altChunk``)."""
    related = sorted(filter(_RELATED.fullmatch, packed.namelist()))
    found = [
        each for name in related for each in _values(member(packed, name, budget), "Relationship", "Type", "Target")
    ]
    places = [place for kind, place in found if kind.endswith("/aFChunk")]
    return [place[1:] if place.startswith("/") else posixpath.normpath(f"word/{unquote(place)}") for place in places]


def _member_or_refusal(packed: ZipFile, name: str, budget: Budget) -> Member:
    try:
        return Member(name, member(packed, name, budget))
    except OverBudget:
        raise
    except DocumentRefused as error:
        return Member(name, error)


def _in_order(name: str) -> tuple[bool, bool, int, str]:
    """The body first, then diagrams and notes, slides by their numbers."""
    number = re.search(r"\d+", name)
    return "notes" in name, "diagrams" in name, int(number[0]) if number else 0, name


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


@opens("epub")
def read_epub(data: bytes, budget: Budget) -> tuple[str, list[Member]]:
    """The words of a book's chapters, in the order in which they are read, and what of them is missing.

    The table of contents is not read.

    Raises:
        DocumentRefused: it is broken or would cost too much.
    """
    with open_zip(data) as packed:
        ((package,),) = _values(member(packed, "META-INF/container.xml", budget), "rootfile", "full-path")[:1] or [
            ("",)
        ]
        listed = member(packed, package, budget)
        items = _values(listed, "item", "id", "href", "properties")
        places = {name: "" if "nav" in kinds.split() else place for name, place, kinds in items}
        spine = [name for (name,) in _values(listed, "itemref", "idref")]
        folder = posixpath.dirname(package)
        chapters = [posixpath.normpath(posixpath.join(folder, unquote(places[name]))) for name in dict.fromkeys(spine)
                    if places.get(name)]  # fmt: skip
        read = [_member_or_refusal(packed, chapter, budget) for chapter in dict.fromkeys(chapters)]
    pages = [html.words_of(html.decoded(each.data), xml=True) for each in read if isinstance(each.data, bytes)]
    missing = [Member(name, DocumentRefused(said("reason-broken"))) for name in spine if name not in places]
    missing += [each for each in read if not isinstance(each.data, bytes)]
    return "\n\n".join(page for page in pages if page), missing


def _values(part: bytes, element: str, *attributes: str) -> list[tuple[str, ...]]:
    """Some attributes of all elements of a name."""
    found: list[tuple[str, ...]] = []

    def start(name: str, given: dict[str, str]) -> None:
        if name == element:
            found.append(tuple(given.get(each, "") for each in attributes))

    parse(part, start)
    return found

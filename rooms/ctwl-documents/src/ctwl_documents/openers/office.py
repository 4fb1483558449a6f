"""Documents that are XML, most of them in a zip: DOCX and PPTX of Office, ODT and its kin, EPUB, FB2.

What was deleted, what nobody sees, and what comments say are not words of the document. Declarations in a DTD, by which
XML multiplies itself, are refused: no office program writes them.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence, Set
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
from ..found import Member, is_told, others, with_others
from ..markup import parse
from . import opens
from .archives import member, member_or_refusal, open_zip

_RELATED = re.compile(r"word/_rels/[^/]*\.xml\.rels")

_MOST_SPACES = 100
"""Spaces that one element of ODF may stand for."""

_OFF = ("0", "false", "off")
"""Values by which Word says that a property does not hold."""

_WORDS_IN_CELLS = ("str", "inlineStr")
"""Types of cells of Excel that have words themselves."""

_FORMULA = "Equation Native".encode("utf-16-le")
"""Stands in an object that shows a formula, of which a paper has hundreds."""

_PART_NAME = re.compile(rb"""[^>]*?\bpkg:name\s*=\s*["']/([^"'<>]*)["']""")


@dataclass(frozen=True)
class _Dialect:
    """How a kind of XML holds words; elements by their local names.

    Attributes:
        parts: the names of the parts that hold words, where it is packed.
        types: what an Office document says of such parts, whatever their names are.
        files: the names of the documents in it whose words are a part of its text.
        others: the names of parts whose long texts are texts of their own, as comments and masters of slides.
        holds: stands in each part that has words; others, such as tables of numbers, are not looked at.
        paragraphs: elements that are paragraphs.
        words: elements whose text is words; in ODF those are the paragraphs.
        breaks: what stands for an empty element.
        beside: elements whose text, where it is long, is a text of its own; so are long attributes of any.
        unread: elements that are left out.
    """

    parts: re.Pattern[str]
    types: re.Pattern[str]
    files: re.Pattern[str]
    others: re.Pattern[str]
    holds: re.Pattern[bytes]
    paragraphs: frozenset[str]
    words: frozenset[str]
    breaks: Mapping[str, str]
    beside: frozenset[str]
    unread: frozenset[str]


_ELEMENTS = ("paragraphs", "words", "beside", "unread")
_NAMES = ("parts", "types", "files", "others")


def _dialect(given: Mapping[str, Any]) -> _Dialect:
    sets: dict[str, Any] = {key: frozenset(given.get(key, "").split()) for key in _ELEMENTS}
    patterns: dict[str, Any] = {key: re.compile(given.get(key, "(?!)")) for key in _NAMES}
    return _Dialect(**patterns, holds=re.compile(given.get("holds", "").encode()), breaks=given["breaks"], **sets)


_ROWS = {kind.name: kind.row["dialect"] for kind in KINDS if "dialect" in kind.row}
_DIALECTS = {name: _dialect(_ROWS[row] if isinstance(row, str) else row) for name, row in _ROWS.items()}


def read(data: bytes, budget: Budget, dialect: _Dialect) -> tuple[str, list[Member]]:
    """The words of a document in a zip, the files in it that are a part of its text, and its other long texts.

    Raises:
        DocumentRefused: it is broken or would cost too much.
    """
    with open_zip(data) as packed:
        types = _types(packed, budget)
        names = {
            each
            for each in packed.namelist()
            if dialect.parts.fullmatch(each) or dialect.types.fullmatch(types.get(each, ""))
        }
        ordered = sorted(names, key=lambda name: _in_order(name, types.get(name, "")))
        parts = [words_of(member(packed, name, budget), dialect) for name in ordered]
        beside, broken = _beside(packed, names, budget, dialect)
        inside = dict.fromkeys([*_chunks(packed, budget), *sorted(filter(dialect.files.fullmatch, packed.namelist()))])
        chunks = [member_or_refusal(packed, name, budget) for name in inside]
    words, texts = _told([*parts, ("", beside)])
    chunks = [chunk for chunk in chunks if not (isinstance(chunk.data, bytes) and _FORMULA in chunk.data)]
    return words, [*chunks, *broken, *others(words, texts)]


def _beside(packed: ZipFile, read: Set[str], budget: Budget, dialect: _Dialect) -> tuple[list[str], list[Member]]:
    """What stands in other parts of a document than in those that are read, and parts of these that are broken."""
    texts, broken = list[str](), list[Member]()
    for name in sorted(set(filter(dialect.others.fullmatch, packed.namelist())) - read):
        try:
            words, more = words_of(member(packed, name, budget), dialect)
        except OverBudget:
            raise
        except DocumentRefused as error:
            broken.append(Member(name, error))
        else:
            texts += [words, *more]
    return texts, broken


def _told(parts: Sequence[tuple[str, list[str]]]) -> tuple[str, list[str]]:
    """The words of some parts, and their other texts that are long."""
    words = "\n\n".join(filter(None, (words for words, _ in parts)))
    return words, [text for _, beside in parts for text in beside if is_told(text)]


def read_flat(data: bytes, _: Budget, dialect: _Dialect) -> str | Iterator[Member]:
    """The words of a document that is one file of XML, and its other long texts.

    Raises:
        DocumentRefused: it is broken.
    """
    return with_others(*_told([words_of(data, dialect)]))


for _kind in KINDS:
    if _kind.name in _DIALECTS:
        opens(_kind.name)(partial(read if "members" in _kind.row else read_flat, dialect=_DIALECTS[_kind.name]))


@opens("flat-office")
def read_flat_office(data: bytes, _: Budget) -> str | Iterator[Member]:
    """The words of a document of Office that is one file of XML, with its parts in it or, of old ones, without.

    Then its other long texts.

    Raises:
        DocumentRefused: it is broken.
    """
    parts = dict[str, bytes]()
    for piece in data.split(b"<pkg:part ")[1:]:
        name, start, end = _PART_NAME.match(piece), piece.find(b"<pkg:xmlData"), piece.rfind(b"</pkg:xmlData>")
        if name and 0 <= start < end:
            parts[name[1].decode(errors="replace")] = piece[start:end] + b"</pkg:xmlData>"
    dialects = [_DIALECTS["docx"], _DIALECTS["pptx"]]
    told = list[tuple[str, list[str]]]() if parts else [words_of(data, dialects[0])]
    for one in dialects:
        read = set(filter(one.parts.fullmatch, parts))
        told += [words_of(parts[name], one) for name in sorted(read, key=_in_order)]
        beside = [words_of(parts[name], one) for name in filter(one.others.fullmatch, parts) if name not in read]
        told += [("", [words, *more]) for words, more in beside]
    return with_others(*_told(told))


_TYPES = "[Content_Types].xml"


def _types(packed: ZipFile, budget: Budget) -> dict[str, str]:
    """What an Office document says that its parts are."""
    if _TYPES not in packed.namelist():
        return {}
    said = _values(member(packed, _TYPES, budget), "Override", "PartName", "ContentType")
    return {unquote(name).lstrip("/"): kind for name, kind in said}


def _chunks(packed: ZipFile, budget: Budget) -> list[str]:
    """The files whose words Word puts into the text when it opens the document (``altChunk``)."""
    related = sorted(filter(_RELATED.fullmatch, packed.namelist()))
    found = [
        each for name in related for each in _values(member(packed, name, budget), "Relationship", "Type", "Target")
    ]
    places = [place for kind, place in found if kind.endswith("/aFChunk")]
    return [place[1:] if place.startswith("/") else posixpath.normpath(f"word/{unquote(place)}") for place in places]


_LAST = ("header", "footer"), ("notes",), ("diagram", "chart")
"""What comes behind all other parts, behind those without the first, and so on."""


def _in_order(name: str, kind: str = "") -> tuple[list[bool], int, str]:
    """The body first, then diagrams and charts, notes, heads and feet of pages; slides by their numbers."""
    number = re.search(r"\d+", name)
    return [any(map(f"{name} {kind}".__contains__, last)) for last in _LAST], int(number[0]) if number else 0, name


class _Unread:
    """Follows which elements are left out: by their names, or since nobody sees them.

    Word says of a run that it is not seen, OpenDocument says it of an element, or of a style that is defined before.
    Most cells of Excel have numbers.

    Attributes:
        around: how many of those that are open are left out.
    """

    def __init__(self, names: frozenset[str], *, cells: bool) -> None:
        self.around, self._cells = 0, cells
        self._names = names
        self._open: list[bool] = []
        self._runs: list[int] = []  # their places among the open elements
        self._style = ""
        self._unseen = set[str]()  # styles

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        hidden = attributes.get("display") == "none"
        of_numbers = self._cells and name == "c" and attributes.get("t") not in _WORDS_IN_CELLS
        unseen = hidden or of_numbers or attributes.get("style-name") in self._unseen
        self._open.append(unseen or name in self._names)
        self.around += self._open[-1]
        if name == "r":
            self._runs.append(len(self._open) - 1)
        elif name == "vanish" and self._runs and not self.around and attributes.get("val") not in _OFF:
            self._open[self._runs[-1]] = True
            self.around += 1
        elif name == "style":
            self._style = attributes.get("name", "")
        elif name == "text-properties" and hidden:
            self._unseen.add(self._style)

    def end(self, name: str) -> None:
        self.around -= self._open.pop()
        if name == "r":
            self._runs.pop()


class _Words:
    """Collects the words of a part.

    Attributes:
        outer: the pieces of each paragraph.
        inner: the same of paragraphs inside others, as of notes and boxes.
        beside: the same of elements that are beside the text.
        long: attributes.
    """

    def __init__(self, dialect: _Dialect) -> None:
        self.outer, self.inner, self.beside = list[list[str]](), list[list[str]](), list[list[str]]()
        self.long: list[str] = []
        self._dialect, self._unread = dialect, _Unread(dialect.unread, cells="c" in dialect.paragraphs)
        self._open: list[list[str]] = []  # paragraphs and elements beside the text
        self._in_words = self._aside = 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        dialect = self._dialect
        self._unread.start(name, attributes)
        self._in_words += name in dialect.words
        if name in dialect.beside or name in dialect.paragraphs:
            self._open.append(self._begun(name))
        elif name in dialect.breaks and self._open and not self._unread.around:
            times = attributes.get("c", "1")
            self._open[-1].append(dialect.breaks[name] * min(int(times) if times.isdecimal() else 1, _MOST_SPACES))
        self._aside += name in dialect.beside
        if not self._unread.around:
            self.long += filter(is_told, attributes.values())

    def _begun(self, name: str) -> list[str]:
        """Where the words go that stand in an element."""
        if self._unread.around:
            return []
        if self._aside:
            self._open[-1].append("\n")
            return self._open[-1]
        begun = list[str]()
        aside = name in self._dialect.beside
        (self.beside if aside else self.inner if self._open else self.outer).append(begun)
        return begun

    def end(self, name: str) -> None:
        self._unread.end(name)
        self._in_words -= name in self._dialect.words
        self._aside -= name in self._dialect.beside
        if name in self._dialect.beside or name in self._dialect.paragraphs:
            self._open.pop()

    def text(self, data: str) -> None:
        if (self._in_words or self._aside) and not self._unread.around and self._open:
            self._open[-1].append(data)


def words_of(part: bytes, dialect: _Dialect) -> tuple[str, list[str]]:
    """The words of one part, those of notes and boxes last, and texts that stand beside them.

    Raises:
        DocumentRefused: it is broken.
    """
    found = _Words(dialect)
    if dialect.holds.search(part):
        parse(part, found.start, found.end, found.text)
    words = "\n\n".join(filter(None, map(_joined, (found.outer, found.inner))))
    return words, ["".join(pieces).strip() for pieces in found.beside] + found.long


def _joined(paragraphs: list[list[str]]) -> str:
    """Paragraphs as a text.

    Where the writer set empty ones between most, these are the blank lines; else each paragraph has one after it.
    """
    texts = ["".join(pieces).rstrip() for pieces in paragraphs]
    full = [text for text in texts if text]
    spaced = 2 * (len(texts) - len(full)) > len(full) - 1
    return ("\n".join(texts) if spaced else "\n\n".join(full)).strip()


_PAGE = "application/xhtml+xml"
_OTHER_PAGE = re.compile(r"(?!META-INF/).*\.(?:x?html?|svg|xml)", re.I | re.S)
_PICTURE = re.compile(r"image/(?!svg)")
"""What is no chapter, though some books have it as one."""


@opens("epub")
def read_epub(data: bytes, budget: Budget) -> tuple[str, list[Member]]:
    """The words of a book's chapters, in the order in which they are read, and what of them is missing.

    Chapters to which only links lead come last. Tables of contents are not read. Other pages and drawings in the book,
    such as those that stand in frames, are texts of their own.

    Raises:
        DocumentRefused: it is broken or would cost too much.
    """
    with open_zip(data) as packed:
        roots = _values(member(packed, "META-INF/container.xml", budget), "rootfile", "full-path")
        package = roots[0][0] if roots else ""
        listed = member(packed, package, budget)
        items = {name: rest for name, *rest in _values(listed, "item", "id", "href", "properties", "media-type")}
        spine = [name for (name,) in _values(listed, "itemref", "idref")]
        hrefs = {name: href.partition("#")[0] for name, (href, *_) in items.items()}
        spine += [name for name, (_, properties, media) in items.items() if media == _PAGE and "nav" not in properties]
        missing = [Member(name, DocumentRefused(said("reason-broken"))) for name in spine if name not in items]
        folder, locked = posixpath.dirname(package), _locked(packed, budget)
        chapters = {posixpath.normpath(posixpath.join(folder, unquote(hrefs[name]))): items[name][1:]
                    for name in spine if hrefs.get(name)}  # fmt: skip
        pages, beside = list[str](), list[str]()
        apart = {name: ["nav", ""] for name in packed.namelist() if _OTHER_PAGE.fullmatch(name)}
        for place, (properties, media) in {**chapters, **(apart | chapters)}.items():
            try:
                if place in locked:
                    raise DocumentRefused(said("reason-locked"))
                if _PICTURE.match(media):
                    raise DocumentRefused(said("reason-words"))
                page = html.decoded(member(packed, place, budget))
                words = html.words_of(page, xml=True, contents="nav" not in properties.split())
                (pages if place in chapters else beside).append(words)
            except OverBudget:
                raise
            except DocumentRefused as error:
                missing.append(Member(place, error))
    told = "\n\n".join(filter(None, pages))
    return told, [*missing, *others(told, filter(is_told, beside))]


_ENCRYPTED = "META-INF/encryption.xml"


def _locked(packed: ZipFile, budget: Budget) -> set[str]:
    """The parts of a book that are encrypted."""
    if _ENCRYPTED not in packed.namelist():
        return set()
    named = _values(member(packed, _ENCRYPTED, budget), "CipherReference", "URI")
    return {posixpath.normpath(unquote(place)).lstrip("/") for (place,) in named}


def _values(part: bytes, element: str, *attributes: str) -> list[tuple[str, ...]]:
    """Some attributes of all elements of a name."""
    found: list[tuple[str, ...]] = []

    def start(name: str, given: dict[str, str]) -> None:
        if name == element:
            found.append(tuple(given.get(each, "") for each in attributes))

    parse(part, start)
    return found

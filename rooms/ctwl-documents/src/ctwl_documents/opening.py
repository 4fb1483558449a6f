"""The words in a file of any kind that is known, and in the files in it."""

from __future__ import annotations

import quopri
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from zipfile import BadZipFile, ZipFile

from ctwl_decoder import kinds
from ctwl_decoder.errors import DocumentRefused
from ctwl_decoder.files import Found, text_of
from ctwl_decoder.kinds import Kind
from ctwl_decoder.words import document_tables, said

from . import archives, chats, html, limits, mail, office, pdf, rtf, subtitles
from .budget import Budget, OverBudget
from .found import broken

_EPUB, _DOCX, _PPTX, _ODF = (Kind(name) for name in ("epub", "docx", "pptx", "odf"))

_CONTAINERS: dict[Kind, Callable[[bytes, Budget], Iterator[archives.Member]]] = {
    kinds.ZIP: archives.zip_members,
    kinds.TAR: archives.tar_members,
    kinds.PACKED: archives.packed_member,
    kinds.BASE64: archives.base64_member,
    kinds.WIDE: archives.wide_member,
    kinds.MAIL: mail.members,
}
"""Kinds that hold other files."""

_DOCUMENTS: dict[Kind, Callable[[bytes, Budget], str | tuple[str, list[archives.Member]]]] = {
    kinds.PDF: lambda data, budget: pdf.read(data),
    _DOCX: partial(office.read, dialect=office.DOCX),
    _PPTX: partial(office.read, dialect=office.PPTX),
    _ODF: partial(office.read, dialect=office.ODF),
    kinds.FLAT_ODF: lambda data, budget: office.words_of(data, office.ODF),
    _EPUB: office.read_epub,
    kinds.HTML: lambda data, budget: html.words_of(html.decoded(data)),
    kinds.RTF: lambda data, budget: rtf.words_of(data.decode("cp1252", "replace")),
    kinds.CHAT: lambda data, budget: chats.words_of(plain(data)) or plain(data),
    kinds.SUBTITLES: lambda data, budget: subtitles.words_of(plain(data)),
    kinds.QUOTED: lambda data, budget: plain(quopri.decodestring(data)),
}
"""Kinds that hold words, and, some, files that are a part of their text or are missing in it."""


def kind_of(data: bytes) -> Kind | None:
    """The kind of a file; None for plain text, and for what nobody knows."""
    kind = kinds.outer_kind(data)
    return _kind_of_zip(data) if kind == kinds.ZIP else kind


def _kind_of_zip(data: bytes) -> Kind:
    try:
        with ZipFile(BytesIO(data)) as packed:
            names = set(packed.namelist())
    except (BadZipFile, ValueError, OSError, NotImplementedError):
        return kinds.ZIP  # whoever opens it says what is wrong
    if "META-INF/container.xml" in names:
        return _EPUB
    if "content.xml" in names and "mimetype" in names:
        return _ODF
    if "[Content_Types].xml" in names:
        folders = {name.partition("/")[0] for name in names}
        return next(
            (Kind(name) for folder, name in document_tables()["folders"].items() if folder in folders), kinds.ZIP
        )
    return kinds.ZIP


def plain(data: bytes) -> str:
    """The text in bytes of UTF-8.

    Raises:
        NotText: they are not.
    """
    return text_of(data.removeprefix(BOM_UTF8), "it")


def texts_in(data: bytes, name: str, budget: Budget, depth: int = 0) -> Iterator[Found]:
    """Each text in a file.

    Args:
        data: the file's bytes.
        name: what a message calls the file; what is in it is called by both names.
        budget: what the file may still cost.
        depth: how many files it is in.

    Raises:
        OverBudget: the whole would cost too much.
    """
    if depth > limits.DEPTH:
        raise OverBudget(said("reason-nested"))
    try:
        kind = kind_of(data)
        if kind in _CONTAINERS:
            for part in _CONTAINERS[kind](data, budget):
                yield from _inside(part, name, budget, depth)
        else:
            text, parts = _words(data, kind, budget)
            inner = [each for part in parts for each in _inside(part, name, budget, depth)]
            told = [text, *(each.text for each in inner if isinstance(each.text, str))]
            left = [each for each in inner if not isinstance(each.text, str)]
            text = "\n\n".join(filter(str.strip, told))
            if text or kind is None:
                yield Found(name, text)
            elif not left:
                raise DocumentRefused(said("reason-words"))
            yield from left
    except (OverBudget, MemoryError):
        raise
    except Exception as error:
        yield Found(name, broken(error))


def _inside(part: archives.Member, name: str, budget: Budget, depth: int) -> Iterator[Found]:
    """The texts in a part of a file."""
    inner = f"{name}/{part.name[: limits.NAME]}" if part.name else name
    if isinstance(part.data, bytes):
        yield from texts_in(part.data, inner, budget, depth + 1)
    else:
        yield Found(inner, part.data)


def _words(data: bytes, kind: Kind | None, budget: Budget) -> tuple[str, list[archives.Member]]:
    parts = list[archives.Member]()
    if kind is None:
        text = plain(data)
    elif not kind.opened:
        raise kinds.refusal(kind)
    else:
        found = _DOCUMENTS[kind](data, budget)
        text, parts = (found, parts) if isinstance(found, str) else found
    if len(text) > budget.words:
        raise OverBudget(f"it has more than {limits.WORDS:,} characters; read the part in question")
    budget.words -= len(text)
    return text, parts

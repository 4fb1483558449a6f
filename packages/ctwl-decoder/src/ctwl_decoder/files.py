"""The texts in the files that people name: plain text as it is, documents by their words, folders file by file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from .errors import DecoderError, ExtraMissing, InputTooLarge, InputUnreadable, NotOpened
from .kinds import ZIP, Kind, outer_kind, refusal
from .options import MAX_BYTES, MAX_FILE
from .text.alignment import AlignedText, normalize_aligned
from .text.input import has_surrogates, read_bytes, shown, text_of

__all__ = [
    "MOST_FILES", "OPENERS", "Found", "files_in", "has_surrogates", "normalized", "read_bytes", "read_text", "shown",
    "text_of", "texts_of", "words_in",
]  # fmt: skip

OPENERS = "ctwl_decoder.openers"
"""The group of entry points of what opens documents, such as ctwl-documents: a function from a file's bytes, and what
messages call the file, to a list of :class:`Found`, at least one."""

MOST_FILES = 1000
"""Files of a folder that are read one after the other; more are a corpus."""


class Found(NamedTuple):
    """A text in a file, or why a part of the file has none.

    Attributes:
        name: of the file; for what is in it, the names on the way there.
        text: the words, or the error.
    """

    name: str
    text: str | DecoderError

    def words(self) -> str:
        """The words.

        Raises:
            DecoderError: why there are none.
        """
        if isinstance(self.text, DecoderError):
            raise self.text
        return self.text


def files_in(names: Iterable[str]) -> Iterator[str]:
    """The files that are named, and those in folders that are named, in the order of their names; hidden ones not.

    Raises:
        InputTooLarge: a folder has more than :data:`MOST_FILES` files.
        InputUnreadable: a folder has no file.
    """
    for name in names:
        if not name or not Path(name).is_dir():
            yield name
            continue
        paths = (path for path in Path(name).rglob("*") if path.is_file() and not _is_hidden(path.relative_to(name)))
        found = sorted(islice(paths, MOST_FILES + 1))
        if len(found) > MOST_FILES:
            raise InputTooLarge(f"{name} has more than {MOST_FILES:,} files; ctwl-decode scan reads so many")
        if not found:
            raise InputUnreadable(f"{name} is a folder without files; name another one, or a file")
        yield from map(str, found)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def texts_of(name: str) -> list[Found]:
    """Each text in a file, or in standard input for ``-``, and why some parts have none.

    Raises:
        InputUnreadable, InputTooLarge: see :func:`ctwl_decoder.text.input.read_bytes`.
        NotText: it is neither text nor a document.
    """
    data, called = read_bytes(name, MAX_FILE), shown(name)
    kind = outer_kind(data)
    if kind is None:
        if len(data) > MAX_BYTES:
            raise InputTooLarge(f"{called} has more than {MAX_BYTES} bytes; cut it into parts")
        return [Found(called, text_of(data, called))]
    return [_named(found) for found in _opened(data, called, kind)]


def _opened(data: bytes, name: str, kind: Kind) -> list[Found]:
    if not kind.opened:
        return [Found(name, refusal(kind))]
    from importlib.metadata import entry_points

    for opener in entry_points(group=OPENERS):
        found: list[Found] = opener.load()(data, name)
        return found
    often = ", as many documents are" if kind == ZIP else ""
    told = f'{kind.called}{often}; to open it, pip install "ctwl-decoder[documents]"'
    return [Found(name, ExtraMissing(told))]


def read_text(name: str) -> str:
    """The one text in a file or in standard input: plain text as it is, or the words of a document.

    Raises:
        InputUnreadable, InputTooLarge, NotText: see :func:`texts_of`.
        NotOpened: it is a container that is not opened here, or one of several texts.
        DocumentRefused: it is a document that is broken or would cost too much.
        ExtraMissing: a package is needed to open it that is not installed.
    """
    return _one(texts_of(name), shown(name))


def words_in(data: bytes, kind: Kind, name: str) -> str:
    """The words of a document, see :func:`read_text`.

    Args:
        data: the bytes of the document.
        kind: by :func:`.kinds.outer_kind`.
        name: what messages call it.

    Raises:
        NotOpened, DocumentRefused, ExtraMissing, NotText: see :func:`read_text`.
    """
    return _one([_named(found) for found in _opened(data, name, kind)], name)


def _one(found: Sequence[Found], name: str) -> str:
    texts = [each.text for each in found if isinstance(each.text, str)]
    if len(texts) > 1:
        raise NotOpened(f"{name} has {len(texts)} texts, and one is asked for; unpack it and name one of them")
    return "".join(texts or [each.words() for each in found])


def _named(found: Found) -> Found:
    """The same, with an error that names the file."""
    if isinstance(found.text, DecoderError):
        return Found(found.name, type(found.text)(f"{found.name}: {found.text}"))
    return found


def normalized(text: str) -> str:
    """The one form of a text (spec section 5.1).

    Raises:
        NotText: see :func:`ctwl_decoder.text.alignment.normalize_aligned`.
    """
    return normalize_aligned(AlignedText.of(text)).text

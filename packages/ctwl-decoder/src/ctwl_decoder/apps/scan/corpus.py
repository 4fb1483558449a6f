"""Corpora: the documents in files and folders, read one at a time (plain text, JSON lines, Parquet; gzip).

A document that cannot be read is a document all the same, with an error in place of its text, so that one bad line
does not end a job of days. Everything here may come from strangers: sizes are bounded before anything is parsed.
"""

from __future__ import annotations

import gzip
import itertools
import json
import os
import stat
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from ...errors import (
    DecoderError,
    ExtraMissing,
    InputTooLarge,
    InputUnreadable,
    NotText,
    RecordMalformed,
    TextMissing,
)
from ...text.input import text_of

__all__ = [
    "Columns",
    "CorpusFile",
    "Document",
    "changed_files",
    "corpus_files",
    "documents",
    "require_arrow",
]

MAX_BYTES = 1 << 22
"""Longest text in bytes: the decoder's 2^20 characters, four bytes each."""

MAX_LINE = 1 << 23
"""Longest JSON line in bytes: such a text with its escapes and some fields beside it."""

_LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
_TEXT = (".txt", ".txt.gz")
_PARQUET = (".parquet",)
_READ = _TEXT + _LINES + _PARQUET

_BATCH = 64  # most rows of a Parquet file in memory
_UNPACKED = 1 << 28  # bytes of them
_BUFFER = 1 << 16  # bytes that Parquet reads ahead in a column

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Columns:
    """Which fields of a record are read: the text, and what names the document, if anything does."""

    text: str = "text"
    id: str | None = None


@dataclass(frozen=True)
class CorpusFile:
    """A file of the corpus, as it was when the corpus was listed.

    Attributes:
        path: where it is.
        name: the path as text, for the results; bytes that are no UTF-8 are escaped.
        size: bytes; -1 where the file could not be looked at.
        mtime_ns: when it was last changed.
    """

    path: Path
    name: str
    size: int
    mtime_ns: int


@dataclass(frozen=True)
class Document:
    """One document, or what is wrong with it.

    Attributes:
        source: name of its file.
        row: its index in the file: of the line (empty ones counted), of the row; 0 for plain text.
        id: the record's own name: a string or a whole number; None for all else.
        text: the text; empty where there is an error.
        error: code of the error that keeps it from being read, None if there is none.
        message: that error in words.
        read: bytes of the file that were read when the document ended.
    """

    source: str
    row: int
    id: str | None = None
    text: str = ""
    error: str | None = None
    message: str | None = None
    read: int = 0


def require_arrow() -> None:
    """Make sure that pyarrow, the extra ``[scan]``, is there.

    Raises:
        ExtraMissing: it is not.
    """
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise ExtraMissing(
            "scanning corpora needs pyarrow; install it with: pip install 'ctwl-decoder[scan]'"
        ) from error


def corpus_files(paths: Iterable[Path], without: Collection[Path] = ()) -> list[CorpusFile]:
    """The files of a corpus: each path in turn, folders in sorted order with all below them, no file twice.

    Args:
        paths: files and folders.
        without: files and folders inside those that do not belong to it, such as the job's own output.

    Raises:
        InputUnreadable: a path that is not there, a folder that cannot be listed or holds nothing to read, or a named
            file of an unknown kind. Files that cannot be opened become documents with an error later.
    """
    apart = {path.absolute() for path in without}
    found: dict[Path, CorpusFile] = {}
    for path in paths:
        try:
            files = [_looked_at(each) for each in _below(path, apart)]
        except OSError as error:
            raise InputUnreadable(f"cannot read {error.filename or path}: {error.strerror}") from error
        for file in files:
            if file is not None:
                found.setdefault(file.path.absolute(), file)
        if not any(files):
            raise InputUnreadable(f"{path} is or holds no file of a kind that is read: {', '.join(_READ)}")
    return list(found.values())


def _below(path: Path, apart: Collection[Path]) -> list[Path]:
    """The files of a folder and of those in it, sorted; of a file, itself."""

    def refuse(error: OSError) -> None:
        raise error  # a folder that is left out in silence would be documents lost

    path.stat()  # what is named and not there is a slip, to be told before any work
    if not path.is_dir():
        return [path] if path.name.lower().endswith(_READ) and path.absolute() not in apart else []
    paths = []
    for place, folders, names in os.walk(path, onerror=refuse):
        here = Path(place)
        folders[:] = [name for name in folders if (here / name).absolute() not in apart]
        paths += [here / name for name in names if name.lower().endswith(_READ)]
    return sorted(each for each in paths if each.absolute() not in apart)


def _looked_at(path: Path) -> CorpusFile | None:
    """A file with its size and date; None for a pipe or a device, which would never end."""
    name = str(path).encode(errors="backslashreplace").decode()
    try:
        found = path.stat()
    except OSError:
        return CorpusFile(path, name, -1, 0)
    return CorpusFile(path, name, found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def changed_files(files: Iterable[CorpusFile]) -> list[CorpusFile]:
    """Those that are no longer as they were when the corpus was listed."""
    return [file for file in files if _looked_at(file.path) != file]


def documents(file: CorpusFile, columns: Columns) -> Iterator[Document]:
    """The documents of one file, lazily; where it cannot be read any further, the last is an error that says so."""
    name = file.name.lower()
    read = _text if name.endswith(_TEXT) else _lines if name.endswith(_LINES) else _rows
    following = 0
    try:
        for document in read(file, columns):
            following = document.row + 1
            yield document
    except DecoderError as error:
        yield Document(file.name, following, error=error.code, message=str(error), read=max(file.size, 0))


@contextmanager
def _opened(file: CorpusFile) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """A file's bytes, unpacked, and the file itself, whose place tells how far it is read."""
    try:
        with file.path.open("rb") as raw:
            packed = file.name.lower().endswith(".gz")
            yield cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if packed else raw, raw
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputUnreadable(f"cannot read {file.name}: {reason}") from error


def _text(file: CorpusFile, columns: Columns) -> Iterator[Document]:  # noqa: ARG001
    with _opened(file) as (stream, raw):
        data = stream.read(MAX_BYTES + 1)
        read = raw.tell()
    if len(data) > MAX_BYTES:
        raise InputTooLarge(f"{file.name} has more than {MAX_BYTES} bytes; cut it into parts")
    yield Document(file.name, 0, text=text_of(data, file.name), read=read)


def _lines(file: CorpusFile, columns: Columns) -> Iterator[Document]:
    with _opened(file) as (stream, raw):
        for row in itertools.count():
            line = stream.readline(MAX_LINE + 1)
            if not line:
                return
            too_long = len(line) > MAX_LINE and not line.endswith(b"\n")
            rest = line
            while too_long and rest and not rest.endswith(b"\n"):
                rest = stream.readline(MAX_LINE)
            if too_long or line.strip():
                yield _line(b"" if too_long else line, Document(file.name, row, read=raw.tell()), columns)


def _line(line: bytes, place: Document, columns: Columns) -> Document:
    """The document in a line of JSON; an empty line stands for one that is too long."""
    where = f"line {place.row + 1} of {place.source}"
    try:
        if not line:
            raise InputTooLarge(f"{where} has more than {MAX_LINE} bytes; cut the document into parts")
        text = text_of(line.removeprefix(_BOM) if place.row == 0 else line, where)
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise RecordMalformed(f"{where} is no JSON: {error}") from error
        if not isinstance(record, dict):
            raise RecordMalformed(f"{where} is no JSON object with a field {columns.text!r}")
    except DecoderError as error:
        return _failed(place, error)
    return _document(record, where, place, columns)


def _document(record: Mapping[str, Any], where: str, place: Document, columns: Columns) -> Document:
    """A document from its fields."""
    name = _name(record.get(columns.id)) if columns.id else None
    try:
        text = record.get(columns.text)
        if columns.text not in record:
            raise TextMissing(f"{where} has no field {columns.text!r}; {_fields(list(record))}")
        if not isinstance(text, str):
            kind = "null" if text is None else f"of type {type(text).__name__}"
            raise TextMissing(f"the field {columns.text!r} of {where} is {kind}, no text")
        if not _is_text(text):
            raise NotText(f"the field {columns.text!r} of {where} holds lone surrogates, so it is no Unicode text")
    except DecoderError as error:
        return _failed(place, error, name)
    return Document(place.source, place.row, name, text, read=place.read)


def _failed(place: Document, error: DecoderError, name: str | None = None) -> Document:
    return Document(place.source, place.row, name, error=error.code, message=str(error), read=place.read)


def _fields(names: Sequence[str]) -> str:
    some = ", ".join(repr(name[:40]) for name in names[:8]) + (", ..." if len(names) > 8 else "")
    return f"it has {some or 'none at all'}; --text-column names another"


def _name(value: object) -> str | None:
    if isinstance(value, str):
        return value if _is_text(value) else None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:  # a lone surrogate, which JSON can spell
        return False
    return True


def _rows(file: CorpusFile, columns: Columns) -> Iterator[Document]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file.path, pre_buffer=False, buffer_size=_BUFFER) as table:
            names = table.schema_arrow.names
            if names.count(columns.text) != 1:
                raise TextMissing(f"{file.name} has no column {columns.text!r}; {_fields(names)}")
            kind = table.schema_arrow.field(columns.text).type
            if not _holds_text(kind):
                raise TextMissing(f"the column {columns.text!r} of {file.name} is of type {kind}, no text")
            wanted = [columns.text] + [name for name in names if name == columns.id and name != columns.text]
            row, rows = 0, max(table.metadata.num_rows, 1)  # which the file says of itself
            for group in range(table.num_row_groups):
                size = _batch_size(table.metadata.row_group(group), wanted, file.name)
                for batch in table.iter_batches(size, row_groups=[group], columns=wanted):
                    for place in range(batch.num_rows):
                        at = Document(file.name, row, read=min(file.size * (row + 1) // rows, file.size))
                        yield _row(batch, place, at, columns)
                        row += 1
    except (OSError, ValueError, pa.ArrowException) as error:  # ValueError: names that are no UTF-8
        raise InputUnreadable(f"cannot read {file.name} as Parquet: {str(error)[:400]}") from error


def _batch_size(group: Any, wanted: Sequence[str], name: str) -> int:
    """How many rows of a row group are unpacked at once: where a value repeats, each row may be as long as all of it.

    Raises:
        InputTooLarge: the values are longer on average than any may be.
    """
    parts = (group.column(i) for i in range(group.num_columns))
    size = sum(part.total_uncompressed_size for part in parts if part.path_in_schema in wanted)
    if size > MAX_BYTES * max(group.num_rows, 1):
        raise InputTooLarge(f"the texts of {name} have more than {MAX_BYTES} bytes each; cut them into parts")
    return int(min(max(_UNPACKED // max(size, 1), 1), _BATCH))


def _holds_text(kind: Any) -> bool:
    from pyarrow import types

    value = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(value) or types.is_large_string(value) or types.is_string_view(value))


def _row(batch: Any, place: int, at: Document, columns: Columns) -> Document:
    """The document in a row of a batch."""
    where = f"row {at.row} of {at.source}"
    record: dict[str, object] = {}
    for name in sorted(batch.schema.names, key=lambda name: name == columns.text):  # a bad text has its id all the same
        value = batch.column(name)[place]
        value = value.value if hasattr(value, "dictionary") else value
        try:
            if hasattr(value, "as_buffer") and value.is_valid and value.as_buffer().size > MAX_BYTES:
                raise InputTooLarge(f"the field {name!r} of {where} has more than {MAX_BYTES} bytes; cut it into parts")
            record[name] = value.as_py()
        except (InputTooLarge, UnicodeDecodeError) as error:
            if name == columns.text:
                told = error if isinstance(error, InputTooLarge) else NotText(f"the text of {where} is not UTF-8")
                return _failed(at, told, _name(record.get(columns.id)) if columns.id else None)
    return _document(record, where, at, columns)

"""Corpora: the documents in files and folders, read one at a time (plain text, JSON lines, Parquet; gzip).

A document that cannot be read is a document all the same, with an error in place of its text, so that one bad line
does not end a job of days. All files may come from strangers: sizes are bounded before anything is parsed.
"""

from __future__ import annotations

import gzip
import itertools
import json
import os
import stat
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types

from ctwl_protocol.files import open_file

from ...errors import DecoderError, InputTooLarge, InputUnreadable, NotText, RecordMalformed, TextMissing
from ...options import MAX_BYTES
from ...text.input import has_surrogates, text_of

MAX_LINE = 1 << 23
"""Longest JSON line in bytes: such a text with its escapes, and some other fields."""

_TEXT = (".txt", ".txt.gz")
_LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
_KINDS = (*_TEXT, *_LINES, ".parquet")

# Bounds on the memory that reading a Parquet file takes; chosen by hand.
_BATCH_ROWS = 64
_BATCH_BYTES = 1 << 28
_READ_AHEAD = 1 << 16  # bytes for each column

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Columns:
    """Which fields of a record are read: the text, and the document's id, if any."""

    text: str = "text"
    id: str | None = None


@dataclass(frozen=True)
class CorpusFile:
    """A file of the corpus, as it was when the corpus was listed.

    Attributes:
        path: the file.
        name: the path as text, for the results; bytes that are not UTF-8 are escaped.
        size: bytes; -1 where the file system does not tell.
        mtime_ns: when the file was last changed.
    """

    path: Path
    name: str
    size: int
    mtime_ns: int


DOCUMENTS = pa.schema(
    [
        pa.field("source", pa.string(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
        *((name, pa.string()) for name in ("id", "text", "error", "message")),
    ]
)
"""A corpus as a table: the name of each document's file; its line or row there, from 0, where empty lines count; the
record's own id, if it is a string or an integer; the text; or the code and message of an error."""


def corpus_files(paths: Iterable[Path], without: Collection[Path] = ()) -> list[CorpusFile]:
    """The files of a corpus: each path in turn, folders in sorted order with all below them, no file twice.

    Args:
        paths: files and folders.
        without: files and folders that are left out, such as the job's own output.

    Raises:
        InputUnreadable: a path does not exist; a folder cannot be listed or holds nothing to read; a named file is of
            an unknown kind. Files that cannot be opened become documents with an error later.
    """
    apart = {path.absolute() for path in without}
    found: dict[Path, CorpusFile] = {}
    for path in paths:
        try:
            files = [look_at(each) for each in _below(path) if not apart & {each.absolute(), *each.absolute().parents}]
        except OSError as error:
            raise InputUnreadable(f"cannot read {error.filename or path}: {error.strerror}") from error
        if not any(files):
            raise InputUnreadable(f"{path} is or holds no file of a kind that is read: {', '.join(_KINDS)}")
        for file in filter(None, files):
            found.setdefault(file.path.absolute(), file)
    return list(found.values())


def is_whole(name: str) -> bool:
    """Whether a file of this name is one document."""
    return name.lower().endswith(_TEXT)


def skipped(paths: Iterable[Path], without: Collection[Path] = ()) -> Counter[str]:
    """What is left out of folders: files of no kind that is read, by the end of their names, and links to folders."""
    apart, found = {path.absolute() for path in without}, Counter[str]()
    for path in paths:
        for folder, folders, names in os.walk(path):  # of a file nothing
            if apart & {Path(folder).absolute(), *Path(folder).absolute().parents}:
                continue
            others = (Path(folder, name) for name in names if not name.lower().endswith(_KINDS))
            found.update(each.suffix or each.name for each in others if each.absolute() not in apart)
            found.update("links to folders" for name in folders if Path(folder, name).is_symlink())
    return found


def _below(path: Path) -> list[Path]:
    """The readable files of a folder and of all folders in it, sorted; of a file, the file itself.

    Raises:
        OSError: the path does not exist, or a folder cannot be listed: its documents must not be left out unnoticed.
    """

    def refuse(error: OSError) -> None:
        raise error

    path.stat()
    folders = os.walk(path, onerror=refuse) if path.is_dir() else [(str(path.parent), [], [path.name])]
    paths = (Path(folder, name) for folder, _, names in folders for name in names)
    return sorted(each for each in paths if each.name.lower().endswith(_KINDS))


def look_at(path: Path) -> CorpusFile | None:
    """A file with its size and date; None for a pipe or a device, which may never end."""
    name = str(path).encode(errors="backslashreplace").decode()
    try:
        found = path.stat()
    except OSError:
        return CorpusFile(path, name, -1, 0)
    return CorpusFile(path, name, found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


_Record: TypeAlias = tuple[int, int, Mapping[str, object] | DecoderError]
"""A record's row, the bytes of the file that are read when it ends, and its fields. A field that cannot be read, or the
whole record, is an error."""


def documents(file: CorpusFile, columns: Columns) -> Iterator[tuple[dict[str, Any], int]]:
    """The documents of one file, lazily; where the file cannot be read any further, the last is an error.

    Yields:
        a row of :data:`DOCUMENTS`, and the bytes of the file that are read when it ends.
    """
    name = file.name.lower()
    read_records = _text_file if is_whole(name) else _lines if name.endswith(_LINES) else _rows
    following = 0
    try:
        for row, read, record in read_records(file, columns):
            following = row + 1
            yield {"source": file.name, "row": row} | _fields(record, columns), read
    except DecoderError as error:
        yield {"source": file.name, "row": following} | _failed(error), max(file.size, 0)


def _failed(error: DecoderError) -> dict[str, Any]:
    return {"text": "", "error": error.code, "message": str(error)}


def _fields(record: Mapping[str, object] | DecoderError, columns: Columns) -> dict[str, Any]:
    """A record's id and text, or the error that keeps it from being read."""
    if isinstance(record, DecoderError):
        return _failed(record)
    own = {"id": _id_of(record.get(columns.id)) if columns.id is not None else None}
    text = record.get(columns.text)
    if columns.text not in record:
        return own | _failed(TextMissing(f"there is no field {columns.text!r}; {_say_fields(record)}"))
    if isinstance(text, DecoderError):
        return own | _failed(text)
    if not isinstance(text, str):
        kind = "null" if text is None else f"of type {type(text).__name__}"
        return own | _failed(TextMissing(f"the field {columns.text!r} is {kind}, not text"))
    if has_surrogates(text):  # JSON can spell it
        error = f"the field {columns.text!r} holds lone surrogates, so it is not Unicode text"
        return own | _failed(NotText(error))
    return own | {"text": text}


def _say_fields(names: Iterable[str]) -> str:
    some = ", ".join(repr(name[:40]) for name in itertools.islice(names, 8))
    return f"the fields are {some or 'missing'}; --text-column names another"


def _id_of(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    return str(value).encode(errors="backslashreplace").decode()


@contextmanager
def _opened(file: CorpusFile) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """A file's bytes, unpacked, and the file itself, whose position tells how much is read."""
    try:
        with open_file(file.path) as raw:
            packed = file.name.lower().endswith(".gz")
            yield cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if packed else raw, raw
    except (OSError, EOFError, zlib.error) as error:
        raise InputUnreadable(f"cannot read {file.name}: {getattr(error, 'strerror', None) or error}") from error


def _text_file(file: CorpusFile, columns: Columns) -> Iterator[_Record]:
    with _opened(file) as (stream, raw):
        data = stream.read(MAX_BYTES + 1)
        read = raw.tell()
    if len(data) > MAX_BYTES:
        raise InputTooLarge(f"{file.name} has more than {MAX_BYTES} bytes; cut it into parts")
    yield 0, read, {columns.text: text_of(data, file.name)}


def _lines(file: CorpusFile, columns: Columns) -> Iterator[_Record]:  # noqa: ARG001
    with _opened(file) as (stream, raw):
        for row in itertools.count():
            line = rest = stream.readline(MAX_LINE + 1)
            while _is_cut(rest):
                rest = stream.readline(MAX_LINE + 1)
            if not line:
                return
            if line.strip():
                yield row, raw.tell(), _parse_line(line.removeprefix(_BOM))  # files may have been joined


def _is_cut(line: bytes) -> bool:
    return len(line) > MAX_LINE and not line.endswith(b"\n")


def _parse_line(line: bytes) -> Mapping[str, object] | DecoderError:
    if _is_cut(line):
        return InputTooLarge(f"the line has more than {MAX_LINE} bytes; cut the document into parts")
    try:
        record = json.loads(text_of(line, "the line"))
    except NotText as error:
        return error
    except (ValueError, RecursionError) as error:
        return RecordMalformed(f"the line is not JSON: {error}")
    return record if isinstance(record, dict) else RecordMalformed("the line is not a JSON object")


def _rows(file: CorpusFile, columns: Columns) -> Iterator[_Record]:
    try:
        with pq.ParquetFile(file.path, pre_buffer=False, buffer_size=_READ_AHEAD) as table:
            wanted = _wanted(table.schema_arrow, columns)
            rows = max(table.metadata.num_rows, 1)  # as the file says
            row = 0
            for group in range(table.num_row_groups):
                size = _batch_rows(table.metadata.row_group(group), wanted)
                for batch in table.iter_batches(size, row_groups=[group], columns=wanted):
                    for i in range(batch.num_rows):
                        yield row, min(file.size * (row + 1) // rows, file.size), _values(batch, i)
                        row += 1
    except (OSError, ValueError, pa.ArrowException) as error:  # ValueError: names that are not UTF-8
        raise InputUnreadable(f"cannot read {file.name} as Parquet: {str(error)[:400]}") from error


def _wanted(schema: Any, columns: Columns) -> list[str]:
    """The columns that are read: the texts, and the ids where there is one column of them, of strings or integers.

    Raises:
        TextMissing: there is no column of texts with the asked name.
    """
    if schema.names.count(columns.text) != 1:
        raise TextMissing(f"there is no column {columns.text!r}; {_say_fields(schema.names)}")
    kind = schema.field(columns.text).type
    if not _holds(kind, ids=False):
        raise TextMissing(f"the column {columns.text!r} is of type {kind}, not text")
    # Other ids are null in the results, so their values, which Python may be unable to hold, are not read.
    named = schema.names.count(columns.id) == 1 and _holds(schema.field(columns.id).type, ids=True)
    return [name for name in schema.names if name == columns.text or (named and name == columns.id)]


def _holds(kind: Any, *, ids: bool) -> bool:
    """Whether a column's values are text, or else, where they are to be ids, integers."""
    value = kind.value_type if types.is_dictionary(kind) else kind
    text = types.is_string(value) or types.is_large_string(value) or types.is_string_view(value)
    return bool(text or (ids and types.is_integer(value)))


def _batch_rows(group: Any, wanted: Collection[str]) -> int:
    """How many rows of a row group are unpacked at once: where a value repeats, each row may be as long as all of it.

    Raises:
        InputTooLarge: the average text is longer than any may be.
    """
    parts = (group.column(i) for i in range(group.num_columns))
    size = sum(part.total_uncompressed_size for part in parts if part.path_in_schema in wanted)
    if size > MAX_BYTES * max(group.num_rows, 1):
        raise InputTooLarge(f"the texts have more than {MAX_BYTES} bytes each; cut them into parts")
    return int(min(max(_BATCH_BYTES // max(size, 1), 1), _BATCH_ROWS))


def _values(batch: Any, i: int) -> dict[str, object]:
    """The fields of a row of a batch."""
    record: dict[str, object] = {}
    for name in batch.schema.names:
        value = batch.column(name)[i]
        value = value.value if hasattr(value, "dictionary") else value
        try:
            if hasattr(value, "as_buffer") and value.is_valid and value.as_buffer().size > MAX_BYTES:
                record[name] = InputTooLarge(f"the field {name!r} has more than {MAX_BYTES} bytes; cut it into parts")
            else:
                record[name] = value.as_py()
        except UnicodeDecodeError:
            record[name] = NotText(f"the field {name!r} is not UTF-8")
    return record

"""The documents of a corpus, read one at a time: plain text, JSON lines, Parquet, and archives of the web.

A document that cannot be read is a document all the same, with an error in place of its text, so that one bad line
does not end a job of days. All files may come from strangers: sizes are bounded before anything is parsed.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from ctwl_decoder.errors import DecoderError, InputTooLarge, InputUnreadable
from ctwl_decoder.files import text_of
from ctwl_decoder.options import MAX_BYTES

from ..errors import RecordMalformed, TextMissing
from .archive import archived
from .fields import Columns, Values, cells_at, is_text_at, kept_at, root, say_fields, text_at, values_at
from .files import ARCHIVES, LINES, ROWS, TEXT, CorpusFile, opened

MAX_LINE = 1 << 23
"""Longest JSON line in bytes: such a text with its escapes, and some other fields."""

# Bounds on the memory that reading a Parquet file takes; chosen by hand.
_BATCH_ROWS = 64
_BATCH_BYTES = 1 << 28
_MOST_VALUES = 1 << 26  # of one column of a row group
_READ_AHEAD = 1 << 16  # bytes for each column

_BOM = b"\xef\xbb\xbf"

_Found: TypeAlias = Iterator[tuple[int, Callable[[], dict[str, Any]]]]
"""A document's line, row or record in the file, from 0; and what gives its text and what is kept of it, or raises why
not."""


def schema_of(columns: Columns) -> pa.Schema:
    """A corpus as a table.

    Each document has its file and its line, row or record there, from 0, where empty ones count; the kept fields; the
    text, or the code and message of an error. Its row is null where the error is the file's, which is read no further.
    """
    kept = pa.struct([(path, pa.string()) for path in columns.keep])
    strings = [(name, pa.string()) for name in ("text", "error", "message")]
    return pa.schema([pa.field("source", pa.string(), nullable=False), ("row", pa.int64()), ("kept", kept), *strings])


def documents(file: CorpusFile, columns: Columns) -> Iterator[dict[str, Any]]:
    """The documents of one file, lazily, as rows of :func:`schema_of`.

    Where the file cannot be read any further, the last one is an error.
    """
    place: dict[str, Any] = {"source": file.name}
    try:
        for row, document in _READERS[file.kind](file, columns):
            try:
                yield place | {"row": row} | document()
            except DecoderError as error:
                yield place | {"row": row} | _failed(error)
    except DecoderError as error:
        yield place | {"row": None} | _failed(error)


def _failed(error: DecoderError) -> dict[str, Any]:
    return {"text": "", "error": error.code, "message": str(error)}


def _of_record(record: Callable[[], dict[str, Any]], columns: Columns) -> dict[str, Any]:
    found = record()
    return _document(partial(values_at, found), found, columns)


def _document(values: Values, names: Iterable[str], columns: Columns) -> dict[str, Any]:
    """The text of a record that has fields of some names, or why there is none, and what is kept of it."""
    own = {"kept": {path: kept_at(values, path) for path in columns.keep}}
    try:
        return own | {"text": text_at(values, columns.text, names)}
    except DecoderError as error:
        return own | _failed(error)


def _text_file(file: CorpusFile, columns: Columns) -> _Found:  # noqa: ARG001
    with opened(file) as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InputTooLarge(f"{file.name} has more than {MAX_BYTES} bytes; cut it into parts")
    text = text_of(data, file.name)
    yield 0, lambda: {"text": text}


def _lines(file: CorpusFile, columns: Columns) -> _Found:
    with opened(file) as stream:
        for row in itertools.count():
            line = rest = stream.readline(MAX_LINE + 1)
            while _is_cut(rest):
                rest = stream.readline(MAX_LINE + 1)
            if not line:
                return
            if line.strip():
                yield row, partial(_of_record, partial(_parse_line, line), columns)


def _is_cut(line: bytes) -> bool:
    return len(line) > MAX_LINE and not line.endswith(b"\n")


def _parse_line(line: bytes) -> dict[str, Any]:
    """The record of a line.

    Raises:
        InputTooLarge, NotText, RecordMalformed: it has none.
    """
    if _is_cut(line):
        raise InputTooLarge(f"the line has more than {MAX_LINE} bytes; cut the document into parts")
    try:
        record = json.loads(text_of(line.strip().removeprefix(_BOM), "the line"))  # files may have been joined
    except (ValueError, RecursionError) as error:
        raise RecordMalformed(f"the line is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise RecordMalformed("the line is not a JSON object")
    return record


def _archive(file: CorpusFile, columns: Columns) -> _Found:
    columns = replace(columns, text="text")
    with opened(file) as stream:
        for row, record in archived(stream, file.name):
            yield row, partial(_of_record, record, columns)


def _rows(file: CorpusFile, columns: Columns) -> _Found:
    try:
        with opened(file) as stream, pq.ParquetFile(stream, pre_buffer=False) as told:
            wanted = _wanted(told.schema_arrow, columns)
            lists = _texts_in_lists(told.schema, wanted)
            table = pq.ParquetFile(stream, read_dictionary=lists, pre_buffer=False, buffer_size=_READ_AHEAD)
            row = 0
            for group in range(table.num_row_groups):
                size = _batch_rows(told.metadata.row_group(group), wanted)
                for batch in table.iter_batches(size, row_groups=[group], columns=wanted):
                    for i in range(batch.num_rows):
                        yield row, partial(_of_row, batch, i, columns)
                        row += 1
    except (OSError, ValueError, pa.ArrowException) as error:  # ValueError: names that are not UTF-8
        raise InputUnreadable(f"cannot read {file.name} as Parquet: {str(error)[:400]}") from error


def _of_row(batch: pa.RecordBatch, i: int, columns: Columns) -> dict[str, Any]:
    return _document(partial(cells_at, batch, i), batch.schema.names, columns)


def _wanted(schema: pa.Schema, columns: Columns) -> list[str]:
    """The columns that are read: that of the texts, and the kept ones that are there, each if there is one of it.

    Raises:
        TextMissing: there are no texts with the asked name.
    """
    names = schema.names
    once = [name for name in names if names.count(name) == 1]
    text = root(columns.text, names)
    if text not in once:
        raise TextMissing(f"there is no column {text!r}; {say_fields(names)}")
    if not is_text_at(schema, columns.text):
        raise TextMissing(f"the column {text!r} is of type {schema.field(text).type}, with no text at {columns.text!r}")
    return [name for name in once if name in {text, *(root(path, names) for path in columns.keep)}]


def _texts_in_lists(schema: pq.ParquetSchema, wanted: Collection[str]) -> list[str]:
    """The columns of texts that lie in lists, which are read as dictionaries.

    So a value that repeats takes its place once, however long a row's list is. It holds the texts of a row group in
    memory. Other columns do without, see :func:`_batch_rows`.
    """
    parts = [schema.column(i) for i in range(len(schema))]
    texts = [part for part in parts if part.max_repetition_level and part.physical_type == "BYTE_ARRAY"]
    return [part.path for part in texts if _within(part.path, wanted)]


def _within(path: str, wanted: Collection[str]) -> bool:
    """Whether a column of values lies in one of the wanted columns."""
    return any(path == name or path.startswith(f"{name}.") for name in wanted)


def _batch_rows(group: Any, wanted: Collection[str]) -> int:
    """How many rows of a row group are unpacked at once: where a value repeats, each row may be as long as all of it.

    Raises:
        InputTooLarge: the average text is longer than any may be, or there are too many values.
    """
    every = (group.column(i) for i in range(group.num_columns))
    parts = [part for part in every if _within(part.path_in_schema, wanted)]
    size = sum(part.total_uncompressed_size for part in parts)
    if size > MAX_BYTES * max(group.num_rows, 1):
        raise InputTooLarge(f"the texts have more than {MAX_BYTES} bytes each; cut them into parts")
    if any(part.num_values > _MOST_VALUES for part in parts):
        raise InputTooLarge(f"a row group has more than {_MOST_VALUES} values; write smaller ones")
    return int(min(max(_BATCH_BYTES // max(size, 1), 1), _BATCH_ROWS))


_READERS: Mapping[str, Callable[[CorpusFile, Columns], _Found]] = {
    **dict.fromkeys(TEXT, _text_file),
    **dict.fromkeys(LINES, _lines),
    **dict.fromkeys(ROWS, _rows),
    **dict.fromkeys(ARCHIVES, _archive),
}

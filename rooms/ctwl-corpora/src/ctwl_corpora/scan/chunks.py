"""A corpus in chunks of documents that are read together; the corpus alone decides where they end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..reader import BatchReader, Progress, Row
from ..tables import RESULTS, columns_of
from .fields import Columns, result_name
from .files import CorpusFile
from .records import documents, schema_of

MOST_DOCUMENTS = 64
MOST_CHARACTERS, MOST_CHARACTERS_LIGHT = 1 << 14, 1 << 18
"""Bounds of a chunk of several documents, where the proxy LM may read each of them, and where it reads none: half a
minute of work on one core, and some seconds (docs/corpora.md has the speeds). That is what a crash can lose."""


@dataclass(frozen=True)
class Chunk:
    """Some documents of a corpus, or the rows that came of them.

    Attributes:
        number: its place in the corpus, from 0.
        table: the documents, see :func:`schema_of`; or the rows of the results, see :func:`results_schema`.
    """

    number: int
    table: pa.Table


def results_schema(columns: Columns) -> pa.Schema:
    """A scan's results: file and row of the document, the kept fields, and what was read."""
    kept = ((result_name(path), pa.string()) for path in columns.keep)
    return pa.schema([*list(schema_of(columns))[:2], *kept, *RESULTS])


def chunks_of(files: Sequence[CorpusFile], columns: Columns, *, light: bool = False) -> Iterator[Chunk]:
    """The chunks of a corpus, read one at a time.

    Args:
        files: the corpus.
        columns: the fields of records that are read.
        light: whether the proxy LM reads no document.
    """
    schema, most = schema_of(columns), MOST_CHARACTERS_LIGHT if light else MOST_CHARACTERS
    number, held, length = 0, list[dict[str, Any]](), 0
    for document in (document for file in files for document in documents(file, columns)):
        size = len(document["text"]) + sum(len(kept or "") for kept in document.get("kept", {}).values())
        if held and (len(held) == MOST_DOCUMENTS or length + size > most):
            yield Chunk(number, pa.Table.from_pylist(held, schema))
            number, held, length = number + 1, [], 0
        held.append(document)
        length += size
    if held:
        yield Chunk(number, pa.Table.from_pylist(held, schema))


@contextmanager
def counting(files: Sequence[CorpusFile], columns: Columns) -> Iterator[Callable[[], int | None]]:
    """Count the documents of a corpus beside the block; yields what gives their number, or None until it is known."""
    number, ended = Future[int](), Event()

    def count() -> None:
        counted = 0
        for file in files:
            for _ in documents(file, columns):
                counted += 1
                if ended.is_set():
                    return
        number.set_result(counted)

    Thread(target=count, daemon=True, name="ctwl-count").start()
    try:
        yield lambda: number.result() if number.done() else None
    finally:
        ended.set()


class ChunkReader(BatchReader):
    """Reads chunks, on this machine or in the workers of a cluster."""

    says_cost = False  # a scan has its own progress

    def read_chunk(self, chunk: Chunk, progress: Progress = lambda size: None) -> Chunk:
        """A chunk's rows. Documents that are errors already keep their error.

        Args:
            chunk: its documents.
            progress: called with the number of its documents that are done; a part of one counts too.
        """
        texts, errors, messages = (chunk.table[name].to_pylist() for name in ("text", "error", "message"))
        given = (None if error else text for text, error in zip(texts, errors, strict=True))
        rows = self.read(given, lambda part: progress(chunk.table.num_rows * part))
        told = [Row(error=e, message=m) if e else row for row, e, m in zip(rows, errors, messages, strict=True)]
        own, kept = chunk.table.select(["source", "row"]), chunk.table["kept"]
        for number, field in enumerate(kept.type):
            own = own.append_column(result_name(field.name), pc.struct_field(kept, [number]))
        for field, column in zip(RESULTS, columns_of(told), strict=True):
            own = own.append_column(field, column)
        return Chunk(chunk.number, own)

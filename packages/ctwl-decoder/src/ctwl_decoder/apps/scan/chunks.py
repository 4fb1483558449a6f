"""A corpus in chunks of documents that are read together; the corpus alone decides where they end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...batch.reader import BatchReader, Progress, Row
from ...batch.tables import RESULTS, columns_of
from .fields import Columns, result_name
from .files import CorpusFile
from .records import documents, schema_of

MOST_DOCUMENTS = 64
MOST_CHARACTERS = 1 << 18
"""Bounds of a chunk of several documents: minutes of work for a CPU, which is the most that a crash can lose. Chosen by
hand."""


@dataclass(frozen=True)
class Chunk:
    """Some documents of a corpus, or the rows that came of them.

    Attributes:
        number: its place in the corpus, from 0.
        size: bytes of the corpus from the end of the chunk before to its own.
        table: the documents, see :func:`schema_of`; or the rows of the results, see :func:`results_schema`.
    """

    number: int
    size: int
    table: pa.Table


def results_schema(columns: Columns) -> pa.Schema:
    """A scan's results: file and row of the document, the kept fields, and what was read."""
    kept = ((result_name(path), pa.string()) for path in columns.keep)
    return pa.schema([*list(schema_of(columns))[:2], *kept, *RESULTS])


def chunks_of(files: Sequence[CorpusFile], columns: Columns) -> Iterator[Chunk]:
    """The chunks of a corpus, read one at a time."""
    schema = schema_of(columns)
    number, held, length, start, end, offset = 0, list[dict[str, Any]](), 0, 0, 0, 0
    for file in files:
        for document, read in documents(file, columns):
            size = len(document["text"]) + sum(len(kept or "") for kept in document.get("kept", {}).values())
            if held and (len(held) == MOST_DOCUMENTS or length + size > MOST_CHARACTERS):
                yield Chunk(number, end - start, pa.Table.from_pylist(held, schema))
                number, held, length, start = number + 1, [], 0, end
            held.append(document)
            length, end = length + size, offset + read
        offset += max(file.size, 0)
    if held:
        yield Chunk(number, end - start, pa.Table.from_pylist(held, schema))


class ChunkReader(BatchReader):
    """Reads chunks, on this machine or in the workers of a cluster."""

    def read_chunk(self, chunk: Chunk, progress: Progress = lambda size: None) -> Chunk:
        """A chunk's rows. Documents that are errors already keep their error.

        Args:
            chunk: its documents.
            progress: called with the part of the chunk's size that is done.
        """
        texts, errors, messages = (chunk.table[name].to_pylist() for name in ("text", "error", "message"))
        given = (None if error else text for text, error in zip(texts, errors, strict=True))
        rows = self.read(given, lambda part: progress(chunk.size * part))
        told = [Row(error=e, message=m) if e else row for row, e, m in zip(rows, errors, messages, strict=True)]
        own, kept = chunk.table.select(["source", "row"]), chunk.table["kept"]
        for number, field in enumerate(kept.type):
            own = own.append_column(result_name(field.name), pc.struct_field(kept, [number]))
        for field, column in zip(RESULTS, columns_of(told), strict=True):
            own = own.append_column(field, column)
        return Chunk(chunk.number, chunk.size, own)

"""A corpus in chunks of documents that are decoded together; the corpus alone decides where they end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from .corpus import DOCUMENTS, Columns, CorpusFile, documents

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
        table: the documents, of :data:`DOCUMENTS`; or the rows of the results.
    """

    number: int
    size: int
    table: pa.Table


def chunks_of(files: Sequence[CorpusFile], columns: Columns) -> Iterator[Chunk]:
    """The chunks of a corpus, read one at a time."""
    number, held, length, start, end, offset = 0, list[dict[str, Any]](), 0, 0, 0, 0
    for file in files:
        for document, read in documents(file, columns):
            size = len(document["text"]) + len(document.get("id") or "")
            if held and (len(held) == MOST_DOCUMENTS or length + size > MOST_CHARACTERS):
                yield Chunk(number, end - start, pa.Table.from_pylist(held, DOCUMENTS))
                number, held, length, start = number + 1, [], 0, end
            held.append(document)
            length, end = length + size, offset + read
        offset += max(file.size, 0)
    if held:
        yield Chunk(number, end - start, pa.Table.from_pylist(held, DOCUMENTS))

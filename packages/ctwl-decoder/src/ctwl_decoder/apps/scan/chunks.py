"""A corpus in chunks of documents that are decoded together; the corpus alone decides where they end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from .corpus import Columns, CorpusFile, Document, documents

__all__ = ["Chunk", "chunks_of"]

MOST_DOCUMENTS = 64
MOST_CHARACTERS = 1 << 18
"""Bounds of a chunk of several documents: minutes of work for a CPU, which is the most that a crash can lose. Chosen by
hand. The windows of a chunk share batches of the proxy LM, which may change its weights within the tolerance."""

_PLACE = [pa.field("source", pa.string(), nullable=False), pa.field("row", pa.int64(), nullable=False)]
_DOCUMENTS = pa.schema([*_PLACE, *((name, pa.string()) for name in ("id", "text", "error", "message"))])


@dataclass(frozen=True)
class Chunk:
    """Some documents of a corpus, or the rows that came of them.

    Attributes:
        number: its place in the corpus, from 0.
        size: bytes of the corpus from the end of the chunk before to its own.
        table: the documents, with the fields of :class:`Document` as columns; or the rows of the results.
    """

    number: int
    size: int
    table: pa.Table


def chunks_of(files: Sequence[CorpusFile], columns: Columns) -> Iterator[Chunk]:
    """The chunks of a corpus, read one at a time."""
    number, held, length, before, end = 0, list[Document](), 0, 0, 0
    for document, place in _placed(files, columns):
        size = len(document.text) + len(document.id or "")
        if held and (len(held) == MOST_DOCUMENTS or length + size > MOST_CHARACTERS):
            yield Chunk(number, end - before, _table(held))
            number, held, length, before = number + 1, [], 0, end
        held.append(document)
        length, end = length + size, place
    if held:
        yield Chunk(number, end - before, _table(held))


def _placed(files: Sequence[CorpusFile], columns: Columns) -> Iterator[tuple[Document, int]]:
    """Every document, and the bytes of the corpus that are read when it ends."""
    before = 0
    for file in files:
        for document in documents(file, columns):
            yield document, before + document.read
        before += max(file.size, 0)


def _table(held: Sequence[Document]) -> pa.Table:
    return pa.Table.from_pylist([vars(document) for document in held], _DOCUMENTS)

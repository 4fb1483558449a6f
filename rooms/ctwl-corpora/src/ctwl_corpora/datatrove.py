"""Steps of a datatrove pipeline: one notes what was read, one leaves out what is marked. Both need ``datatrove``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from datatrove.data import Document
from datatrove.pipeline.base import PipelineStep
from datatrove.pipeline.filters.base_filter import BaseFilter
from datatrove.utils.batching import batched

from .reader import PREFIX, BatchReader, Row

BATCH = 64
"""Documents that are read together."""


def _noted(reader: BatchReader, documents: list[Document]) -> list[Row]:
    """The rows of documents, which are written into their metadata, too."""
    rows = reader.read(document.text for document in documents)
    for document, row in zip(documents, rows, strict=True):
        document.metadata |= {PREFIX + name: value for name, value in vars(row).items()}
    return rows


class WatermarkAnnotator(PipelineStep):  # type: ignore[misc]
    """Writes what was read of each document into its metadata, as ``ctwl_provider``, ``ctwl_p_value`` and so on."""

    name = "CTWL annotator"
    type = "🔎 - ANNOTATOR"

    def __init__(self, reader: BatchReader) -> None:
        super().__init__()
        self.reader = reader

    def run(self, data: Iterable[Document], rank: int = 0, world_size: int = 1) -> Iterator[Document]:  # noqa: ARG002
        """Pass on all documents."""
        for documents in batched(data, BATCH):
            with self.track_time("batch"):
                rows = _noted(self.reader, documents)
            for document, row in zip(documents, rows, strict=True):
                self.stat_update(str(row.outcome or row.error))
                yield document


class WatermarkFilter(BaseFilter):  # type: ignore[misc]
    """Leaves out the documents in which a code is found; it notes what :class:`WatermarkAnnotator` does.

    Documents that could not be read are kept, with ``ctwl_error`` in their metadata.
    """

    name = "CTWL filter"

    def __init__(self, reader: BatchReader, exclusion_writer: Any = None) -> None:
        super().__init__(exclusion_writer, batch_size=BATCH)
        self.reader = reader

    def filter(self, doc: Document) -> bool | tuple[bool, str]:
        """Whether to keep a document, or why not."""
        return self.filter_batch([doc])[0]

    def filter_batch(self, batch: list[Document]) -> list[bool | tuple[bool, str]]:
        """The same for several."""
        rows = _noted(self.reader, batch)
        return [(False, _reason(row)) if row.detected else True for row in rows]


def _reason(row: Row) -> str:
    """Why a document is left out, for datatrove's statistics."""
    return f"code_{row.code}" if row.provider is None else f"provider_{row.provider}"

"""Rows as columns of a table: for Hugging Face datasets, Ray Data, Spark, and whatever else has batches of columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctwl_decoder.errors import needing

from .reader import PREFIX, BatchReader, Row

with needing("scan", "a table"):
    import pyarrow as pa

_CODE = [(name, pa.int32()) for name in ("code", "provider", "version", "nonce")]
_RECORD = pa.struct([("layout", pa.string()), ("codes", pa.list_(pa.int32())), ("p_value", pa.float64())])
_SPAN = [("start", pa.int32()), ("end", pa.int32()), *_CODE, ("p_value", pa.float64()), ("record", _RECORD)]

RESULTS = pa.schema(
    [
        ("detected", pa.bool_()),
        ("outcome", pa.string()),
        ("read", pa.string()),
        ("profile", pa.string()),
        *_CODE,
        ("p_value", pa.float64()),
        ("record", _RECORD),
        ("tokens", pa.int32()),
        ("spans", pa.list_(pa.struct(_SPAN))),
        ("error", pa.string()),
        ("message", pa.string()),
    ]
)
"""The fields of :class:`.Row` as columns."""


def columns_of(rows: Iterable[Row]) -> pa.Table:
    """Rows as a table of :data:`RESULTS`."""
    return pa.Table.from_pylist([vars(row) for row in rows], RESULTS)


@dataclass
class TableReader(BatchReader):
    """Reads a column of a batch, and returns the batch with our columns beside its own.

    ``datasets.Dataset.map(batched=True)``, ``ray.data.Dataset.map_batches`` and Spark's ``mapInArrow`` call it;
    docs/pipelines.md shows how.

    Attributes:
        column: the column of the texts.
    """

    column: str = "text"

    def __call__(self, batch: pa.Table | Mapping[str, Sequence[Any]]) -> pa.Table:
        """Read a batch: a table, or columns by name.

        Returns:
            A table of the batch's columns and those of :data:`RESULTS`, whose names begin with ``ctwl_``.

        Raises:
            KeyError: there is no such column.
            CTWLError: see :attr:`decoders`.
        """
        table = batch if isinstance(batch, pa.Table) else pa.table({name: list(batch[name]) for name in batch})
        for name, column in zip(RESULTS.names, columns_of(self.read(table[self.column].to_pylist())), strict=True):
            place = PREFIX + name
            if place in table.column_names:
                table = table.drop_columns(place)
            table = table.append_column(place, column)
        return table

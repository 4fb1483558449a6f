"""Documents in, rows out: what decodes a corpus, on this machine or in the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from ...decoder import Decoder
from ...errors import ExtraMissing, InputTooLarge, NotText, ScanSettingsDiffer, TextMissing
from ...report.wording import ADD_LIGHT
from .chunks import Chunk
from .corpus import DOCUMENTS
from .settings import Settings

_MARGIN = 100
"""A light scan reads by the scores of its screen, so it reads on where the screen is within so many times the level.
Chosen by hand: of unmarked documents it lets one in a hundred pass."""

_CODE = [(name, pa.int32()) for name in ("code", "provider", "version", "nonce")]
_RECORD = pa.struct([("layout", pa.string()), ("codes", pa.list_(pa.int32())), ("p_value", pa.float64())])
_SPAN = [("start", pa.int32()), ("end", pa.int32()), *_CODE, ("p_value", pa.float64()), ("record", _RECORD)]
_RESULTS = pa.schema(
    [
        ("detected", pa.bool_()),
        ("outcome", pa.string()),
        ("read", pa.string()),
        *_CODE,
        ("p_value", pa.float64()),
        ("record", _RECORD),
        ("tokens", pa.int32()),
        ("spans", pa.list_(pa.struct(_SPAN))),
        ("error", pa.string()),
        ("message", pa.string()),
    ]
)

SCHEMA = pa.schema([*list(DOCUMENTS)[:3], *_RESULTS])
"""A scan's results: file, row and id of the document; fields of :class:`ctwl_decoder.Report`, or an error.

``code``, the fields read from it and ``record`` are null unless ``detected``. ``spans`` count in characters. ``read``
says how far a document was read: "screen" where the screen showed nothing, and then ``p_value`` is null; else "light"
or "whole".
"""


@dataclass
class DocumentDecoder:
    """Decodes tables of documents. It can be pickled; each process opens the proxy LM once, when it first needs it.

    ``scan`` calls it, and so can ``ray.data.Dataset.map_batches``, ``datasets.Dataset.map`` and Spark's ``mapInArrow``;
    docs/corpora.md shows how.

    Attributes:
        settings: the settings.
        proxy_path: see :meth:`ctwl_decoder.Decoder.open`; a path on every machine.
        device: see :meth:`ctwl_decoder.Decoder.open`.
        arithmetic: what the proxy LM must compute in; None for what this machine chooses, and set to it when the proxy
            LM is loaded.
    """

    settings: Settings
    proxy_path: str | Path | None = None
    device: str = "cpu"
    arithmetic: str | None = None

    @cached_property
    def decoder(self) -> Decoder:
        """The decoder, with its proxy LM loaded where the scan is not a light one: what is missing shows at once.

        Raises:
            ExtraMissing: a package is not installed that the proxy LM needs.
            ScanSettingsDiffer: this machine chooses another arithmetic.
            CTWLError: see :meth:`ctwl_decoder.Decoder.open`.
        """
        settings = self.settings
        decoder = Decoder.open(
            settings.profile, proxy_path=self.proxy_path, device=self.device, registry=settings.registry
        )
        try:
            arithmetic = "integer" if settings.light else decoder.load()
        except ExtraMissing as error:
            raise ExtraMissing(f"{error}. {ADD_LIGHT}") from error
        if self.arithmetic not in (None, arithmetic):
            raise ScanSettingsDiffer(
                f"the proxy LM computes in {arithmetic} on this machine and in {self.arithmetic} where the scan "
                "began; use --device cpu, or machines of one kind"
            )
        self.arithmetic = arithmetic
        return decoder

    @property
    def computes_in(self) -> str:
        """What the proxy LM computes in; "integer" where it is not asked."""
        return "integer" if self.settings.light else self.decoder.load()

    def __getstate__(self) -> dict[str, Any]:
        """All but the decoder, which each process opens for itself."""
        return {name: value for name, value in vars(self).items() if name != "decoder"}

    def __call__(self, documents: pa.Table, progress: Callable[[float], None] = lambda part: None) -> pa.Table:
        """Decode a table of documents.

        Args:
            documents: with a column ``text`` and any others. If there is a column ``error``, documents where it is not
                null are not decoded, and keep their ``error`` and ``message``.
            progress: called with the part of the characters that is done.

        Returns:
            The table with the columns of :data:`SCHEMA` from ``detected`` on.
        """
        names = documents.column_names
        records = documents.select([name for name in ("text", "error", "message") if name in names]).to_pylist()
        for record in records:
            if record.get("error") is None and not isinstance(record["text"], str):
                record |= {"error": TextMissing.code, "message": "the column 'text' holds no text here"}
        undecoded = [record for record in records if record.get("error") is None]
        done, total = 0, sum(len(record["text"]) for record in undecoded)
        for record in undecoded:
            size = len(record["text"])
            record.update(self._row(record["text"], _within(done, size, total, progress)))
            done += size
        results = pa.Table.from_pylist(records, _RESULTS)
        table = documents.drop_columns([name for name in results.column_names if name in names])
        for field, column in zip(results.schema, results.columns, strict=True):
            table = table.append_column(field, column)
        return table

    def decode_chunk(self, chunk: Chunk, progress: Callable[[float], None] = lambda size: None) -> Chunk:
        """A chunk's rows, of :data:`SCHEMA`.

        Args:
            chunk: its documents.
            progress: called with the part of the chunk's size that is done.
        """
        rows = self(chunk.table, lambda part: progress(chunk.size * part))
        return Chunk(chunk.number, chunk.size, rows.select(SCHEMA.names))

    def _row(self, text: str, progress: Callable[[int, int], None]) -> dict[str, Any]:
        """A document's results, or its error."""
        settings = self.settings
        options: Any = {"score": "light" if settings.light else "whole", "beacons": settings.beacons}
        try:
            if settings.screen is not None:
                level = min(settings.screen, _MARGIN * settings.alpha) if settings.light else settings.screen
                outcome, tokens = self.decoder.screened(text, level, alpha=settings.alpha, **options)
                if outcome is not None:
                    return {"detected": False, "outcome": outcome, "read": "screen", "tokens": tokens, "spans": []}
            report = self.decoder.decode(text, alpha=settings.alpha, progress=progress, **options)
        except (NotText, InputTooLarge) as error:
            return {"error": error.code, "message": str(error)}
        return report.model_dump(include=set(_RESULTS.names))


def _within(done: int, size: int, total: int, progress: Callable[[float], None]) -> Callable[[int, int], None]:
    """The progress inside one document of ``size`` characters, as a part of ``total`` characters."""
    return lambda part, positions: progress((done + size * part / max(positions, 1)) / total)

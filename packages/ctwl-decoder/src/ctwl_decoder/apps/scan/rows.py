"""From documents to rows of the results, and what the rows come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ctwl_protocol
from ctwl_protocol import CTWLError

from ... import __version__
from ...errors import InputTooLarge, NotText
from .corpus import Document, require_arrow
from .work import FORMAT, Settings

if TYPE_CHECKING:
    import pyarrow as pa

    from ...decoder import Decoder
    from ...report.model import Report

__all__ = ["Summary", "decode_chunk", "metadata_of", "schema"]


def schema(settings: Settings | None = None) -> pa.Schema:
    """The columns of the results; with settings, also what they follow from, as metadata.

    ``source`` and ``row`` say where the document is, ``id`` what it calls itself. ``detected`` is null where ``error``
    is not. ``code``, the fields read from it and ``record`` are null unless detected, ``p_value`` is there either way.
    ``spans`` count in characters. ``tokens`` below the metadata's ``ctwl.needed`` are too few to judge.
    """
    import pyarrow as pa

    require_arrow()
    code = [(name, pa.int32()) for name in ("code", "provider", "version", "nonce")]
    p_value = ("p_value", pa.float64())
    record = ("record", pa.struct([("layout", pa.string()), ("codes", pa.list_(pa.int32())), p_value]))
    span = pa.struct([("start", pa.int32()), ("end", pa.int32()), *code, p_value, record])
    columns = [
        pa.field("source", pa.string(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
        ("id", pa.string()),
        ("detected", pa.bool_()),
        *code,
        p_value,
        record,
        ("tokens", pa.int32()),
        ("spans", pa.list_(span)),
        ("error", pa.string()),
        ("message", pa.string()),
    ]
    return pa.schema(columns, metadata=None if settings is None else metadata_of(settings))


def metadata_of(settings: Settings) -> dict[str, str]:
    """What rows follow from, for the metadata of their file."""
    from ...search.plan import minimum_tokens

    needed = minimum_tokens(settings.profile, settings.alpha, settings.registry, settings.beacons, settings.score)
    return {
        "ctwl.format": FORMAT,
        "ctwl.profile": settings.profile.name,
        "ctwl.profile_digest": settings.profile.digest,
        "ctwl.alpha": repr(settings.alpha),
        "ctwl.score": settings.score,
        "ctwl.searched": str(settings.searched),
        "ctwl.needed": str(needed),
        "ctwl.decoder": __version__,
        "ctwl.protocol": ctwl_protocol.__version__,
    }


def decode_chunk(
    decoder: Decoder,
    chunk: Sequence[Document],
    settings: Settings,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> pa.Table:
    """The rows of some documents, in their order, of :func:`schema`.

    Args:
        decoder: a decoder of the settings' profile.
        chunk: the documents; those with an error become rows that say so.
        settings: the settings.
        progress: called with the positions done and their number.
    """
    import pyarrow as pa

    reports = iter(_reports(decoder, [d.text for d in chunk if d.error is None], settings, progress))
    rows = []
    for document in chunk:
        row: dict[str, Any] = {"source": document.source, "row": document.row, "id": document.id}
        found = None if document.error is not None else next(reports)
        if found is None:
            row |= {"error": document.error, "message": document.message}
        elif isinstance(found, CTWLError):
            row |= {"error": found.code, "message": str(found)}
        else:
            row |= found.model_dump(include={"detected", "p_value", "tokens", "spans"})
            if found.detected:
                row |= found.model_dump(include={"code", "provider", "version", "nonce", "record"})
        rows.append(row)
    return pa.Table.from_pylist(rows, schema())


def _reports(
    decoder: Decoder, texts: list[str], settings: Settings, progress: Callable[[int, int], None]
) -> list[Report | CTWLError]:
    if not texts:
        return []
    try:
        analyses = decoder.analyse_all(
            texts, alpha=settings.alpha, score=settings.score, beacons=settings.beacons, progress=progress
        )
    except (NotText, InputTooLarge) as error:
        if len(texts) == 1:
            return [error]
        # raised before any work, and it does not say for which: every text answers for itself
        return [one for text in texts for one in _reports(decoder, [text], settings, progress)]
    return [analysis.report for analysis in analyses]


@dataclass(frozen=True)
class Summary:
    """What came out of a job, counted in its output.

    Attributes:
        documents: rows.
        found: documents in which a code was found, by "provider P:V", or by "code N" where codes are no beacons.
        too_short: documents in which none was found, and that hardly any code could be found in.
        errors: documents that could not be decoded, by the code of the error.
        examples: where the first document of each error is.
    """

    documents: int
    found: Counter[str]
    too_short: int
    errors: Counter[str]
    examples: dict[str, str]

    @classmethod
    def of(cls, output: Path) -> Summary:
        """Count the rows of a finished job."""
        import pyarrow.parquet as pq

        names = ["source", "row", "detected", "provider", "version", "code", "tokens", "error"]
        rows, too_short = 0, 0
        found: Counter[str] = Counter()
        errors: Counter[str] = Counter()
        examples: dict[str, str] = {}
        with pq.ParquetFile(output) as table:
            needed = int(table.schema_arrow.metadata[b"ctwl.needed"])
            for batch in table.iter_batches(columns=names):
                rows += batch.num_rows
                columns = (batch.column(name).to_pylist() for name in names)
                for source, row, detected, provider, version, code, tokens, error in zip(*columns, strict=True):
                    if error is not None:
                        errors[error] += 1
                        examples.setdefault(error, f"{source}, row {row}")
                    elif detected:
                        found[f"code {code}" if provider is None else f"provider {provider}:{version}"] += 1
                    elif tokens < needed:
                        too_short += 1
        return cls(rows, found, too_short, errors, examples)

    def __str__(self) -> str:
        """The summary for people."""
        lines = [f"documents  {self.documents}", f"found      {self.found.total()}"]
        lines += [f"           {count} of {who}" for who, count in self.found.most_common(20)]
        if len(self.found) > 20:
            lines.append(f"           and of {len(self.found) - 20} more")
        lines.append(f"too short  {self.too_short}")
        lines.append(f"errors     {self.errors.total()}")
        for code, count in self.errors.most_common():
            lines.append(f"           {count} {code}, first in {self.examples[code]}")
        return "\n".join(lines)

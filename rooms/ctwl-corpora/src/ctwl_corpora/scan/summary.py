"""What a scan found, counted in its output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from .files import TEXT, kind_of

_NAMED = 20  # providers, and files, that the summary for people names

_WAYS = {"screened": "by the screen alone", "light": "by ranks alone", "whole": "whole"}


@dataclass(frozen=True)
class Summary:
    """The counts of a finished job.

    Attributes:
        documents: rows.
        found: documents in which a code was found, by "provider P:V", or by "code N" where codes are not beacons.
        read: documents by how far they were read.
        too_short: documents that are too short for a verdict.
        errors: documents that could not be decoded, by the code of the error.
        examples: the place of the first document with each error.
        before: documents that were done before the job went on.
        skipped: what the corpus's folders hold and nothing reads.
        broken: files that could not be read, or not to their end, with the reason.
    """

    documents: int
    found: Counter[str]
    read: Counter[str]
    too_short: int
    errors: Counter[str]
    examples: dict[str, str]
    before: int = 0
    skipped: Sequence[str] = ()
    broken: Sequence[str] = ()

    @property
    def left_out(self) -> list[str]:
        """Lines that name the files which were not read, or not to their end."""
        every = [f"skipped {name}, which nothing here reads" for name in self.skipped] + list(self.broken)
        return every[:_NAMED] + [f"and {len(every) - _NAMED} files more"] * (len(every) > _NAMED)

    @classmethod
    def of(cls, output: Path, before: int = 0, skipped: Sequence[str] = ()) -> Summary:
        """Count the rows of a finished job."""
        outcomes, found, read, errors = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
        examples, broken = dict[str, str](), list[str]()
        with pq.ParquetFile(output) as table:
            for batch in table.iter_batches(
                columns=["source", "row", "outcome", "read", "provider", "version", "code", "error", "message"]
            ):
                for row in batch.to_pylist():
                    outcomes[row["outcome"]] += 1
                    read[row["read"]] += row["read"] is not None
                    if row["error"] is not None:
                        errors[row["error"]] += 1
                        examples.setdefault(row["error"], _place(row["source"], row["row"]))
                        broken += [f"{row['source']} is not read to its end: {row['message']}"] * (row["row"] is None)
                    elif row["outcome"] == "found":
                        beacon = f"provider {row['provider']}:{row['version']}"
                        found[beacon if row["provider"] is not None else f"code {row['code']}"] += 1
        return cls(outcomes.total(), found, read, outcomes["too-short"], errors, examples, before, skipped, broken)

    def __str__(self) -> str:
        """The summary for people."""
        lines = [f"documents  {self.documents}"]
        lines += [f"           {self.before} of {self.documents} were done before"] * (self.before > 0)
        lines.append(f"found      {self.found.total()}")
        lines += [f"           {count} of {who}" for who, count in self.found.most_common(_NAMED)]
        if len(self.found) > _NAMED:
            lines.append(f"           and of {len(self.found) - _NAMED} more")
        lines.append(
            "read       " + ", ".join(f"{self.read[way]} {how}" for way, how in _WAYS.items() if self.read[way])
        )
        lines += [f"too short  {self.too_short}", f"errors     {self.errors.total()}"]
        lines += [f"           {n} {code}, first in {self.examples[code]}" for code, n in self.errors.most_common()]
        return "\n".join(lines)


def _place(source: str, row: int | None) -> str:
    return source if row is None or kind_of(source) in TEXT else f"{source}, row {row}"

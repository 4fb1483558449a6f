"""What a scan found, counted in its output."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from .corpus import is_whole

_NAMED = 20  # providers that the summary for people names

_WAYS = {"screen": "by the screen alone", "light": "by ranks alone", "whole": "whole"}


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
    """

    documents: int
    found: Counter[str]
    read: Counter[str]
    too_short: int
    errors: Counter[str]
    examples: dict[str, str]
    before: int = 0

    @classmethod
    def of(cls, output: Path, before: int = 0) -> Summary:
        """Count the rows of a finished job."""
        outcomes, found, read, errors = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
        examples: dict[str, str] = {}
        with pq.ParquetFile(output) as table:
            for batch in table.iter_batches(
                columns=["source", "row", "outcome", "read", "provider", "version", "code", "error"]
            ):
                for row in batch.to_pylist():
                    outcomes[row["outcome"]] += 1
                    read[row["read"]] += row["read"] is not None
                    if row["error"] is not None:
                        errors[row["error"]] += 1
                        examples.setdefault(row["error"], _place(row["source"], row["row"]))
                    elif row["outcome"] == "found":
                        beacon = f"provider {row['provider']}:{row['version']}"
                        found[beacon if row["provider"] is not None else f"code {row['code']}"] += 1
        return cls(outcomes.total(), found, read, outcomes["too-short"], errors, examples, before)

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


def _place(source: str, row: int) -> str:
    return source if is_whole(source) else f"{source}, row {row}"

"""What a scan is: its settings, and the corpus cut into chunks by rules that depend on nothing but the corpus."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ctwl_protocol import Profile
from ctwl_protocol.registry import Trusted, load_trusted

from ... import __version__
from ...errors import OptionOutOfRange
from ...options import ALPHA, ScoreName, beacon_codes, check_alpha
from .corpus import Columns, CorpusFile, Document, documents

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from ...decoder import Decoder


__all__ = ["FORMAT", "Chunk", "Decoded", "Engine", "Settings", "Watch", "Work"]

FORMAT = "ctwl-scan/2"
"""Version of the results' columns, of their metadata and of the settings."""

CHUNK_DOCUMENTS = 64
"""Most documents of a chunk."""

CHUNK_CHARACTERS = 1 << 18
"""Most characters of a chunk of more than one document: minutes of work for a CPU, the most that a kill can lose."""


BATCH_WINDOWS = 128
"""Windows in one forward pass: a scan always has enough of them, and wide matrix units like more than a decoder's
(evaluation/bench.py)."""


@dataclass(frozen=True)
class Settings:
    """What a document's row follows from, besides the document.

    Attributes:
        profile: the profile.
        alpha, score, beacons: see :meth:`ctwl_decoder.Decoder.decode`; the beacons are (provider, version) pairs.
        columns: the fields that are read.
        registry: which beacons and layouts are registered, and by whom.
        chunk: most documents and most characters of a chunk. The proxy sees a chunk's documents together, and in which
            company a window is computed may move its weights within the profile's tolerance.

    Raises:
        OptionOutOfRange, FieldOutOfRange: as :meth:`ctwl_decoder.Decoder.decode` would, but before any work.
        RegistryError: see :func:`ctwl_protocol.registry.load_trusted`.
    """

    profile: Profile
    alpha: float = ALPHA
    score: ScoreName = "both"
    beacons: tuple[tuple[int, int], ...] | None = None
    columns: Columns = field(default_factory=Columns)
    registry: Trusted = field(default_factory=load_trusted, repr=False)
    chunk: tuple[int, int] = (CHUNK_DOCUMENTS, CHUNK_CHARACTERS)

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        if min(self.chunk) < 1:
            raise OptionOutOfRange(f"a chunk is bounded by {self.chunk}; both must be at least 1")
        _ = self.searched  # beacons that there are not are refused here

    @property
    def searched(self) -> int:
        """How many codes are searched."""
        return self.profile.codes if self.beacons is None else len(beacon_codes(self.profile, self.beacons))

    def open_decoder(self, proxy_path: str | Path | None, device: str) -> Decoder:
        """Open the decoder that makes the rows; where and on what, see :meth:`ctwl_decoder.Decoder.open`."""
        from ctwl_protocol.proxy import open_proxy  # brings torch, which takes seconds to load

        from ...decoder import Decoder

        proxy = open_proxy(self.profile, path=proxy_path, device=device, batch_size=BATCH_WINDOWS, fast=True)
        return Decoder(proxy, registry=self.registry)

    def document(self, files: Sequence[CorpusFile]) -> dict[str, Any]:
        """Everything that the rows of these files follow from, as JSON; the profile's key is not in it."""
        return {
            "format": FORMAT,
            "version": __version__,
            "profile": self.profile.name,
            "profile_digest": self.profile.digest,
            "alpha": self.alpha,
            "score": self.score,
            "beacons": None if self.beacons is None else [list(pair) for pair in sorted(set(self.beacons))],
            "columns": asdict(self.columns),
            "registry": hashlib.sha256(self.registry.registry_bytes).hexdigest(),
            "chunk": list(self.chunk),
            "inputs": [[file.name, file.size, file.mtime_ns] for file in files],
        }


@dataclass(frozen=True)
class Chunk:
    """Documents that are decoded together.

    Attributes:
        number: its place in the job, from 0.
        documents: the documents, one at least.
        size: bytes of the corpus from the end of the chunk before to its own.
    """

    number: int
    documents: list[Document]
    size: int


@dataclass(frozen=True)
class Work:
    """The chunks of a corpus that are still to be decoded; going through it reads the corpus, one chunk at a time.

    Attributes:
        files: the corpus.
        settings: the settings.
        done: numbers of the chunks that are left out.
    """

    files: list[CorpusFile]
    settings: Settings
    done: frozenset[int] = frozenset()

    def __iter__(self) -> Iterator[Chunk]:
        most, longest = self.settings.chunk
        number, held, length, before, end = 0, list[Document](), 0, 0, 0
        for document, place in self._documents():
            size = len(document.text) + len(document.id or "")
            if held and (len(held) == most or length + size > longest):
                if number not in self.done:
                    yield Chunk(number, held, end - before)
                number, held, length, before = number + 1, [], 0, end
            held.append(document)
            length, end = length + size, place
        if held and number not in self.done:
            yield Chunk(number, held, end - before)

    def _documents(self) -> Iterator[tuple[Document, int]]:
        """Every document with the bytes of the corpus that are read when it ends."""
        before = 0
        for file in self.files:
            for document in documents(file, self.settings.columns):
                yield document, before + document.read
            before += max(file.size, 0)


@dataclass(frozen=True)
class Decoded:
    """A chunk's rows: its number, its size in bytes of the corpus, and the table."""

    number: int
    size: int
    table: pa.Table


Engine = Callable[[Work], Iterable[Decoded]]
"""What decodes the chunks of a job, in any order: :func:`here`, or a cluster (:mod:`ctwl_decoder.apps.scan.ray`)."""


class Watch:
    """Follows a job; this one looks on in silence."""

    def begin(self, total: int, done: int) -> None:
        """So many bytes of corpus there are, and so many of them are done."""

    def inside(self, size: float) -> None:
        """So many bytes of the chunk at hand are done."""

    def add(self, decoded: Decoded) -> None:
        """A chunk is done."""

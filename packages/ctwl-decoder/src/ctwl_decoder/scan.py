"""``ctwl-decode scan``: decode a corpus as a job that survives being killed.

The corpus is cut into chunks by rules that depend on nothing but the corpus. Each chunk's rows are written as one part,
whole or not at all, in a folder beside the output; what a killed job has written is not computed again. At the end the
parts become the output, whole or not at all. ``settings.json`` in that folder states what the rows follow from: a job
that is taken up again with anything else is refused.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import ctwl_protocol
from ctwl_protocol import STANDARD, Beacon, CTWLError, Profile, get_profile, published_names
from ctwl_protocol.codes import BEACON_BITS

from . import __version__
from .corpus import Columns, CorpusFile, Document, changed_files, corpus_files, documents, require_arrow
from .errors import (
    InputTooLarge,
    InputUnreadable,
    NotText,
    OptionOutOfRange,
    OutputExists,
    ScanRunning,
    ScanSettingsDiffer,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from .decode import Decoder
    from .report import Report

__all__ = ["Chunk", "Decoded", "Settings", "Summary", "Watch", "Work", "add_arguments", "decode_chunk", "here", "main"]
__all__ += ["run", "scan", "schema"]

FORMAT = "ctwl-scan/1"
"""Version of the results' columns, of their metadata and of the settings."""

CHUNK_DOCUMENTS = 64
"""Most documents of a chunk."""

CHUNK_CHARACTERS = 1 << 18
"""Most characters of a chunk of more than one document: minutes of work for a CPU, the most that a kill can lose."""

_GROUP_ROWS, _GROUP_BYTES = 1 << 16, 1 << 24  # of a row group of the output


# ---- what a job is ----


@dataclass(frozen=True)
class Settings:
    """What a document's row follows from, besides the document.

    Attributes:
        profile: the profile.
        alpha, score, beacons: see :meth:`ctwl_decoder.Decoder.decode`; the beacons are (provider, version) pairs.
        columns: the fields that are read.
        chunk: most documents and most characters of a chunk. The proxy sees a chunk's documents together, and in which
            company a window is computed may move its weights within the profile's tolerance.

    Raises:
        OptionOutOfRange, FieldOutOfRange: as :meth:`ctwl_decoder.Decoder.decode` would, but before any work.
    """

    profile: Profile
    alpha: float = 1e-4
    score: Literal["soft", "count"] = "soft"
    beacons: tuple[tuple[int, int], ...] | None = None
    columns: Columns = field(default_factory=Columns)
    chunk: tuple[int, int] = (CHUNK_DOCUMENTS, CHUNK_CHARACTERS)

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise OptionOutOfRange(f"alpha is {self.alpha}; it must lie between 0 and 1")
        if self.beacons is not None and (not self.beacons or self.profile.code_bits != BEACON_BITS):
            raise OptionOutOfRange(f"{self.profile.name} has no such beacons; search all codes")
        if min(self.chunk) < 1:
            raise OptionOutOfRange(f"a chunk is bounded by {self.chunk}; both must be at least 1")
        for provider, version in self.beacons or ():
            Beacon.codes_of(provider, version)

    @property
    def searched(self) -> int:
        """How many codes are searched."""
        if self.beacons is None:
            return self.profile.codes
        return len({code for provider, version in self.beacons for code in Beacon.codes_of(provider, version)})

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
"""What decodes the chunks of a job, in any order: :func:`here`, or a cluster (:mod:`ctwl_decoder.ray`)."""


class Watch:
    """Follows a job; this one looks on in silence."""

    def begin(self, total: int, done: int) -> None:
        """So many bytes of corpus there are, and so many of them are done."""

    def inside(self, size: float) -> None:
        """So many bytes of the chunk at hand are done."""

    def add(self, decoded: Decoded) -> None:
        """A chunk is done."""


# ---- from documents to rows ----


def schema(settings: Settings | None = None) -> pa.Schema:
    """The columns of the results; with settings, also what they follow from, as metadata.

    ``source`` and ``row`` say where the document is, ``id`` what it calls itself. ``detected`` is null where ``error``
    is not. ``code`` and the fields read from it are null unless detected, ``p_value`` is there either way. ``spans``
    count in characters. ``tokens`` below the metadata's ``ctwl.needed`` are too few to judge.
    """
    import pyarrow as pa

    require_arrow()
    code = [(name, pa.int32()) for name in ("code", "provider", "version", "nonce")]
    span = pa.struct([("start", pa.int32()), ("end", pa.int32()), *code, ("p_value", pa.float64())])
    columns = [
        pa.field("source", pa.string(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
        ("id", pa.string()),
        ("detected", pa.bool_()),
        *code,
        ("p_value", pa.float64()),
        ("tokens", pa.int32()),
        ("spans", pa.list_(span)),
        ("error", pa.string()),
        ("message", pa.string()),
    ]
    return pa.schema(columns, metadata=None if settings is None else _metadata(settings))


def _metadata(settings: Settings) -> dict[str, str]:
    from .decode import needed_tokens

    return {
        "ctwl.format": FORMAT,
        "ctwl.profile": settings.profile.name,
        "ctwl.profile_digest": settings.profile.digest,
        "ctwl.alpha": repr(settings.alpha),
        "ctwl.score": settings.score,
        "ctwl.searched": str(settings.searched),
        "ctwl.needed": str(needed_tokens(settings.profile, settings.alpha, settings.searched)),
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
                row |= found.model_dump(include={"code", "provider", "version", "nonce"})
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


def here(opened: Callable[[], Decoder], watch: Watch | None = None) -> Engine:
    """The engine that decodes on this machine, one chunk after the other.

    Args:
        opened: opens the decoder, when the first chunk is there.
        watch: told how far a chunk is.
    """
    inside = (watch or Watch()).inside

    def decode(work: Work) -> Iterator[Decoded]:
        decoder: Decoder | None = None
        for chunk in work:
            decoder = decoder or opened()
            progress = partial(_inside, inside, chunk.size)
            yield Decoded(chunk.number, chunk.size, decode_chunk(decoder, chunk.documents, work.settings, progress))

    return decode


def _inside(inside: Callable[[float], None], size: int, done: int, total: int) -> None:
    inside(size * done / max(total, 1))


# ---- the job ----


@dataclass(frozen=True)
class Summary:
    """What came out of a job, counted in its output.

    Attributes:
        documents: rows.
        found: documents in which a code was found, by "provider P:V", or by "code N" where codes are no beacons.
        too_short: documents in which none was found, and that hardly any code could be found in.
        errors: documents that could not be decoded, by the code of the error.
    """

    documents: int
    found: Counter[str]
    too_short: int
    errors: Counter[str]

    @classmethod
    def of(cls, output: Path) -> Summary:
        """Count the rows of a finished job."""
        import pyarrow.parquet as pq

        names = ["detected", "provider", "version", "code", "tokens", "error"]
        rows, too_short = 0, 0
        found: Counter[str] = Counter()
        errors: Counter[str] = Counter()
        with pq.ParquetFile(output) as table:
            needed = int(table.schema_arrow.metadata[b"ctwl.needed"])
            for batch in table.iter_batches(columns=names):
                rows += batch.num_rows
                columns = (batch.column(name).to_pylist() for name in names)
                for detected, provider, version, code, tokens, error in zip(*columns, strict=True):
                    if error is not None:
                        errors[error] += 1
                    elif detected:
                        found[f"code {code}" if provider is None else f"provider {provider}:{version}"] += 1
                    elif tokens < needed:
                        too_short += 1
        return cls(rows, found, too_short, errors)

    def __str__(self) -> str:
        """The summary for people."""
        lines = [f"documents  {self.documents}", f"found      {self.found.total()}"]
        lines += [f"           {count} of {who}" for who, count in self.found.most_common(20)]
        if len(self.found) > 20:
            lines.append(f"           and of {len(self.found) - 20} more")
        lines.append(f"too short  {self.too_short}")
        errors = ", ".join(f"{count} {code}" for code, count in self.errors.most_common())
        lines.append(f"errors     {self.errors.total()}" + (f": {errors}" if errors else ""))
        return "\n".join(lines)


def parts_of(output: Path) -> Path:
    """The folder in which a job keeps its parts until it is done."""
    return output.with_name(output.name + ".parts")


def scan(
    paths: Iterable[Path],
    output: Path,
    settings: Settings,
    engine: Engine,
    *,
    restart: bool = False,
    overwrite: bool = False,
    watch: Watch | None = None,
) -> Summary:
    """Decode a corpus into a Parquet file of :func:`schema`, or go on where a killed job left off.

    Args:
        paths: files and folders.
        output: the Parquet file.
        settings: the settings.
        engine: what decodes the chunks.
        restart: forget what an unfinished job has done, and replace a finished one.
        overwrite: replace a finished job's output.
        watch: told how far the job is.

    Raises:
        InputUnreadable: see :func:`corpus_files`; a file changed while it was read.
        OutputExists: the output is there, and is not to be replaced.
        ScanSettingsDiffer: an unfinished job has other inputs or settings.
        ExtraMissing: pyarrow is not installed.
        OSError: the parts or the output cannot be written.
    """
    require_arrow()
    folder, paths = parts_of(output), list(paths)
    files = corpus_files(paths, without=[output, folder])
    document = settings.document(files)
    metadata = _metadata(settings) | {"ctwl.settings": _digest(document)}
    if output.is_dir():
        raise OutputExists(f"{output} is a folder; name a file")
    if output.exists() and not (folder.is_dir() or restart or overwrite):
        raise OutputExists(f"{output} is there already; --overwrite replaces it")
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        if restart:
            _clear(folder)
        elif output.exists() and _settings_of(output) == metadata["ctwl.settings"]:
            _clear(folder)  # killed at the very end, or about to do the same again
            return Summary.of(output)
        _take_up(folder, document)
        chunks = _decode(folder, Work(files, settings), engine, watch or Watch())
        if changed := changed_files(files):
            raise InputUnreadable(
                f"{changed[0].name} changed while it was read, so the rows do not belong together; when it is at rest, "
                "run the command again with --restart"
            )
        _write(output, lambda path: _merge(path, folder, chunks, metadata), scratch=folder / "merged.new")
        _clear(folder)
    return Summary.of(output)


def _decode(folder: Path, work: Work, engine: Engine, watch: Watch) -> int:
    """Write the parts that are not there yet; returns the number of chunks."""
    known = _known(folder, work)
    watch.begin(sum(max(file.size, 0) for file in work.files), sum(known.values()))
    chunks = len(known)
    for decoded in engine(Work(work.files, work.settings, frozenset(known))):
        _write(_part(folder, decoded.number), partial(_write_table, decoded.table))
        chunks += 1
        watch.add(decoded)
    return chunks


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes out of a job's folder, which goes with its last file; the system forgets a dead one's claim.

    Raises:
        ScanRunning: another process is at work there.
    """
    lock = folder / "lock"
    with lock.open("wb") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:
            pass  # Windows, where two jobs on one output are the user's to avoid
        except OSError as error:
            raise ScanRunning(f"another process is at work in {folder}; wait for it, or end it") from error
        yield
    if not (folder / "settings.json").exists():
        lock.unlink(missing_ok=True)
        with suppress(OSError):  # something that is not ours
            folder.rmdir()


def _digest(document: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _settings_of(output: Path) -> str | None:
    """The digest of the settings that a finished output was made with."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        found = (pq.read_schema(output).metadata or {}).get(b"ctwl.settings")
    except (OSError, pa.ArrowException):
        return None
    return found.decode() if found else None


def _take_up(folder: Path, document: dict[str, Any]) -> None:
    """Begin a job in its folder, or make sure that the one begun there is this one."""
    settings = folder / "settings.json"
    try:
        begun = json.loads(settings.read_bytes())
    except FileNotFoundError:
        _clear(folder)  # parts without settings are what is left of a job that was given up
        _write(settings, lambda path: path.write_text(json.dumps(document, indent=1) + "\n"))
        return
    except ValueError:
        begun = None
    if begun != document:
        raise ScanSettingsDiffer(
            f"{folder} holds an unfinished scan with other settings: {_difference(begun, document)}. Run the command "
            "as it was to go on with that one, or with --restart to forget it and start over"
        )


def _difference(begun: Any, document: dict[str, Any]) -> str:
    """What differs between two jobs, in words."""
    if not isinstance(begun, dict):
        return "its settings.json cannot be read"
    names = [name for name in {**document, **begun} if begun.get(name) != document.get(name) and name != "inputs"]
    said = [f"{name} was {json.dumps(begun.get(name))} and is {json.dumps(document.get(name))}" for name in names]
    old, new = ({name: rest for name, *rest in each.get("inputs") or []} for each in (begun, document))
    changed = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    if changed:
        what = "is gone" if changed[0] not in new else "is new" if changed[0] not in old else "has changed"
        said.append(f"the input {changed[0]} {what}" + (f", and {len(changed) - 1} more" if changed[1:] else ""))
    return "; ".join(said) or "the inputs' order"


def _part(folder: Path, number: int) -> Path:
    return folder / f"part-{number:08d}.parquet"


def _known(folder: Path, work: Work) -> dict[int, int]:
    """Numbers and sizes of the chunks whose parts are there, each with exactly its documents."""
    if not any(folder.glob("part-*.parquet")):
        return {}
    return {chunk.number: chunk.size for chunk in work if _holds(_part(folder, chunk.number), chunk.documents)}


def _holds(part: Path, chunk: list[Document]) -> bool:
    import pyarrow as pa

    try:
        table = _read(part)
    except (OSError, pa.ArrowException):
        return False
    places = [(document.source, document.row) for document in chunk]
    found = (table[name].to_pylist() for name in ("source", "row"))
    return table.schema.equals(schema()) and list(zip(*found, strict=True)) == places


def _read(part: Path) -> pa.Table:
    import pyarrow.parquet as pq

    with pq.ParquetFile(part) as file:
        return file.read()


def _write_table(table: pa.Table, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, path)


def _merge(path: Path, folder: Path, chunks: int, metadata: dict[str, str]) -> None:
    """The rows of all parts in one file, in row groups of a good size for readers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetWriter(path, schema().with_metadata(metadata), compression="zstd") as writer:
        held: list[pa.Table] = []
        for number in range(chunks):
            held.append(_read(_part(folder, number)))
            if sum(t.num_rows for t in held) >= _GROUP_ROWS or sum(t.nbytes for t in held) >= _GROUP_BYTES:
                writer.write_table(pa.concat_tables(held))
                held = []
        if held:
            writer.write_table(pa.concat_tables(held))


def _write(path: Path, write: Callable[[Path], object], scratch: Path | None = None) -> None:
    """Write a file whole or not at all, also where the power fails."""
    scratch = scratch or path.with_name(path.name + ".new")
    write(scratch)
    with scratch.open("rb") as file:
        os.fsync(file.fileno())
    scratch.replace(path)
    with suppress(OSError):  # not every system can
        descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _clear(folder: Path) -> None:
    """Remove what a job has written to its folder, the settings first: half removed, it is no job any more."""
    (folder / "settings.json").unlink(missing_ok=True)
    for pattern in ("part-*.parquet", "*.new"):
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)


# ---- the command ----

_DESCRIPTION = """\
Decode every document of a corpus: .txt (one document each), .jsonl and .ndjson (one a line), these also as .gz, and
.parquet; folders with all below them. One row for each document goes to a Parquet file. A document that cannot be read
becomes a row with an error. A job that was ended, in whatever way, goes on where it was with the same command.
"""

_EPILOG = """\
examples:
  ctwl-decode scan corpus/ --out results.parquet --beacon 700:9
      look for the texts of provider 700's model version 9
  ctwl-decode scan a.jsonl.gz b.parquet --out results.parquet --beacon 700 --beacon 31 --text-column body
      look for all versions of two providers, in records whose text is called body
  ctwl-decode scan corpus/ --out results.parquet --all-codes
      look for all 2^20 codes: slower, and a text must be some tokens longer to be told
  ctwl-decode scan corpus/ --out results.parquet --beacon 700 --ray
      on a Ray cluster, or on all cores of this machine; needs the extra [ray]

Read the results with any Parquet reader, in Python with pyarrow.parquet.read_table("results.parquet"). The fewer codes
are searched, the shorter a text may be. Each document is tested at the level alpha: of a million human texts, a
hundred pass the default by chance, so read the p_value.
exit status: 0 done; 2 an error; 130 interrupted.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give a parser the options of ``scan``."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="a file or a folder")
    parser.add_argument("--out", metavar="FILE", type=Path, required=True, help="the Parquet file to write")
    what = parser.add_argument_group("what to look for")
    what.add_argument(
        "--beacon",
        metavar="PROVIDER[:VERSION]",
        action="append",
        default=[],
        help="search for this provider's codes, of one model version (0 to 15) or of all; may be given again",
    )
    what.add_argument("--all-codes", action="store_true", help="search the whole code space")
    what.add_argument("--alpha", type=float, default=1e-4, help="level of each document's test (default 1e-4)")
    what.add_argument(
        "--profile",
        default=os.environ.get("CTWL_PROFILE") or STANDARD,
        help=f"a published profile or a profile file; published: {', '.join(published_names())} "
        f"(default: $CTWL_PROFILE, else {STANDARD})",
    )
    records = parser.add_argument_group("records")
    records.add_argument("--text-column", metavar="NAME", default="text", help="field that holds the text")
    records.add_argument("--id-column", metavar="NAME", help="field that is copied to the results' id")
    job = parser.add_argument_group("the job")
    job.add_argument("--restart", action="store_true", help="forget what an unfinished job has done, and start over")
    job.add_argument("--overwrite", action="store_true", help="replace a finished job's output")
    job.add_argument("--quiet", action="store_true", help="no progress bar and no summary")
    job.add_argument("--proxy", metavar="PATH", help="folder with the proxy LM's files (default: cache, then source)")
    job.add_argument("--device", default="auto", help="torch device (default: cuda where there is one)")
    job.add_argument(
        "--ray",
        metavar="ADDRESS",
        nargs="?",
        const="",
        help="decode on a Ray cluster, whose nodes see the inputs at the same paths; without an address that of "
        "$RAY_ADDRESS, else this machine",
    )


def _beacons(given: Sequence[str]) -> Iterator[tuple[int, int]]:
    for each in given:
        provider, colon, version = each.partition(":")
        if not provider.isdecimal() or not (version.isdecimal() or not colon):
            raise OptionOutOfRange(f"--beacon {each}: write PROVIDER or PROVIDER:VERSION in numbers, such as 700:9")
        for number in [int(version)] if colon else range(16):
            yield int(provider), number


def _settings(arguments: argparse.Namespace) -> Settings:
    if bool(arguments.beacon) == arguments.all_codes:
        raise OptionOutOfRange(
            "say what to look for, in one way: --beacon PROVIDER[:VERSION] for the codes of a provider that you know, "
            "as often as you like, or --all-codes for all there are, which takes longer and needs longer texts"
        )
    return Settings(
        profile=get_profile(arguments.profile),
        alpha=arguments.alpha,
        beacons=None if arguments.all_codes else tuple(_beacons(arguments.beacon)),
        columns=Columns(arguments.text_column, arguments.id_column),
    )


def _engine(arguments: argparse.Namespace, profile: Profile, watch: Watch) -> Engine:
    if arguments.ray is not None:
        from .ray import cluster

        return cluster(arguments.ray or None, proxy_path=arguments.proxy, device=arguments.device)

    def opened() -> Decoder:
        from .decode import Decoder

        return Decoder.open(profile, proxy_path=arguments.proxy, device=arguments.device)

    return here(opened, watch)


class _Bar(Watch):
    """A progress bar on stderr where that is a terminal."""

    def __init__(self, *, quiet: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        words = "{task.fields[documents]} documents  {task.fields[rate]:.0f} tokens/s  {task.fields[found]} found  "
        self._bar = Progress(
            BarColumn(),
            TaskProgressColumn(),
            TextColumn(words + "{task.fields[errors]} errors"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
            speed_estimate_period=600,  # a chunk may take minutes
        )
        self._counts: dict[str, Any] = {"documents": 0, "found": 0, "errors": 0}
        self._task = self._bar.add_task("scan", total=None, rate=0.0, **self._counts)
        self._size = self._tokens = 0
        self._begun = 0.0

    def __enter__(self) -> _Bar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def begin(self, total: int, done: int) -> None:
        self._size, self._begun = done, time.monotonic()
        self._bar.reset(self._task, total=total, completed=done)

    def inside(self, size: float) -> None:
        self._bar.update(self._task, completed=self._size + size)

    def add(self, decoded: Decoded) -> None:
        import pyarrow.compute as pc

        table = decoded.table
        self._size += decoded.size
        self._tokens += pc.sum(table["tokens"]).as_py() or 0
        self._counts["documents"] += table.num_rows
        self._counts["found"] += pc.sum(table["detected"]).as_py() or 0
        self._counts["errors"] += table.num_rows - table["error"].null_count
        rate = self._tokens / max(time.monotonic() - self._begun, 1e-9)
        self._bar.update(self._task, completed=self._size, rate=rate, **self._counts)


def run(arguments: argparse.Namespace) -> int:
    """Scan as the options say; returns the exit status."""
    begun = time.monotonic()
    try:
        require_arrow()
        settings = _settings(arguments)
        with _Bar(quiet=arguments.quiet) as bar:
            summary = scan(
                arguments.paths,
                arguments.out,
                settings,
                _engine(arguments, settings.profile, bar),
                restart=arguments.restart,
                overwrite=arguments.overwrite,
                watch=bar,
            )
        if not arguments.quiet:
            print(f"{summary}\ntime       {_span(time.monotonic() - begun)}\nresult     {arguments.out}", flush=True)
    except CTWLError as error:
        print(f"ctwl-decode: {error.code}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of the summary went away; the result is there
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:  # a full disk, a folder that cannot be written
        print(f"ctwl-decode: {error}; when that is mended, the same command goes on where it was", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            f"ctwl-decode: interrupted; what is done lies in {parts_of(arguments.out)}: the same command goes on there",
            file=sys.stderr,
        )
        return 130
    return 0


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def main(argv: Sequence[str] | None = None) -> int:
    """The command by itself; returns the exit status."""
    parser = argparse.ArgumentParser(prog="ctwl-decode scan")
    add_arguments(parser)
    return run(parser.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())

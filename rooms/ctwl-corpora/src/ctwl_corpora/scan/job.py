"""The job: decode a corpus so that a crash loses little.

Each chunk's rows are written as one part, whole or not at all, in a folder beside the output. A job that was ended, in
whatever way, does not decode them again. At the end the parts become the output, whole or not at all. ``settings.json``
in that folder states what the rows follow from; a job that goes on with anything else is refused.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from ctwl_decoder.errors import InputUnreadable, OutputExists
from ctwl_protocol.files import atomic_path, locked, make_folder, open_file

from ..errors import ScanRunning, ScanSettingsDiffer
from .chunks import Chunk, ChunkReader, chunks_of, counting, results_schema
from .fields import Columns
from .files import CorpusFile, list_corpus
from .summary import Summary

FORMAT = "ctwl-scan/5"
"""Version of the results' columns and metadata."""

_GROUP_ROWS, _GROUP_BYTES = 1 << 16, 1 << 24  # of a row group of the output; chosen by hand
_INPUT = "input "  # begins the name of each input's place in the settings
_SETTINGS, _SCRATCH = "settings.json", "scratch"
_OURS = re.compile(r"lock|scratch|settings\.json|part-\d+\.parquet")

Engine: TypeAlias = Callable[[ChunkReader, Iterable[Chunk], Callable[[float], None]], Iterable[Chunk]]
"""What turns chunks of documents into chunks of rows, in any order, and tells how many documents of a chunk are done,
if it can: :func:`in_process`, or a cluster (:mod:`ctwl_corpora.scan.ray`)."""

Watch: TypeAlias = Callable[[float, int | None, pa.Table | None], None]
"""Called with the number of documents that are done, where a part of one counts too; with the number of all, or None
until they are counted; and with rows that have just been written."""


def in_process(reader: ChunkReader, chunks: Iterable[Chunk], inside: Callable[[float], None]) -> Iterator[Chunk]:
    """The engine that reads one chunk after the other, here."""
    return (reader.read_chunk(chunk, inside) for chunk in chunks)


def parts_of(output: Path) -> Path:
    """The folder in which a job keeps its parts until it is done."""
    return output.with_name(output.name + ".parts")


def scan(
    places: Iterable[Path | str],
    output: Path,
    reader: ChunkReader,
    *,
    columns: Columns | None = None,
    engine: Engine = in_process,
    restart: bool = False,
    overwrite: bool = False,
    watch: Watch | None = None,
) -> Summary:
    """Read a corpus into a Parquet file of :func:`results_schema`, or go on where a job ended early.

    Args:
        places: files and folders, or URLs of those.
        output: the Parquet file.
        reader: reads the documents.
        columns: the fields of records that are read; by default ``text`` alone.
        engine: where it reads.
        restart: forget what an unfinished job has done, and replace a finished one.
        overwrite: replace a finished job's output.
        watch: is told about the progress; the documents are then counted beside the job, so the files are read twice.

    Raises:
        InputUnreadable: see :func:`list_corpus`; or a file changed while it was read.
        OutputExists: the output exists and must not be replaced; or files of others are where the parts would be.
        ScanSettingsDiffer: an unfinished job has other inputs or settings.
        ScanRunning: another process works on the same output.
        FileUnwritable, OSError: the parts or the output cannot be written.
    """
    folder, columns, places = parts_of(output), columns or Columns(), list(places)
    _check_output(output, replace=restart or overwrite)
    corpus = list_corpus(places, without=[output, folder])
    settings = {"format": FORMAT} | reader.settings.document(reader.computes_in)
    settings |= {"columns": {"text": columns.text, "keep": list(columns.keep)}}
    job = settings | {f"{_INPUT}{i}": [each.name, each.size, each.stamp] for i, each in enumerate(corpus.files, 1)}
    make_folder(folder)
    running = ScanRunning(f"another process works in {folder}; wait for it, or end it")
    with locked(folder / "lock", 0, running):
        if restart:
            _clear(folder)
        _take_up(folder, job)
        schema = results_schema(columns)
        cut = chunks_of(corpus.files, columns, light=reader.settings.light)
        with counting(corpus.files if watch else [], columns) as counted:

            def tell(done: float, rows: pa.Table | None = None, *, last: bool = False) -> None:
                if watch:
                    watch(done, int(done) if last else counted(), rows)

            chunks, before = _read_left(folder, cut, schema, partial(engine, reader), tell)
        _check_unchanged(corpus.files, list_corpus(places, without=[output, folder]).files)
        _merge(output, folder, chunks, schema.with_metadata(_told(settings)))
        _clear(folder)
        shutil.rmtree(folder, ignore_errors=True)  # Windows cannot delete the lock while it is held
    return Summary.of(output, before, corpus.skipped)


def _check_output(output: Path, *, replace: bool) -> None:
    """Make sure that nothing of others is overwritten.

    Raises:
        OutputExists: it would be.
    """
    folder = parts_of(output)
    if output.is_dir():
        raise OutputExists(f"{output} is a folder; name a file")
    if output.exists() and not replace and not (folder / _SETTINGS).exists():
        raise OutputExists(f"{output} exists already; --overwrite replaces it")
    if folder.is_dir() and not all(_OURS.fullmatch(path.name) for path in folder.iterdir()):
        raise OutputExists(f"{folder}, where a scan keeps its parts, holds files of others; name another output")


def _check_unchanged(before: list[CorpusFile], after: list[CorpusFile]) -> None:
    """Make sure that the rows belong together.

    Raises:
        InputUnreadable: a file changed while it was read.
    """
    now = {file.place: file for file in after}
    for file in before:
        if now.get(file.place) != file:
            raise InputUnreadable(
                f"{file.name} changed while it was read, so the rows do not belong together; run the command again "
                "with --restart when nothing writes to it"
            )


def _take_up(folder: Path, job: dict[str, Any]) -> None:
    """Begin a job in its folder, or make sure that the job begun there is this one.

    Raises:
        ScanSettingsDiffer: it is another.
        InputUnreadable: what tells cannot be read.
    """
    settings = folder / _SETTINGS
    if not settings.exists():
        _clear(folder)  # nothing tells what parts without settings follow from
        with atomic_path(settings, scratch=folder / _SCRATCH) as scratch:
            scratch.write_text(json.dumps(job, indent=1) + "\n", encoding="utf-8")
    try:
        with open_file(settings) as file:
            begun: dict[str, Any] = dict(json.load(file))
    except OSError as error:
        raise InputUnreadable(f"cannot read {settings}: {error.strerror}; remove it to begin again") from error
    except (ValueError, TypeError):
        begun = {}
    if begun != job:
        said = _differences(begun, job)
        more = f"; and {len(said) - 3} more" if len(said) > 3 else ""
        raise ScanSettingsDiffer(
            f"{folder} holds an unfinished scan with other settings: {'; '.join(said[:3])}{more}. Put this back as it "
            "was to go on with that scan, or start over with --restart"
        )


def _differences(begun: dict[str, Any], job: dict[str, Any]) -> list[str]:
    """What differs between two jobs, in words; of the inputs, which files are new, gone or changed."""
    before, now = ({v[0]: v[1:] for k, v in each.items() if k.startswith(_INPUT)} for each in (begun, job))
    said = [f"there is a new file, {name}; remove it" for name in now if name not in before]
    said += [f"the file {name} is gone" for name in before if name not in now]
    said += [f"the file {name} has changed" for name in now if name in before and before[name] != now[name]]
    if not said and list(before) != list(now):
        said.append("the files come in another order")
    names = [name for name in {**job, **begun} if not name.startswith(_INPUT) and begun.get(name) != job.get(name)]
    settings = [f"{name} was {json.dumps(begun.get(name))} and is {json.dumps(job.get(name))}" for name in names]
    return settings + said


def _read_left(
    folder: Path,
    cut: Iterable[Chunk],
    schema: pa.Schema,
    engine: Callable[[Iterable[Chunk], Callable[[float], None]], Iterable[Chunk]],
    tell: Callable[..., None],
) -> tuple[int, int]:
    """Write the parts that do not exist yet; returns the number of chunks, and of documents that were done before."""
    done, chunks, before = 0, 0, 0

    def left() -> Iterator[Chunk]:
        nonlocal chunks, before
        for chunk in cut:
            chunks += 1
            if _is_done(_part(folder, chunk.number), chunk, schema):
                before += chunk.table.num_rows
            else:
                yield chunk

    def inside(part: float) -> None:
        tell(before + done + part)

    for chunk in engine(left(), inside):
        with atomic_path(_part(folder, chunk.number), scratch=folder / _SCRATCH) as scratch:
            pq.write_table(chunk.table, scratch)
        done += chunk.table.num_rows
        tell(before + done, chunk.table)
    tell(before + done, last=True)
    return chunks, before


def _part(folder: Path, number: int) -> Path:
    return folder / f"part-{number:012d}.parquet"


def _is_done(part: Path, chunk: Chunk, schema: pa.Schema) -> bool:
    """Whether a chunk's part exists and holds exactly its documents."""
    try:
        rows = _read(part)
    except (OSError, pa.ArrowException):
        return False
    place = ["source", "row"]
    return bool(rows.schema.equals(schema) and rows.select(place).equals(chunk.table.select(place)))


def _read(part: Path) -> pa.Table:
    with open_file(part) as raw, pq.ParquetFile(raw) as file:
        return file.read()


def _told(settings: dict[str, Any]) -> dict[str, str]:
    """What the metadata of the results say of the settings."""
    return {f"ctwl.{name}": value if isinstance(value, str) else json.dumps(value) for name, value in settings.items()}


def _merge(output: Path, folder: Path, chunks: int, schema: pa.Schema) -> None:
    """Write the rows of all chunks to the output, in row groups of a good size for readers.

    Parts beyond the last chunk are left out: an input may have been readable for longer when the job began.
    """
    with (
        atomic_path(output, scratch=folder / _SCRATCH) as scratch,
        pq.ParquetWriter(scratch, schema, compression="zstd") as writer,
    ):
        held: list[pa.Table] = []
        for number in range(chunks):
            held.append(_read(_part(folder, number)))
            if sum(t.num_rows for t in held) >= _GROUP_ROWS or sum(t.nbytes for t in held) >= _GROUP_BYTES:
                writer.write_table(pa.concat_tables(held))
                held = []
        if held:
            writer.write_table(pa.concat_tables(held))


def _clear(folder: Path) -> None:
    """Remove what a job has written to its folder; the settings last, so that a job half removed can still go on."""
    for path in sorted(folder.iterdir(), key=lambda path: path.name == _SETTINGS):
        if path.name != "lock":
            path.unlink(missing_ok=True)

"""The job: decode a corpus in a way that survives being killed.

Each chunk's rows are written as one part, whole or not at all, in a folder beside the output; what a killed job has
written is not computed again. At the end the parts become the output, whole or not at all. ``settings.json`` in that
folder states what the rows follow from: a job that is taken up again with anything else is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputUnreadable, OutputExists, ScanRunning, ScanSettingsDiffer
from .corpus import Document, changed_files, corpus_files, require_arrow
from .rows import Summary, decode_chunk, metadata_of, schema
from .work import Decoded, Engine, Settings, Watch, Work

if TYPE_CHECKING:
    import pyarrow as pa

    from ...decoder import Decoder

__all__ = ["here", "parts_of", "scan"]

_GROUP_ROWS, _GROUP_BYTES = 1 << 16, 1 << 24  # of a row group of the output
_SETTINGS = "settings.json"
_OURS = re.compile(r"lock|(settings\.json|part-\d{8,}\.parquet)(\.new)?|merged\.new")  # names in a job's folder


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
        OutputExists: the output is there, and is not to be replaced; files of others are where the parts would be.
        ScanSettingsDiffer: an unfinished job has other inputs or settings.
        ExtraMissing: pyarrow is not installed.
        OSError: the parts or the output cannot be written.
    """
    require_arrow()
    folder, paths = parts_of(output), list(paths)
    files = corpus_files(paths, without=[output, folder])
    document = settings.document(files)
    metadata = metadata_of(settings) | {"ctwl.settings": _digest(document)}
    if output.is_dir():
        raise OutputExists(f"{output} is a folder; name a file")
    done = output.exists() and _settings_of(output) == metadata["ctwl.settings"]
    begun = (folder / _SETTINGS).exists() or (done and folder.is_dir())  # or killed at the very end
    if output.exists() and not (begun or restart or overwrite):
        raise OutputExists(f"{output} is there already; --overwrite replaces it")
    if folder.is_dir() and not all(_OURS.fullmatch(path.name) for path in folder.iterdir()):
        raise OutputExists(f"{folder}, where a scan keeps its parts, holds files of others; name another output")
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        if restart:
            _clear(folder)
        elif done:
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
    running = f"another process is at work in {folder}; wait for it, or end it"
    with lock.open("wb") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not (lock.exists() and os.path.samestat(lock.stat(), os.fstat(file.fileno()))):
                raise ScanRunning(running)  # it has just ended, and took its lock with it
        except ImportError:
            pass  # Windows, where two jobs on one output are the user's to avoid
        except OSError as error:
            raise ScanRunning(running) from error
        yield
        if not (folder / _SETTINGS).exists():
            with suppress(OSError):  # Windows, where an open file stays
                lock.unlink(missing_ok=True)
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
    settings = folder / _SETTINGS
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
    (folder / _SETTINGS).unlink(missing_ok=True)
    for path in folder.iterdir():
        if path.name != "lock":
            path.unlink(missing_ok=True)

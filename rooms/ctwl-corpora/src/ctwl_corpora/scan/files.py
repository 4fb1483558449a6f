"""The files of a corpus: which there are, on this machine or at a URL, and their bytes, unpacked within bounds."""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa

from ctwl_decoder.errors import ExtraMissing, InputTooLarge, InputUnreadable
from ctwl_protocol.files import open_file

TEXT, LINES, ROWS, ARCHIVES = (".txt",), (".jsonl", ".ndjson", ".json"), (".parquet",), (".warc", ".wet")
"""The ends of names, by what a document is: the file; a line; a row; a record."""

_PACKED = (".gz", ".zst")
_KINDS = (*TEXT, *LINES, *ROWS, *ARCHIVES)

_MOST_UNPACKED, _MOST_TIMES = 1 << 28, 200
"""From so many bytes on, a file that unpacks to so many times its size is a bomb. Text packs to a tenth; these bounds
were chosen by hand."""

_BUFFER = 1 << 18  # bytes; four times as quick over long lines as Python's own

_STEP = 1 << 12
"""Bytes that are unpacked at once."""

_STAMPS = ("ETag", "etag", "sha256", "blob_id", "mtime", "LastModified", "last_modified", "created")
"""Fields by which stores say which version of a file they have."""


@dataclass(frozen=True)
class CorpusFile:
    """A file of the corpus, as it was when the corpus was listed.

    Attributes:
        place: its path, or its URL.
        size: bytes; -1 where the file system does not tell.
        stamp: what tells that it was changed.
    """

    place: Path | str
    size: int
    stamp: str

    @property
    def name(self) -> str:
        """The place as text, for the results; bytes that are not UTF-8 are escaped."""
        return _shown(self.place)

    @property
    def kind(self) -> str:
        """The end of its name, which says how it is read; empty where nothing reads it."""
        return kind_of(self.name)


@dataclass(frozen=True)
class Corpus:
    """The files of a corpus, and the names of what its folders hold besides."""

    files: list[CorpusFile]
    skipped: list[str]


def kind_of(name: str) -> str:
    """The end of a file's name that says how it is read, without how it is packed; empty where nothing reads it."""
    plain = name.lower()
    for packed in _PACKED:
        plain = plain.removesuffix(packed)
    kind = next((kind for kind in _KINDS if plain.endswith(kind)), "")
    return "" if kind in ROWS and plain != name.lower() else kind


def list_corpus(places: Iterable[Path | str], without: Collection[Path] = ()) -> Corpus:
    """The files of a corpus: each place in turn, folders in sorted order with all below them, no file twice.

    Args:
        places: files and folders; or URLs of those, which fsspec opens.
        without: files and folders that are left out, such as the job's own output.

    Raises:
        InputUnreadable: a place does not exist; a folder cannot be listed or holds nothing to read; a named file is of
            an unknown kind. Files that cannot be opened become documents with an error later.
        ExtraMissing: a package is not installed that opens URLs of this kind.
    """
    found, apart = dict[str, CorpusFile](), {path.resolve() for path in without}
    skipped: list[str] = []
    for place in places:
        files = []
        for file in _at(str(place)) if is_url(place) else _below(Path(place), apart):
            if isinstance(file, CorpusFile) and file.kind:
                files.append(file)
            else:
                skipped.append(_shown(file) if isinstance(file, Path) else file.name)
        if not files:
            raise InputUnreadable(
                f"{place} is or holds no file of a kind that is read: {', '.join(_KINDS)}, packed as "
                f"{' or '.join(_PACKED)} or not"
            )
        for file in files:
            found.setdefault(str(file.place.absolute() if isinstance(file.place, Path) else file.place), file)
    return Corpus(list(found.values()), skipped)


def _shown(place: Path | str) -> str:
    return str(place).encode(errors="backslashreplace").decode()


def is_url(place: Path | str) -> bool:
    """Whether a place is a URL."""
    return isinstance(place, str) and "://" in place


def _below(path: Path, apart: set[Path]) -> Iterator[CorpusFile | Path]:
    """What is in a folder and in all folders in it, sorted; of a file, the file itself. What is no file is a path.

    Raises:
        InputUnreadable: the path does not exist, or a folder cannot be listed: its documents must not be left out
            unnoticed.
    """

    def refuse(error: OSError) -> None:
        raise error

    try:
        path.stat()
        walked = list(os.walk(path, onerror=refuse)) if path.is_dir() else [(str(path.parent), [], [path.name])]
    except OSError as error:
        raise InputUnreadable(f"cannot read {error.filename or path}: {error.strerror}") from error
    paths = [Path(folder, name) for folder, _, names in walked for name in names]
    links = [Path(folder, name) for folder, inner, _ in walked for name in inner]
    top, real = (path, path.resolve()) if path.is_dir() else (path.parent, path.parent.resolve())
    for each in sorted([*paths, *filter(Path.is_symlink, links)]):  # links to folders are not gone into
        there = real / each.relative_to(top)
        if not apart & {there, *there.parents}:
            yield _look_at(each) or each


def _at(url: str) -> Iterator[CorpusFile]:
    """The files at a URL, in sorted order.

    Raises:
        InputUnreadable: it cannot be listed.
        ExtraMissing: a package is not installed that opens it.
    """
    with _store(url) as (system, path):
        system.invalidate_cache()
        found = {path: system.info(path)} if system.isfile(path) else system.find(path, detail=True)
        urls = [str(system.unstrip_protocol(name)) for name in sorted(found)]
    yield from map(_seen, urls, (found[name] for name in sorted(found)))


@contextmanager
def _store(url: str) -> Iterator[tuple[Any, str]]:
    """The file system of a URL, and the path in it; what fails in the block is an error of ours.

    Raises:
        InputUnreadable: it cannot be reached or read.
        ExtraMissing: a package is not installed that opens it.
    """
    import fsspec

    try:
        yield fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise ExtraMissing(f"{url}: {error}") from error
    except Exception as error:  # each kind of store has its own
        raise InputUnreadable(f"cannot read {url}: {error}") from error


def _look_at(path: Path) -> CorpusFile | None:
    """A file with its size and date; None for a folder, a pipe or a device, which may never end."""
    try:
        found = path.stat()
    except OSError:
        return CorpusFile(path, -1, "")
    return CorpusFile(path, found.st_size, str(found.st_mtime_ns)) if stat.S_ISREG(found.st_mode) else None


def _seen(url: str, info: Mapping[str, Any]) -> CorpusFile:
    """A file at a URL, as its store describes it."""
    size, stamps = info.get("size"), (str(info[key]) for key in _STAMPS if info.get(key))
    return CorpusFile(url, -1 if size is None else int(size), next(stamps, ""))


class _Unpacked(io.RawIOBase):
    """What a decompressor gives of a file; a bomb is refused before it is unpacked."""

    def __init__(self, stream: IO[bytes], raw: IO[bytes]) -> None:
        self._stream, self._raw, self._given = stream, raw, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # Little at a time: where a packed file is cut off, the error takes along what is unpacked with it.
        data = self._stream.read(min(len(buffer), _STEP))
        self._given += len(data)
        if self._given > max(_MOST_UNPACKED, _MOST_TIMES * self._raw.tell()):
            raise InputTooLarge(
                f"the file unpacks to more than {_MOST_UNPACKED} bytes and {_MOST_TIMES} times its size, as no text "
                "does; unpack it first if it is one"
            )
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def opened(file: CorpusFile) -> Iterator[IO[bytes]]:
    """A file's bytes, unpacked.

    Raises:
        InputUnreadable: it cannot be read, here or inside the block.
        InputTooLarge: it is a bomb.
    """
    if file.size == 0 and file.name.lower().endswith(_PACKED):
        raise InputUnreadable(f"cannot read {file.name}: it is empty, as no packed file is")
    try:
        with _raw(file) as raw:
            if file.name.lower().endswith(".gz"):
                packed: Any = gzip.GzipFile(fileobj=raw)
            elif file.name.lower().endswith(".zst"):
                packed = pa.CompressedInputStream(raw, "zstd")
            else:
                yield raw
                return
            yield cast(IO[bytes], io.BufferedReader(_Unpacked(packed, raw), _BUFFER))
    except (OSError, EOFError, zlib.error) as error:
        raise InputUnreadable(f"cannot read {file.name}: {getattr(error, 'strerror', None) or error}") from error


def _raw(file: CorpusFile) -> IO[bytes]:
    if isinstance(file.place, Path):
        return io.BufferedReader(open_file(file.place).detach(), _BUFFER)
    with _store(file.place) as (system, path):
        return cast(IO[bytes], system.open(path, "rb"))

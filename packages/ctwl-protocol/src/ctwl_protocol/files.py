"""Reading files within a bound, and writing them as a whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from .errors import FileUnwritable

__all__ = ["atomic_path", "read_bounded", "write_atomically"]


def read_bounded(source: str | Path | BinaryIO, limit: int) -> bytes:
    """Read a file, or a stream of bytes to its end, of at most ``limit`` bytes.

    Raises:
        OSError: the source cannot be read; with ``errno.EFBIG``, it has more bytes than ``limit``.
    """
    if isinstance(source, (str, Path)):
        with Path(source).open("rb") as file:
            data = file.read(limit + 1)
    else:
        data = source.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"more than {limit} bytes")
    return data


def write_atomically(path: str | Path, data: bytes, *, mode: int | None = None, new: bool = False) -> None:
    """Write a file as a whole or not at all; see :func:`atomic_path`.

    Raises:
        FileUnwritable: see :func:`atomic_path`.
    """
    with atomic_path(path, mode=mode, new=new) as scratch:
        scratch.write_bytes(data)


@contextmanager
def atomic_path(
    path: str | Path, *, mode: int | None = None, new: bool = False, scratch: Path | None = None
) -> Iterator[Path]:
    """Yield a scratch file to write; it takes the name ``path`` when the block ends without an error.

    After a crash, ``path`` is what it was before, or complete. The data is on disk before the name changes.

    Args:
        path: the file.
        mode: its permissions; None means those of any new file. Until then, only the owner can read the scratch file.
        new: refuse to replace a file, even one that another process writes in the meantime.
        scratch: the scratch file, on the same file system; the default is a hidden file in the same folder.

    Raises:
        FileUnwritable: the file exists and ``new`` is set; or the system refuses to write, rename or sync.
    """
    path = Path(path)
    scratch = scratch or path.with_name(f".{secrets.token_hex(8)}.{path.name}")
    try:
        try:
            scratch.touch(mode=0o666 if mode is None else 0o600)
            yield scratch
            with scratch.open("r+b") as file:
                os.fsync(file.fileno())
            if mode is not None:
                scratch.chmod(mode)
            if new:
                _rename_to_new(scratch, path)
            else:
                scratch.replace(path)
        except BaseException:
            with suppress(OSError):
                scratch.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
    except FileExistsError as error:
        raise FileUnwritable(f"{path} exists already; it is not overwritten") from error
    except OSError as error:
        raise FileUnwritable(f"cannot write {path}: {error.strerror or error}") from error


def _rename_to_new(scratch: Path, path: Path) -> None:
    """Rename a file to an unused name. A hard link cannot replace a file; a rename could.

    Raises:
        FileExistsError: a file has this name.
    """
    try:
        path.hardlink_to(scratch)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        path.touch(exist_ok=False)
        scratch.replace(path)
    else:
        scratch.unlink()


def _sync_folder(folder: Path) -> None:
    """Write the folder's new entry to disk, where the system supports it."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with suppress(OSError):  # some network file systems cannot
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

"""Opening files without waiting for ever, reading them within a bound, and writing them as a whole or not at all."""

from __future__ import annotations

import errno
import logging
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from .errors import CTWLError, FileUnwritable

log = logging.getLogger(__name__)

_SHELLS = ("/dev/fd/", "/dev/stdin")
"""Under these names a shell passes on what somebody piped, or wrote as ``<(command)``."""


def open_file(path: str | Path, *, follow: bool = True) -> BufferedReader:
    """Open a file to read its bytes. A pipe is refused, because nobody may ever write to it; a device, too.

    Args:
        path: the file.
        follow: whether the file may be a symbolic link. A program's own files may not.

    Raises:
        OSError: it cannot be opened, or is no file.
    """

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0) | (0 if follow else getattr(os, "O_NOFOLLOW", 0)))

    try:
        file = open(path, "rb", opener=opener)  # noqa: SIM115 - pathlib has no opener
    except OSError as error:
        if error.errno == errno.ELOOP and not follow:
            raise OSError(errno.ELOOP, "it is a symbolic link; put the file itself there") from error
        raise
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode) and not str(path).startswith(_SHELLS):
        file.close()
        raise OSError(errno.EINVAL, "it is a pipe or a device; name a file")
    if hasattr(os, "O_NONBLOCK"):
        os.set_blocking(file.fileno(), True)
    return file


def read_bounded(source: str | Path | BinaryIO, limit: int, *, follow: bool = True) -> bytes:
    """Read a file (see :func:`open_file`), or a stream of bytes to its end, of at most ``limit`` bytes.

    Raises:
        OSError: the source cannot be read; with ``errno.EFBIG``, it has more bytes than ``limit``.
    """
    if isinstance(source, (str, Path)):
        with open_file(source, follow=follow) as file:
            data = file.read(limit + 1)
    else:
        data = source.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"more than {limit} bytes")
    return data


def what_helps(error: OSError) -> str:
    """What to do about a file that cannot be read or written, as the end of a message; empty where nothing is known."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "; make room on that disk, or write to another one"
    return "; ask its owner to let you" if error.errno == errno.EACCES else ""


@contextmanager
def explaining(
    what: str, refusal: Callable[[str], CTWLError], *, too_large: Callable[[str], CTWLError] | None = None
) -> Iterator[None]:
    """Raise an error of ours where the system refuses something in this block: what cannot be done, why, what helps.

    Args:
        what: such as "read FILE".
        refusal: makes the error, from a message.
        too_large: makes that of :func:`read_bounded`'s bound; the default is ``refusal``.
    """
    try:
        yield
    except OSError as error:
        refused = too_large if too_large and error.errno == errno.EFBIG else refusal
        raise refused(f"cannot {what}: {error.strerror or error}{what_helps(error)}") from error


def check_writable(path: Path) -> None:
    """Refuse (FileUnwritable) a file that cannot be written, before the work whose result goes there."""
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise FileUnwritable(f"cannot write {path}; name a file in a folder to which you may write")


def make_folder(folder: Path) -> None:
    """Make a folder, and the folders above it, where it is missing.

    Raises:
        FileUnwritable: it cannot be made.
    """
    with explaining(f"make the folder {folder}", FileUnwritable):
        folder.mkdir(parents=True, exist_ok=True)


@contextmanager
def locked(path: Path, seconds: float, held: CTWLError, *, waits: str | None = None) -> Iterator[None]:
    """Hold the lock of a file, which is made where it is missing. The system unlocks it when the process ends.

    Args:
        path: the file.
        seconds: how long to wait for another process.
        held: raised where another process holds it for so long.
        waits: what to say (a warning in the log) where it has to wait.

    Raises:
        FileUnwritable: the file cannot be made, or is a link, a pipe or a device.
    """
    from filelock import FileLock  # a reader needs none

    lock = FileLock(path)
    with explaining(f"lock {path}", FileUnwritable):
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise OSError(errno.EINVAL, "it is a symbolic link, a pipe or a device; remove it")
        try:
            lock.acquire(timeout=0)
        except TimeoutError:
            if waits:
                log.warning("%s", waits)
            try:
                lock.acquire(timeout=seconds)
            except TimeoutError as error:
                raise held from error
    try:
        yield
    finally:
        lock.release()


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
        mode: its permissions; None means the usual ones. Until then, only the owner can read the scratch file.
        new: refuse to replace a file, even one that another process writes in the meantime.
        scratch: the scratch file, on the same file system; the default is a hidden file in the same folder.

    Raises:
        FileUnwritable: the file exists and ``new`` is set; or the system refuses to write, rename or sync.
    """
    path = Path(path)
    scratch = scratch or path.with_name(f".{secrets.token_hex(8)}.{path.name}")
    with explaining(f"write {path}", FileUnwritable):
        try:
            scratch.unlink(missing_ok=True)  # a crash may have left it, or somebody put a link there
            scratch.touch(mode=0o666 if mode is None else 0o600, exist_ok=False)
            yield scratch
            with scratch.open("r+b") as file:
                os.fsync(file.fileno())
            if mode is not None:
                scratch.chmod(mode)
            if new:
                _take_new_name(scratch, path)
            else:
                scratch.replace(path)
        except FileExistsError as error:
            raise FileUnwritable(f"{path} exists already; it is not overwritten") from error
        finally:
            with suppress(OSError):
                scratch.unlink(missing_ok=True)  # it is there after an error, and where a link gave it the new name
        _sync_folder(path.parent)


def _take_new_name(scratch: Path, path: Path) -> None:
    """Give a file an unused name. A hard link cannot replace a file; a rename could.

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


def _sync_folder(folder: Path) -> None:
    """Write the folder's new entry to disk, where the system supports it."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with suppress(OSError):  # some network file systems cannot
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

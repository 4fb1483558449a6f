"""Archives: zip, tar, and files packed by gzip, bzip2 or xz; and base64, which is packed for mail.

Nothing is written to disk, so names of members lead nowhere.
"""

from __future__ import annotations

import base64
import bz2
import gzip
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

from ctwl_decoder.errors import DocumentRefused, NotText
from ctwl_decoder.kinds import base64_in, wide_charset
from ctwl_decoder.words import said

from ..budget import Budget, OverBudget
from ..found import Member
from . import opens

_BROKEN = (BadZipFile, tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError, ValueError, NotImplementedError,
           KeyError)  # fmt: skip


@contextmanager
def sound() -> Iterator[None]:
    """Refuse a document that its parser finds broken."""
    try:
        yield
    except _BROKEN as error:
        raise DocumentRefused(said("reason-broken")) from error


def open_zip(data: bytes) -> ZipFile:
    """An open zip file.

    Raises:
        DocumentRefused: it is broken.
    """
    with sound():
        return ZipFile(BytesIO(data))


def member(packed: ZipFile, name: str | ZipInfo, budget: Budget) -> bytes:
    """The bytes of a member; by its entry, where several have one name.

    Raises:
        DocumentRefused: it is not there, broken or locked, or would cost too much.
    """
    budget.count()
    with sound():
        info = packed.getinfo(name) if isinstance(name, str) else name
        if info.flag_bits & 1:
            raise DocumentRefused(said("reason-locked"))
        budget.check(info.file_size)
        with packed.open(info) as stream:
            return budget.unpack(stream, info.compress_size)


def member_or_refusal(packed: ZipFile, name: str | ZipInfo, budget: Budget) -> Member:
    """A member, or why it is not read.

    Raises:
        OverBudget: it would cost too much.
    """
    called = name if isinstance(name, str) else name.filename
    try:
        return Member(called, member(packed, name, budget))
    except OverBudget:
        raise
    except DocumentRefused as error:
        return Member(called, error)


@opens("zip")
def zip_members(data: bytes, budget: Budget) -> Iterator[Member]:
    """The files in a zip file.

    Raises:
        DocumentRefused: it is broken or would cost too much.
    """
    with open_zip(data) as packed:
        for info in packed.infolist():
            if not info.is_dir() and not _is_hidden(info.filename):
                yield member_or_refusal(packed, info, budget)


@opens("tar")
def tar_members(data: bytes, budget: Budget) -> Iterator[Member]:
    """The files in a tar file; links lead nowhere.

    Raises:
        DocumentRefused: it is broken or would cost too much.
    """
    with sound(), tarfile.open(fileobj=BytesIO(data), mode="r:") as packed:
        for info in packed:
            budget.count()
            stream = packed.extractfile(info) if info.isreg() and not _is_hidden(info.name) else None
            if stream is not None:
                budget.check(info.size)
                yield Member(info.name, budget.unpack(stream, info.size))


def _is_hidden(name: str) -> bool:
    """Whether a system wrote a member for itself."""
    return any(part.startswith((".", "__MACOSX")) for part in name.split("/") if part not in (".", ".."))


@opens("packed")
def packed_member(data: bytes, budget: Budget) -> Iterator[Member]:
    """What gzip, bzip2 or xz packed.

    Raises:
        DocumentRefused: it is broken or would cost too much.
    """
    openers: dict[bytes, Callable[[BytesIO], Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open}
    opener = next((openers[begin] for begin in openers if data.startswith(begin)), lzma.open)
    with sound(), opener(BytesIO(data)) as stream:
        yield Member("", budget.unpack(stream, len(data)))


@opens("base64")
def base64_member(data: bytes, _: Budget) -> Iterator[Member]:
    """What base64 is of, in either of its alphabets.

    Raises:
        DocumentRefused: it is broken.
    """
    letters = b"".join((base64_in(data) or b"").translate(_ALPHABET).split())
    with sound():
        found = base64.b64decode(letters + b"=" * (-len(letters) % 4))
    yield Member("", found)


_ALPHABET = bytes.maketrans(b"-_", b"+/")


@opens("wide")
def wide_member(data: bytes, _: Budget) -> Iterator[Member]:
    """A text whose characters have two or four bytes, as UTF-8.

    Raises:
        NotText: it is broken.
    """
    try:
        yield Member("", data.decode(wide_charset(data) or "utf-16").encode())
    except UnicodeError as error:
        raise NotText(said("refused-not-text")) from error

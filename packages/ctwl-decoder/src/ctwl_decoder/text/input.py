"""Input: the bytes of a file or of standard input, and plain text in bytes."""

from __future__ import annotations

import errno
import re
import sys

from ctwl_protocol.files import read_bounded, what_helps

from ..errors import InputTooLarge, InputUnreadable, NotOpened, NotText
from ..kinds import LINK, refusal
from ..options import MAX_BYTES

_SURROGATE = re.compile("[\ud800-\udfff]")

_SAVE = "save it as plain text (UTF-8) first"
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{1,20}://", re.I)


def has_surrogates(text: str) -> bool:
    """Whether a string has lone surrogates, so that it is no Unicode text."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def text_of(data: bytes, name: str, charset: str = "utf-8") -> str:
    """The text in bytes that should be of a charset.

    Raises:
        NotText: they are not, or hold the character 0.
    """
    try:
        text = data.decode(charset)
    except UnicodeDecodeError as error:
        wrong = data[error.start : error.start + 1].hex()
        where = "" if b"\0" in data else f" (byte {error.start}, 0x{wrong}, is not {charset.upper()})"
        raise NotText(f"{name} is no plain text{where}; {_SAVE}") from error
    if "\0" in text:
        raise NotText(f"{name} is no plain text; {_SAVE}")
    return text


def read_bytes(name: str, most: int = MAX_BYTES) -> bytes:
    """The bytes of a file, or of standard input for ``-``.

    Raises:
        InputUnreadable: it cannot be opened or read.
        InputTooLarge: it has more than ``most`` bytes.
        NotOpened: it is the address of a page.
    """
    if not name:
        raise InputUnreadable("the file's name is empty; name a text file, or - for standard input")
    try:
        if name == "-" and sys.stdin is None:
            raise InputUnreadable("standard input is closed; name a text file, or pipe a text in")
        return read_bounded(sys.stdin.buffer if name == "-" else name, most)
    except IsADirectoryError as error:
        raise InputUnreadable(f"{name} is a folder, and one file is asked for; name a file in it") from error
    except OSError as error:
        if _ADDRESS.match(name):
            raise NotOpened(f"{name}: {refusal(LINK)}") from error
        if error.errno == errno.EFBIG:
            raise InputTooLarge(f"{shown(name)} has more than {most} bytes; cut it into parts") from error
        raise InputUnreadable(f"cannot read {shown(name)}: {error.strerror}{what_helps(error)}") from error


def shown(name: str) -> str:
    """What a message calls a file."""
    return "standard input" if name == "-" else name

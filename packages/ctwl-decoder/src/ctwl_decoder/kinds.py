"""What kind of file bytes are, by what stands in them; a name proves nothing.

``src/documents/kinds.json`` of ctwl-web has a row for each kind, which both readers follow:

- ``name``: what a message calls it; ``advice``: what to do where it is not opened, as the page does not.
- ``begins``: what the first line of text or other bytes begins with, if no space is behind it: people write sentences
  about files. ``bytes``: characters and their place, in a file that is no text.
- ``pattern``: what a text begins with; ``xml``: the same, after what stands before the first element.
- ``members``: what all are in a zip of this kind, folders with a ``/``.
- ``dialect``: how its XML holds words, or a kind with the same XML.
- ``file``, ``forms``: what help and pages call it.
- ``read``: what is read of it, or a kind of which the same is read; a kind without it is not opened by ``ctwl-decode``.
  ``browser``: what the page reads of it, if that is something else.
- ``plain``: words stand in its bytes as they are; ``send``: the page offers to have a service open it.

A kind that is shown otherwise is told here.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from .errors import NotOpened
from .words import kind_rows, said, say

_BEGINNING = 1 << 14
"""Bytes of the beginning that tell the kind of a text."""

_HEAD = 1 << 18
"""Bytes of the head of a mail: one to many people that passed many servers has tens of thousands."""


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Attributes:
        name: its row's.
    """

    name: str

    @property
    def row(self) -> dict[str, Any]:
        """What both readers know of it."""
        return kind_rows()[self.name]

    @property
    def opened(self) -> bool:
        """Whether its words are read."""
        return "read" in self.row

    @property
    def called(self) -> str:
        """What a message calls it."""
        return say(f"kind-{self.name}")


KINDS = tuple(map(Kind, kind_rows()))
PDF, MAIL, WIDE, QUOTED, BASE64, ZIP, LINK = map(Kind, ("pdf", "mail", "wide", "quoted", "base64", "zip", "link"))

_SIGNS = [(sign.encode("latin-1"), kind) for kind in KINDS for sign in kind.row.get("begins", ())]
_MAGIC = [(magic.encode("latin-1"), place, kind) for kind in KINDS for magic, place in kind.row.get("bytes", ())]

_CONTROL = re.compile(rb"[\0-\x06\x0e-\x1a\x1c-\x1f]")
"""No text has these characters."""

_XML = r"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!--(?:(?!-->)[\s\S]){0,2000}-->\s*)*"
_XML += r"(?:<!doctype\s+plist[^>]{0,200}>\s*)?"


def _patterns(row: dict[str, Any]) -> Iterator[re.Pattern[bytes]]:
    """What texts of a kind begin with, if a pattern shows it."""
    if "xml" in row:
        yield re.compile(f"{_XML}{row['xml']}".encode("latin-1"), re.I)
    if "pattern" in row:
        yield re.compile(row["pattern"].encode("latin-1"))


_PATTERNS = [(pattern, kind) for kind in KINDS for pattern in _patterns(kind.row)]
_LEAD = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:(\d{1,9})[ \t]*\r?\n)?")
"""What stands before a mail: Apple's program writes the number of its bytes."""

_NAME = rb"[!-9;-~]{1,998}:"
_HEADER = _NAME + rb"[^\n]*\n(?:[ \t][^\n]*\n)*"  # one way to match a line end, or time doubles
_MAIL = re.compile(rb"(?=[Cc]ontent-[Tt]|[^\n]*\n[^\r\n])(?:From [^\n]*\n)?(?:" + _HEADER + rb"){1,400}\r?\n")
"""The head of a mail; one header alone may begin prose, too."""

_HEADER_OF_MAIL = (
    rb"(?:mime-version:\s*\d\.\d|message-id:\s*<|content-(?:type|transfer-encoding|disposition):\s*"
    rb"(?:(?:text/(?:plain|html)|(?:multipart|message)/[\w-]+)|inline|attachment|form-data|[78]-?bit"
    rb"|binary|base64|quoted-printable|(?:x-)?uue(?:ncode)?)[ \t]*(?:;|\r?\n))"
)
"""No person types these values, and web servers send few: notes and essays have others below the same names."""

_OF_MAIL = re.compile(b"^" + _HEADER_OF_MAIL, re.I | re.M)
_LEAST = [
    re.compile(rb"^date:[^\n]*\d:\d\d:\d\d +(?:[+-]\d{4}|[a-z]{3})", re.I | re.M),
    re.compile(rb"^from[: ][^\n]*@", re.I | re.M),
]
"""Every mail has these, with seconds, a zone and an address, which letters and talks do not have."""

_PARTS = re.compile(
    rb"(?:[^\n]{0,200}\n){0,5}?--(?!-*\s)([^\s\"]{1,70})[ \t]*\r?\n"
    rb"(?=(?:" + _HEADER + rb"){0,9}?" + _HEADER_OF_MAIL + b")",
    re.I,
)
"""Begins the body of a mail whose head is cut off."""

_ENCODED = re.compile(rb"^content-transfer-encoding:\s*(?:base64|quoted-printable|(?:x-)?uue)", re.I | re.M)
_BASE64 = re.compile(rb"(?:data:[^,\s]{0,100};base64,)?([A-Za-z0-9+/_\s-]{100,}+)={0,2}\s*")
_RUN = re.compile(rb"\s*[A-Za-z0-9+/_-]{50}")
_SOFT_BREAK = re.compile(rb"^[^\n]{49,74}[^\n=](?<![A-Za-z0-9+/]{40})=\r?$", re.M)
_NOT_QUOTED = re.compile(rb"=(?![0-9A-Fa-f]{2}|[ \t]*\r?(?:\n|\Z)|[0-9A-Fa-f]\Z)")
"""In quoted-printable text an equals sign begins a code or a line's soft end."""


def outer_kind(data: bytes) -> Kind | None:
    """The kind of a file by its first bytes, in no time for any file; None for plain text, and for what nobody knows.

    Documents that are zip archives are so called.
    """
    line = data[:1024].partition(b"\n")[0].partition(b"\r")[0].rstrip()
    if sign := next((kind for sign, kind in _SIGNS if line.startswith(sign) and b" " not in line[len(sign) :]), None):
        return sign
    is_text = _is_text(data[:1024])
    found = next((kind for magic, place, kind in _MAGIC if data.startswith(magic, place)), None)
    if found and not is_text:
        return found
    if b"%PDF-" in data[:1024] and (not is_text or b"%%EOF" in data[-1024:]):  # a header may stand before it
        return PDF
    return WIDE if wide_charset(data) else _kind_of_text(data)


def _is_text(beginning: bytes) -> bool:
    """Whether the beginning of a file is text in UTF-8."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(beginning)
    except UnicodeDecodeError:
        return False
    return _CONTROL.search(beginning) is None


def _kind_of_text(data: bytes) -> Kind | None:
    """The kind of what is written in ASCII characters."""
    beginning = data[:_BEGINNING]
    if mail_in(data[:_HEAD]):
        return MAIL
    if base64_in(data):
        return BASE64
    if len(_SOFT_BREAK.findall(beginning)) > 2 and not _NOT_QUOTED.search(beginning):
        return QUOTED
    return next((kind for pattern, kind in _PATTERNS if pattern.match(beginning)), None)


def kind_of_zip(names: Collection[str]) -> Kind:
    """The kind of a zip by the names of its members."""
    known = {*names, *(name[: name.index("/") + 1] for name in names if "/" in name)}
    return next((kind for kind in KINDS if "members" in kind.row and known.issuperset(kind.row["members"])), ZIP)


def mail_in(data: bytes) -> bytes | None:
    """The mail, or the mails, that bytes are, without what programs write around it; None of others.

    A body whose head is cut off gets one.
    """
    data = _with_line_ends(data)
    lead = _LEAD.match(data)
    start, size = (lead.end(), lead[1]) if lead else (0, None)
    end = start + int(size) if size else len(data)
    mail = data[start:end] if data.startswith(b"<?xml", end) else data[start:]  # Apple's program writes this behind it
    head = _MAIL.match(mail[:_HEAD])
    if head and (_OF_MAIL.search(head[0]) or all(each.search(head[0]) for each in _LEAST)):
        return mail
    parts = _PARTS.match(mail[:_BEGINNING])
    if not parts or _behind(mail, b"--" + parts[1] + b"--"):
        return None
    return b'Content-Type: multipart/mixed; boundary="' + parts[1] + b'"\n\n' + mail


def _behind(data: bytes, end: bytes) -> bytes:
    """What stands behind the end of the last part: words about a mail, which is an example in them."""
    return data.rpartition(end)[2].strip() if end in data else b""


def _with_line_ends(data: bytes) -> bytes:
    """A text whose lines ended in CR, or in CR CR LF, in whose beginning this shows."""
    beginning = data[:_BEGINNING]
    if b"\r\r\n" in beginning:
        return data.replace(b"\r\r\n", b"\r\n")
    return data if b"\n" in beginning else data.replace(b"\r", b"\n")


def refusal(kind: Kind) -> NotOpened:
    """Why a file of a kind is not opened."""
    return NotOpened(said("refused-not-opened", kind=kind.called, advice=say(f"advice-{kind.name}")))


def hides_words(text: str) -> Kind | None:
    """The kind of a text that is a container, so that its words cannot be read in it; None where they can."""
    data = text.encode("utf-8", "surrogatepass")
    kind = outer_kind(data)
    if kind is None or kind.row.get("plain") or (kind == MAIL and not _ENCODED.search(mail_in(data) or b"")):
        return None
    return kind


def base64_in(data: bytes) -> bytes | None:
    """The letters of base64 that bytes are: of both cases and digits, without the spaces of words. None of others."""
    whole = _BASE64.fullmatch(data)
    run = whole and _RUN.match(whole[1])
    if not whole or not run or not all(re.search(kind, run[0]) for kind in (rb"[a-z]", rb"[A-Z]", rb"[0-9]")):
        return None
    return whole[1]


def wide_charset(data: bytes) -> str | None:
    """The charset of a text whose characters have two or four bytes, by its mark, or by where bytes are 0."""
    for mark, charset in _MARKS.items():
        if data.startswith(mark):
            return charset
    half = min(len(data), _BEGINNING) // 2
    first, second = (data[start : 2 * half : 2].count(0) for start in (0, 1))
    if max(first, second) > half / 2 and min(first, second) <= half / 20:
        return "utf-16-le" if second > first else "utf-16-be"
    return None


_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""The longer ones first: they begin as the others."""

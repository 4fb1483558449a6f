"""Mail: the words of its parts, in the order in which they stand; of alternatives the first that is not cut short."""

from __future__ import annotations

import base64
import binascii
import quopri
import re
from collections.abc import Iterator
from contextlib import suppress
from email import message_from_bytes, policy
from email.errors import MissingHeaderBodySeparatorDefect
from email.message import EmailMessage
from typing import cast

from ctwl_decoder.kinds import mail_in

from .. import html
from ..budget import Budget, OverBudget
from ..found import Member, broken, plain
from . import opens
from .archives import sound

_FIRST = re.compile(rb"^From (?=[^\n]*\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b)[^\n]*\n(?=[!-9;-~]{1,998}:)", re.M)
"""The line before each mail in a file of several: who sent it, and when."""

_UUENCODED = re.compile(r"^begin [0-7]{3,4} ([^\r\n]+)\r?\n[ -`\r\n]*^end[ \t]*\r?$", re.M)
"""A file between the words, as programs attach it to mail without parts."""

_ANEW = re.compile(r"[A-Za-z0-9+/\s]*=[=\s]*[A-Za-z0-9+/][A-Za-z0-9+/=\r\n]*")
"""Base64 that begins anew behind its end, and no words behind it."""

_PAGE = re.compile(r"text/(?:[a-z-]*-)?html")
"""The type of a part that is HTML, for all programs or for some."""


@opens("quoted")
def unquoted(data: bytes, _: Budget) -> str:
    """The text that quoted-printable text is of."""
    return plain(quopri.decodestring(data))


@opens("mail")
def members(data: bytes, budget: Budget) -> Iterator[Member]:
    """The words of each mail, and its attachments.

    Raises:
        DocumentRefused: it would cost too much.
    """
    data = mail_in(data) or data
    others = [found.start() for found in _FIRST.finditer(data, 1)] if data.startswith(b"From ") else []
    starts, ends = [0, *others], [*others, len(data)]
    for number, (start, end) in enumerate(zip(starts, ends, strict=True), 1):
        budget.count()
        name = f"mail {number}" if len(starts) > 1 else ""
        try:
            parts = list(_parts(data[start:end], name, budget))
        except (OverBudget, MemoryError):
            raise
        except Exception as error:  # the mails around it are read all the same
            parts = [Member(name, broken(error))]
        yield from parts


def _parts(data: bytes, name: str, budget: Budget) -> Iterator[Member]:
    words, attached = _read(message_from_bytes(data, policy=policy.default), budget)
    body = "\n\n".join(words)
    if body or not attached:
        yield Member(name, body.encode("utf-8", "replace"))
    yield from attached


def _read(part: EmailMessage, budget: Budget) -> tuple[list[str], list[Member]]:
    """The words of a part of a mail and of the parts in it, and what is attached."""
    budget.count()
    if part.get_content_type() == "message/rfc822" and (packed := _packed(part)):
        return [], [Member(part.get_filename() or "mail", packed)]
    if part.is_multipart():
        inner = [_read(cast(EmailMessage, each), budget) for each in part.get_payload()]
        if part.get_content_subtype() == "alternative":
            inner = [(_chosen([words for words, _ in inner]), [each for _, attached in inner for each in attached])]
        return [text for words, _ in inner for text in words], [each for _, attached in inner for each in attached]
    kind, file = part.get_content_type(), part.get_filename()
    page = _PAGE.fullmatch(kind)
    if (page or kind == "text/plain") and not (file or part.is_attachment()):
        text, files = _text(part), list[Member]()
        if page:
            text = html.words_of(text)
        else:
            files = [_uudecoded(found, budget) for found in _UUENCODED.finditer(text)]
            text = _unflowed(_UUENCODED.sub("", text), part)
        return list(filter(None, [text.strip()])), files
    if part.get_content_maintype() in ("image", "audio", "video") and not part.is_attachment():
        return [], []
    return [], [Member(file or kind, _content(part))]


def _packed(part: EmailMessage) -> bytes | None:
    """The mail that a part of a mail has packed, as no standard allows and many programs write; None of others."""
    inner = cast(EmailMessage, part.get_payload(0)) if part.is_multipart() else part
    packing = str(part.get("Content-Transfer-Encoding", "")).strip().lower()
    given, headers = inner.get_payload(), inner is not part and bool(inner.keys())
    if packing == "quoted-printable" and headers:  # which leaves the first headers as they are
        whole = inner.as_bytes(policy=policy.SMTP.clone(refold_source="none"))
        if any(isinstance(each, MissingHeaderBodySeparatorDefect) for each in inner.defects):
            whole = whole.replace(b"\r\n\r\n", b"\r\n", 1)  # a header was packed, and taken for the body's beginning
        with sound():
            return quopri.decodestring(whole)
    if packing not in ("base64", "quoted-printable") or headers or not isinstance(given, str):
        return None
    data = given.encode("ascii", "surrogateescape")
    with sound():
        return base64.b64decode(data) if packing == "base64" else quopri.decodestring(data)


def _chosen(alternatives: list[list[str]]) -> list[str]:
    """The first alternative, mostly the plain one, that has at least half of the words of each other.

    Some programs write no more into the plain one than that the mail is a page.
    """
    lengths = [sum(map(len, words)) for words in alternatives]
    return next((words for words, size in zip(alternatives, lengths, strict=True) if 2 * size >= max(lengths)), [])


def _text(part: EmailMessage) -> str:
    charset = part.get_content_charset() or (None if _PAGE.fullmatch(part.get_content_type()) else "utf-8")
    return html.decoded(_content(part), charset)


def _content(part: EmailMessage) -> bytes:
    """The bytes of a part. Base64 may begin anew behind its end, where a program on the way added some."""
    given, packing = part.get_payload(), str(part.get("Content-Transfer-Encoding", "")).strip().lower()
    if packing == "base64" and isinstance(given, str) and _ANEW.fullmatch(given):
        with suppress(binascii.Error):
            return b"".join(base64.b64decode(piece + "==") for piece in given.split("=") if piece.strip())
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def _uudecoded(found: re.Match[str], budget: Budget) -> Member:
    budget.count()
    part = EmailMessage()
    part["Content-Transfer-Encoding"] = "x-uuencode"
    part.set_payload(found[0])
    content = part.get_payload(decode=True)
    return Member(found[1].strip(), content if isinstance(content, bytes) else b"")


def _unflowed(text: str, part: EmailMessage) -> str:
    """A text whose lines go on where they end in a space, where the mail says so (RFC 3676)."""
    text = text.replace("\r\n", "\n")
    flowed, joined = (str(part.get_param(name, "")).lower() for name in ("format", "delsp"))
    if flowed != "flowed":
        return text
    return re.sub(r"(?m)(?<!^--) \n(?=[^\n>])", "" if joined == "yes" else " ", text)

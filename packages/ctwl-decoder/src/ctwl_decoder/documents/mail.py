"""Mail: the words of its parts, in the order in which they stand; of alternatives the plain one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import cast

from . import html
from .archives import Member
from .budget import Budget

_FIRST = re.compile(rb"^From [^\n]*\n(?=[A-Za-z-]+:)", re.M)
"""The line before each mail in a file of several."""


def members(data: bytes, budget: Budget) -> Iterator[Member]:
    """The words of each mail, and its attachments.

    Raises:
        DocumentRefused: it would cost too much.
    """
    starts = [found.end() for found in _FIRST.finditer(data)] or [0]
    ends = [*[found.start() for found in _FIRST.finditer(data)][1:], len(data)]
    for number, (start, end) in enumerate(zip(starts, ends, strict=True), 1):
        budget.count()
        name = f"mail {number}" if len(starts) > 1 else ""
        yield from _parts(data[start:end], name, budget)


def _parts(data: bytes, name: str, budget: Budget) -> Iterator[Member]:
    mail = message_from_bytes(data, policy=policy.default)
    words: list[str] = []
    attached: list[Member] = []
    for part in _leaves(mail, budget):
        kind, file = part.get_content_type(), part.get_filename()
        if kind in ("text/plain", "text/html") and not (file or part.is_attachment()):
            text = _text(part)
            words.append(html.words_of(text) if kind == "text/html" else _unflowed(text, part))
        elif part.get_content_maintype() not in ("image", "audio", "video") or part.is_attachment():
            content = part.get_payload(decode=True)
            attached.append(Member(file or kind, content if isinstance(content, bytes) else b""))
    body = "\n\n".join(text.strip() for text in words if text.strip())
    if body or not attached:
        yield Member(name, body.encode("utf-8", "replace"))
    yield from attached


def _leaves(mail: EmailMessage, budget: Budget) -> Iterator[EmailMessage]:
    """The parts of a mail that hold no others; of alternatives one."""
    waiting = [mail]
    while waiting:
        part = waiting.pop()
        budget.count()
        if not part.is_multipart():
            yield part
            continue
        inner = [cast(EmailMessage, each) for each in part.get_payload()]
        if part.get_content_subtype() == "alternative":
            inner = [next((each for each in inner if each.get_content_type() == "text/plain"), inner[-1])]
        waiting += reversed(inner)


def _text(part: EmailMessage) -> str:
    data = part.get_payload(decode=True)
    data = data if isinstance(data, bytes) else b""
    try:
        return data.decode(part.get_content_charset("utf-8"))
    except (LookupError, UnicodeDecodeError):
        return data.decode("cp1252", "replace")


def _unflowed(text: str, part: EmailMessage) -> str:
    """A text whose lines go on where they end in a space, where the mail says so (RFC 3676)."""
    text = text.replace("\r\n", "\n")
    if part.get_param("format") != "flowed":
        return text
    return re.sub(r"(?m)(?<!^--) \n(?=[^\n>])", "" if part.get_param("delsp") == "yes" else " ", text)

"""What a detector is asked from outside: questions that it answers or refuses (spec section 20)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ctwl_protocol import CTWLError
from ctwl_protocol.asking import MAX_ANSWER, MAX_QUESTION, Answer, Question
from ctwl_protocol.schema import read_json

from .texts import human_passage

STATUSES = {"ok": 200, "question-malformed": 400, "format-unknown": 400, "input-too-large": 413}
"""By the answers of the vectors of ``question``."""

LEAST = 20_000
"""Characters that each detector takes; of what has more bytes it may say that it is too large."""

NUMBERED = '"provider": 42'
"""So the vectors name the provider; the detector's own number is asked in its place."""


@dataclass(frozen=True)
class Request:
    """A POST, and what must become of it.

    Attributes:
        name: of the case.
        comment: what it is about.
        body: from the provider's number to the bytes that are sent.
        expected: status and code; the code is empty for an answer.
        or_else: another status and code that is right too.
        media_type: of the body.
        authorized: whether the adapter adds its token.
    """

    name: str
    comment: str
    body: Callable[[int], bytes]
    expected: tuple[int, str] = (200, "")
    or_else: tuple[int, str] | None = None
    media_type: str = "application/json"
    authorized: bool = True

    def wrong(self, provider: int, status: int, body: bytes) -> str:
        """What is wrong with the answer; empty where nothing is."""
        return wrong(self.body(provider), status, body, self.expected, self.or_else)


def wrong(
    asked: bytes, status: int, body: bytes, expected: tuple[int, str], or_else: tuple[int, str] | None = None
) -> str:
    """What is wrong with an answer; empty where nothing is."""
    if status == 200:
        try:
            Answer.from_bytes(body, Question.from_bytes(asked))
        except CTWLError as error:
            return f"status 200, but {error}" if expected[0] == 200 else f"status 200; expected {expected[0]}"
    found = (status, "" if status == 200 else code_in(body))
    if found in (expected, or_else):
        return ""
    return f"status {status} with the code {found[1]!r}; expected {' '.join(map(str, expected)).strip()}"


def code_in(body: bytes) -> str:
    """The code of a refusal; empty where it has none."""
    try:
        code = read_json(body[:MAX_ANSWER])["code"]
    except (ValueError, LookupError, TypeError):
        return ""
    return str(code)


def question(provider: int, text: str, **changed: Any) -> bytes:
    """A question as JSON."""
    told = {"format": "ctwl-question/1", "provider": provider, "text": text, "level": 0.05, "keep_days": 0} | changed
    return json.dumps(told, ensure_ascii=False).encode()


def _human(size: int) -> str:
    return human_passage(0.3, size)


REQUESTS = (
    Request("answers", "a text by people", lambda n: question(n, _human(800))),
    Request("strict-level", "a level of 1e-12", lambda n: question(n, _human(800), level=1e-12)),
    Request("short", "a text of one character", lambda n: question(n, "a")),
    Request("long", "a text of 20,000 characters", lambda n: question(n, _human(LEAST))),
    Request("characters", "characters beyond 16 bits, marks, controls, no letters", lambda n: question(
        n, "\U0001f680e\u0301\u202e\u0000\r\n\u2028" * 40)),
    Request("may-be-kept", "a text that may be kept for 366 days", lambda n: question(n, _human(800), keep_days=366)),
    Request("charset", "a media type with a charset", lambda n: question(n, _human(800)),
            media_type="application/json; charset=utf-8"),
    Request("media-type", "another media type", lambda n: question(n, _human(80)), (415, "unsupported-type"),
            media_type="text/plain"),
    Request("other-provider", "another provider", lambda n: question(n ^ 512, _human(80)), (422, "provider-unknown")),
    Request("too-large", "a body of more than a mebibyte", lambda n: question(n, "a" * MAX_QUESTION),
            (413, "input-too-large")),
    Request("no-token", "without a token: a public detector answers", lambda n: question(n, _human(80)),
            (401, "token-refused"), (200, ""), authorized=False),
)  # fmt: skip
"""The cases of the family ``asked``."""

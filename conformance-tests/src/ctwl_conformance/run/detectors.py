"""What a detector is asked from outside: questions that it answers or refuses (spec section 20)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ctwl_protocol import CTWLError
from ctwl_protocol.asking import MAX_ANSWER, MAX_QUESTION, Answer, Question
from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.schema import read_json

from ..adapter.messages import Heard, Started
from .texts import human_passage

STATUSES = {"ok": 200, "question-malformed": 400, "format-unknown": 400, "input-too-large": 413}
"""By the answers of the vectors of ``question``."""

LEAST = NUMBERS.asking.least_characters
"""Characters that each detector takes; of what has more bytes it may say that it is too large."""


@dataclass(frozen=True)
class Request:
    """A POST, and what must become of it.

    Attributes:
        name: name of the case.
        section: section of the specification that the case tests.
        comment: what the case is about.
        body: from what the detector says of itself to the bytes that are sent.
        expected: status and code; the code is empty for an answer.
        also_right: another status and code that is right, too.
        outcome: outcome that an answer must have; empty where any is right.
        media_type: media type of the body.
        authorized: whether the adapter adds its token.
    """

    name: str
    section: str
    comment: str
    body: Callable[[Started], bytes]
    expected: tuple[int, str] = (200, "")
    also_right: tuple[int, str] | None = None
    outcome: str = ""
    media_type: str = "application/json"
    authorized: bool = True

    def wrong(self, told: Started, heard: Heard) -> str:
        """What is wrong with the answer; empty where nothing is."""
        if what := wrong(self.body(told), heard, self.expected, self.also_right):
            return what
        found = json.loads(bytes.fromhex(heard.body))["outcome"] if self.outcome else ""
        return "" if found == self.outcome else f"the outcome is {found}; expected {self.outcome}"


def wrong(asked: bytes, heard: Heard, expected: tuple[int, str], also_right: tuple[int, str] | None = None) -> str:
    """What is wrong with what a detector answers to a body; empty where nothing is."""
    body = bytes.fromhex(heard.body)
    wanted = " or ".join(" ".join(map(str, each)).strip() for each in (expected, also_right) if each)
    if heard.status == 200 and (200, "") in (expected, also_right):
        if heard.media_type != "application/json":
            return f"status 200, but its media type is {heard.media_type!r}; expected 'application/json'"
        try:
            Answer.from_bytes(body, Question.from_bytes(asked))
        except CTWLError as error:
            return f"status 200, but {error}"
        return ""
    code = code_in(body)
    if heard.status != 200 and (heard.status, code) in (expected, also_right):
        return ""
    return f"status {heard.status}{f' with the code {code!r}' if heard.status != 200 else ''}; expected {wanted}"


def code_in(body: bytes) -> str:
    """The code of a refusal; empty where it has none."""
    try:
        code = read_json(body[:MAX_ANSWER])["code"]
    except (ValueError, LookupError, TypeError):
        return ""
    return str(code)


def question(told: Started, text: str, **changed: Any) -> bytes:
    """A question to a detector as JSON: for its own provider, at the level of human texts, to be kept as it does."""
    asked = {"format": "ctwl-question/1", "provider": told.provider, "text": text, "level": 0.05}
    return json.dumps(asked | {"keep_days": told.keep_days} | changed, ensure_ascii=False).encode()


def own_question(body: bytes, told: Started) -> bytes:
    """A vector's question for a detector: with its own provider and days, and as many bytes, where that can be."""
    own = body.replace(b'"provider": 42', b'"provider": %d' % (told.provider or 0))
    own = re.sub(rb'"keep_days": ?0(?=[\s,}])', b'"keep_days": %d' % told.keep_days, own)
    longer = len(own) - len(body)
    return own[:-longer] if longer > 0 and not own[-longer:].strip() else own.ljust(len(body))


def _human(size: int) -> str:
    return human_passage(0.3, size)


REQUESTS = (
    Request("answers", "20.2", "a text by people", lambda n: question(n, _human(800))),
    Request("strict-level", "20.2", "a level of 1e-12", lambda n: question(n, _human(800), level=1e-12)),
    Request("short", "20.2", "a text of one character", lambda n: question(n, "a")),
    Request("long", "20.3", f"a text of {LEAST:,} characters", lambda n: question(n, _human(LEAST))),
    Request("escapes", "20.3", f"a text of {LEAST:,} characters, each written as an escape of 12 bytes",
            lambda n: question(n, "x").replace(b'"x"', b'"%s"' % (b"\\ud83d\\ude80" * LEAST))),
    Request("characters", "20.1", "characters beyond 16 bits, marks, controls, no letters", lambda n: question(
        n, "\U0001f680e\u0301\u202e\u0000\r\n\u2028" * 40)),
    Request("may-be-kept", "20.1", "a text that may be kept for 366 days",
            lambda n: question(n, _human(800), keep_days=NUMBERS.asking.days)),
    Request("not-kept", "20.3", "a text that must not be kept: who keeps it refuses",
            lambda n: question(n, _human(800), keep_days=0), (200, ""), (422, "keep-refused")),
    Request("charset", "20.1", "a media type with a charset", lambda n: question(n, _human(800)),
            media_type="application/json; charset=utf-8"),
    Request("media-type", "20.3", "another media type", lambda n: question(n, _human(80)), (415, "unsupported-type"),
            media_type="text/plain"),
    Request("other-provider", "20.3", "another provider",
            lambda n: question(n, _human(80), provider=(n.provider or 0) ^ 512), (422, "provider-unknown")),
    Request("too-large", "20.3", "a body of more than a mebibyte", lambda n: question(n, "a" * MAX_QUESTION),
            (413, "input-too-large")),
    Request("no-token", "20.3", "without the token that the adapter has, if any: answered in public, or refused",
            lambda n: question(n, _human(80)), (200, ""), (401, "token-refused"), authorized=False),
)  # fmt: skip
"""The cases of the family ``asked``."""

FOUND = Request("found", "20.2", "a text of the maker's own", lambda n: question(n, n.found or ""), outcome="found")
"""A further one, where the maker names a text."""


def requests_of(told: Started | None) -> Sequence[Request]:
    """What a detector is asked."""
    return (*REQUESTS, FOUND) if told and told.found else REQUESTS

"""What an implementation in Python needs to be an adapter."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO

from pydantic import ValidationError

from ctwl_protocol import CTWLError
from ctwl_protocol.records.record import Record
from ctwl_protocol.schema import describe_error

from .messages import (
    MAX_LINE,
    REQUEST,
    Ask,
    Body,
    Decode,
    Decoded,
    Encode,
    Encoded,
    Heard,
    Malformed,
    Request,
    Start,
    Started,
    Stop,
    Stopped,
    VectorRequest,
    read_line,
    write_line,
)


class NotDone(Exception):
    """The implementation does not support the request. The text is the reason of the skip."""


class Implementation:
    """What an adapter answers; a subclass overrides what it does.

    A :class:`ctwl_protocol.CTWLError` becomes an error with its status code, a :class:`NotDone` a declared skip. Any
    other exception ends the process, as it would in earnest.
    """

    def start(self) -> Started:
        """What it is; models are loaded here."""
        raise NotImplementedError

    def vector(self, family: str, data: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """The answer to an exact question."""
        raise NotDone(f"it answers no vectors of {family}")

    def encode(self, request: Encode) -> Encoded:  # noqa: ARG002
        """A text that carries a record."""
        raise NotDone("it writes no texts")

    def decode(self, request: Decode) -> Decoded:  # noqa: ARG002
        """What a text carries."""
        raise NotDone("it reads no texts")

    def ask(self, request: Ask) -> Heard:  # noqa: ARG002
        """What its detector answers."""
        raise NotDone("it is no detector")

    def answer(self, request: Request) -> Body:
        """The answer to any request."""
        match request:
            case Start():
                return self.start()
            case VectorRequest():
                return self.vector(request.family, request.input)
            case Stop():
                return Stopped()
        body: Body = getattr(self, request.op)(request)
        return body


def wanted(request: Encode, profile: str) -> Record:
    """The record of a request to an encoder without keys.

    Raises:
        NotDone: it is to be written under another profile, or has an authenticator.
        CTWLError: it is no record.
    """
    if request.profile != profile:
        raise NotDone(f"it writes under {profile} only")
    record = request.record.record()
    if record.layout.authenticated:
        raise NotDone("it was given no keys for an authenticator")
    return record


def serve(implementation: Implementation) -> int:
    """Answer requests from standard input until ``stop`` or its end; the exit status."""
    return answer_all(implementation.answer, *_streams())


def _streams() -> tuple[BinaryIO, BinaryIO]:
    """The streams of requests and replies. From now on, other output to standard output goes to standard error."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", closefd=False), encoding="utf-8", write_through=True)
    return sys.stdin.buffer, replies


def answer_all(answer: Callable[[Request], Body], requests: BinaryIO, replies: BinaryIO) -> int:
    """The loop of :func:`serve`, over any two streams; the exit status."""
    while line := requests.readline(MAX_LINE + 1):
        request, reply = _reply(answer, line)
        try:
            data = write_line(reply)
        except ValueError as error:
            data = write_line({"id": reply["id"], "error": {"status": "adapter-error", "message": str(error)}})
        replies.write(data)
        replies.flush()
        if isinstance(request, Stop) or len(line) > MAX_LINE:
            break
    return 0


def _reply(answer: Callable[[Request], Body], line: bytes) -> tuple[Request | None, dict[str, Any]]:
    value: Any = None
    try:
        if len(line) > MAX_LINE:
            raise Malformed(f"a line of more than {MAX_LINE} bytes")
        value = read_line(line)
        request = REQUEST.validate_python(value)
    except (Malformed, ValidationError) as error:
        known = value.get("id") if isinstance(value, dict) else None
        message = f"no request of this protocol: {describe_error(error)}"
        return None, {"id": known, "error": {"status": "request-malformed", "message": message}}
    try:
        body = answer(request)
    except NotDone as reason:
        return request, {"id": request.id, "skip": str(reason)}
    except CTWLError as error:
        return request, {"id": request.id, "error": {"status": error.code, "message": str(error)}}
    except Exception:
        traceback.print_exc()
        raise
    return request, {"id": request.id, "ok": body if isinstance(body, dict) else body.model_dump(mode="json")}

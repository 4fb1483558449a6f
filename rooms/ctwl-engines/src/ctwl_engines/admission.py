"""Before a server: refuses what cannot be done, or has no effect, with status 400 before an answer has begun.

A server parses JSON in its event loop, where nothing else runs meanwhile. So what a body may cost is bounded first.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ctwl_encoder.errors import OptionOutOfRange
from ctwl_protocol import CTWLError

from .request import Asked, is_ours, now_asked

_DEEPEST = 3
"""Objects in objects in which options are looked for, lists not counted. Chosen by hand: ``extra_body.vllm_xargs`` has
two, and the names of a schema's own stand deeper."""

_MOST_BYTES = 1 << 26
"""Of a body. Chosen by hand: 48 MB of pictures and films fit, and are parsed in a quarter of a second."""

_MOST_MARKS = {",[{": 1 << 18, ":": 1 << 16}
"""Of these characters in a body, in its texts too: each value of JSON has one of the first before it, each name one
after it, and a picture in base64 has none. Chosen by hand: 250,000 token ids fit, and ten million characters of prose.
So much is parsed in a tenth of a second."""

_MOST_DIGITS = 100
"""Of a whole number. Chosen by hand: seeds have 20; the time to parse grows with the square."""

_FORM = re.compile(r"\s*(multipart/.*|application/x-www-form-urlencoded)\s*(;|$)", re.IGNORECASE)
"""Content types that no server reads as JSON: a file to be transcribed is long and has characters of all kinds."""

NAME = "X-Request-ID"
"""The header with a request's name."""


class Admission:
    """An ASGI middleware before a server."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        check: Callable[[str, dict[str, Any]], None] = lambda *_: None,
        place: Callable[[str], Sequence[str]] = lambda _: (),
        key: str | None = None,
        names: bool = False,
    ) -> None:
        """Stand before a server.

        Args:
            app: the server.
            check: refuses a request by a CTWLError, from its path and its body.
            place: from a path to the names of the objects, each in the one before it, where the server reads options.
            key: what a client has to know, where the server would ask for it only after it has read the body.
            names: whether a request without a name gets one; the server then tells it.
        """
        self._app = app
        self._check = check
        self._place = place
        self._key = key
        self._names = names
        self._turn = asyncio.Lock()  # bodies are parsed one by one, and others are served in between

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it with status 400 and the body that OpenAI's clients expect."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        headers = MutableHeaders(scope=scope)
        if self._key is not None and not _has_key(headers.get("Authorization", ""), self._key):
            await JSONResponse({"detail": "Invalid API key"}, 401)(scope, receive, send)
            return
        if self._names:
            headers.setdefault(NAME, str(uuid.uuid4()))
        if _FORM.match(headers.get("Content-Type", "")):
            now_asked.set(Asked(name=headers.get(NAME, "")))
            await self._app(scope, receive, send)
            return
        try:
            message = await _whole(receive)
            async with self._turn:
                body = _object(message.get("body", b""))
                options = options_at(self._place(scope["path"]), body)
            now_asked.set(Asked(options, headers.get(NAME, "")))
            await run_in_threadpool(self._check, scope["path"], body)
        except CTWLError as error:
            told = {"message": f"ctwl: {error}", "type": "invalid_request_error", "param": None, "code": error.code}
            await JSONResponse({"error": told}, 400)(scope, receive, send)
            return

        messages = [message]

        async def again() -> Message:
            if not messages:
                return await receive()
            await self._turn.acquire()  # the server parses the body, too
            asyncio.get_running_loop().call_soon(self._turn.release)
            return messages.pop()

        await self._app(scope, again, send)


def options_at(place: Sequence[str], body: dict[str, Any]) -> dict[str, Any]:
    """The options in a request's body.

    Args:
        place: the names of the objects, each in the one before it, that have them.
        body: the body.

    Raises:
        OptionOutOfRange: one stands elsewhere, where it has no effect.
    """
    options: dict[str, Any] = {}
    objects: list[tuple[tuple[str, ...], dict[str, Any] | list[Any]]] = [((), body)]
    while objects:
        path, found = objects.pop()
        if isinstance(found, list):
            objects += ((path, each) for each in found if isinstance(each, dict | list))
            continue
        for name, value in found.items():
            if is_ours(name):
                if path != tuple(place):
                    where = f"the object {'.'.join(place)!r}" if place else "the body itself"
                    raise OptionOutOfRange(
                        f"{'.'.join((*path, name))!r:.80} has no effect; this server reads such options in {where}"
                    )
                options[name] = value
            elif isinstance(value, dict | list) and len(path) < _DEEPEST:
                objects.append(((*path, name), value))
    return options


def _has_key(authorization: str, key: str) -> bool:
    """Whether the header of a request has the key."""
    scheme, _, given = authorization.partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.encode(), key.encode())


async def _whole(receive: Receive) -> Message:
    """The message with a request's whole body, or that the client has left.

    Raises:
        OptionOutOfRange: the body is too long, or has too many parts.
    """
    body, marks, more = bytearray(), Counter[str](), True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return message
        piece = message.get("body", b"")
        body += piece  # pieces may be tiny, so none is kept
        more = message.get("more_body", False)
        if len(body) > _MOST_BYTES:
            raise OptionOutOfRange(
                f"the request has more than {_MOST_BYTES} bytes; send a shorter one, and large pictures or films by "
                "their address"
            )
        for kinds in _MOST_MARKS:
            marks[kinds] += sum(map(piece.count, kinds.encode()))
    for kinds, most in _MOST_MARKS.items():  # a client reads no answer before it has sent its body
        if marks[kinds] > most:
            raise OptionOutOfRange(
                f"the request has more than {most} times one of {' '.join(kinds)}; send a shorter one, several prompts "
                "one by one, and token ids as text"
            )
    return {"type": "http.request", "body": bytes(body), "more_body": False}


def _object(body: bytes) -> dict[str, Any]:
    """The JSON object of a body; empty where it is none, which the server says itself.

    Raises:
        OptionOutOfRange: a number is too long, a name stands twice in an object, or lists or objects stand too deep in
            one another.
    """
    try:
        found = json.loads(body, parse_int=_integer, object_pairs_hook=_named)
    except RecursionError as error:
        raise OptionOutOfRange("the request has objects or lists too deep in one another; send fewer") from error
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _named(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):  # whoever looks a request through may read the one, and the server the other
        raise OptionOutOfRange("the request has a name twice in one object; send it once")
    return found


def _integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise OptionOutOfRange(f"the request has a number of more than {_MOST_DIGITS} digits; send a shorter one")
    return int(digits)

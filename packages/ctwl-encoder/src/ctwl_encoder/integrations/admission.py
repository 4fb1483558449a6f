"""Before a server: refuses what cannot be done, or has no effect, with status 400 before an answer has begun."""

from __future__ import annotations

import hmac
import json
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ctwl_protocol import CTWLError

from ..errors import OptionOutOfRange
from .request import Asked, is_ours, now_asked

__all__ = ["NAME", "Admission", "options_at"]

_DEEPEST = 3
"""Objects in objects in which options are looked for. Chosen by hand: ``extra_body.vllm_xargs`` has two."""

NAME = "X-Request-ID"
"""The header with a request's name."""


class Admission:
    """An ASGI middleware before a server."""

    def __init__(
        self,
        app: ASGIApp,
        check: Callable[[str, dict[str, Any]], None],
        *,
        place: Callable[[str], Sequence[str]] = lambda _: (),
        most_bytes: int,
        key: str | None = None,
        names: bool = False,
    ) -> None:
        """Stand before a server.

        Args:
            app: the server.
            check: refuses a request by a CTWLError, from its path and its body.
            place: from a path to the names of the objects, each in the one before it, where the server reads options.
            most_bytes: of a body. The servers have no bound.
            key: what a client has to know, where the server would ask for it only after it has read the body.
            names: whether a request without a name gets one; the server then tells it.
        """
        self._app = app
        self._check = check
        self._place = place
        self._most_bytes = most_bytes
        self._key = key
        self._names = names

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
        try:
            message = await self._whole(receive)
            body = _object(message.get("body", b""))
            now_asked.set(Asked(options_at(self._place(scope["path"]), body), headers.get(NAME, "")))
            await run_in_threadpool(self._check, scope["path"], body)
        except CTWLError as error:
            told = {"message": f"ctwl: {error}", "type": "invalid_request_error", "param": None, "code": error.code}
            await JSONResponse({"error": told}, 400)(scope, receive, send)
            return

        messages = [message]

        async def again() -> Message:
            return messages.pop() if messages else await receive()

        await self._app(scope, again, send)

    async def _whole(self, receive: Receive) -> Message:
        """The message with a request's whole body, or that the client has left.

        Raises:
            OptionOutOfRange: the body is too long.
        """
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return message
            body += message.get("body", b"")  # pieces may be tiny, so none is kept
            more = message.get("more_body", False)
            if len(body) > self._most_bytes:
                raise OptionOutOfRange(f"the request has more than {self._most_bytes} bytes; send a shorter one")
        return {"type": "http.request", "body": bytes(body), "more_body": False}


def options_at(place: Sequence[str], body: dict[str, Any]) -> dict[str, Any]:
    """The options in a request's body.

    Args:
        place: the names of the objects, each in the one before it, that have them.
        body: the body.

    Raises:
        OptionOutOfRange: one stands elsewhere, where it has no effect.
    """
    options: dict[str, Any] = {}
    objects: list[tuple[tuple[str, ...], dict[str, Any]]] = [((), body)]
    while objects:
        path, found = objects.pop()
        for name, value in found.items():
            if is_ours(name) and path != tuple(place):
                where = f"the object {'.'.join(place)!r}" if place else "the body itself"
                raise OptionOutOfRange(
                    f"{'.'.join((*path, name))!r:.80} has no effect; this server reads such options in {where}"
                )
            if is_ours(name):
                options[name] = value
            elif isinstance(value, dict) and len(path) < _DEEPEST:
                objects.append(((*path, name), value))
    return options


def _has_key(authorization: str, key: str) -> bool:
    """Whether the header of a request has the key."""
    scheme, _, given = authorization.partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.encode(), key.encode())


def _object(body: bytes) -> dict[str, Any]:
    """The JSON object of a body; empty where it is none, which the server says itself."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}

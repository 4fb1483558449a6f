"""Reads what a request asks for where it comes in, and refuses what cannot be marked, before an answer has begun."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ctwl_protocol import CTWLError

from ...errors import OptionOutOfRange
from ..request import PREFIX
from .processor import CTWLLogitsProcessor

__all__ = ["Admission", "requested"]

_TEMPERATURE = 0.8
"""The engine's, where a request names none."""

_MOST_BYTES = 1 << 26
"""Of a request's body. Chosen by hand: a long prompt with some pictures fits. The engine's server has no bound."""

_requested: ContextVar[dict[str, Any] | None] = ContextVar("requested", default=None)


def requested() -> dict[str, Any]:
    """The options of the request that is being served, as :class:`ctwl_encoder.integrations.request.Request` has them.

    The engine serves a request in threads, which see the variables of its context.
    """
    return _requested.get() or {}


class Admission:
    """An ASGI middleware before the engine's server."""

    def __init__(self, app: ASGIApp, processor: Callable[[], CTWLLogitsProcessor]) -> None:
        """Stand before a server.

        Args:
            app: the server.
            processor: gives the one that marks what the server writes.
        """
        self._app = app
        self._processor = processor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it with status 400 and the body that OpenAI's clients expect."""
        if scope["type"] != "http" or not scope["path"].endswith("/completions"):
            await self._app(scope, receive, send)
            return
        try:
            messages = await _messages(receive)
            asked = _fields(b"".join(message.get("body", b"") for message in messages))
            _requested.set({name: value for name, value in asked.items() if name.startswith(PREFIX)})
            how = _number(asked.get("temperature"), _TEMPERATURE), _number(asked.get("mirostat_mode"), 0)
            await run_in_threadpool(self._processor().begin, *how)
        except CTWLError as error:
            told = {"message": f"ctwl: {error}", "type": "invalid_request_error", "param": None, "code": error.code}
            await JSONResponse({"error": told}, 400)(scope, receive, send)
            return

        async def again() -> Message:
            return messages.pop(0) if messages else await receive()

        await self._app(scope, again, send)


async def _messages(receive: Receive) -> list[Message]:
    """The messages that bring a request's body.

    Raises:
        OptionOutOfRange: it is too long.
    """
    messages, size, more = list[Message](), 0, True
    while more:
        messages.append(await receive())
        size, more = size + len(messages[-1].get("body", b"")), messages[-1].get("more_body", False)
        if size > _MOST_BYTES:
            raise OptionOutOfRange(f"the request has more than {_MOST_BYTES} bytes; send a shorter one")
    return messages


def _fields(body: bytes) -> dict[str, Any]:
    """The fields of a request; none where it is no JSON object, which the server says itself."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _number(value: Any, default: float) -> float:
    """A number as the server reads it, of which it refuses others itself."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return default

"""ASGI middleware around the endpoints: bounds on size and time, headers of every answer, errors as answers."""

from __future__ import annotations

import asyncio
import logging
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ctwl_protocol import CTWLError

from ...errors import BodyTooSlow, InputTooLarge, ServiceClosing, TimedOut
from .limits import Limits
from .metrics import Metrics
from .problems import Problem, answer, problem_of

__all__ = ["ClientGone", "Front"]

_HEADERS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}

_DISCARDED_BYTES = 16 << 20
"""A body above the limit is read and dropped up to here, so that the client receives the answer; a server that closes
the connection before it has read the body resets it. Chosen by hand: memory does not depend on it, only traffic."""

_FAILED = Problem(code="internal", message="the service failed; its operator finds the reason in the log")

_logger = logging.getLogger("ctwl_decoder.apps.serve")


class ClientGone(Exception):
    """The client closed the connection."""


class Front:
    """ASGI middleware; an endpoint starts when the whole body has been read."""

    def __init__(self, app: ASGIApp, limits: Limits, metrics: Metrics, endpoints: frozenset[str]) -> None:
        """Wrap an app; ``endpoints`` are the paths that metrics name."""
        self._app = app
        self._limits = limits
        self._metrics = metrics
        self._endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        endpoint = scope["path"] if scope["path"] in self._endpoints else "other"
        sending = _Sending(send)
        started = time.perf_counter()
        try:
            await self._serve(scope, receive, sending)
        finally:
            self._metrics.requests.labels(endpoint, sending.status or 499).inc()
            self._metrics.seconds.labels(endpoint).observe(time.perf_counter() - started)

    async def _serve(self, scope: Scope, receive: Receive, sending: _Sending) -> None:
        """Run the app within the limits; turn every error into an answer."""
        bodies: list[bytes] = []

        async def receive_whole() -> Message:
            return {"type": "http.request", "body": bodies.pop()} if bodies else await receive()

        read = False
        error: CTWLError | None = None
        try:
            async with asyncio.timeout(self._limits.seconds):
                bodies.append(await _read(scope, receive, self._limits.body))
                read = True
                await self._app(scope, receive_whole, sending)
            return
        except ClientGone:
            return
        except TimeoutError:
            slow = f"within {self._limits.seconds:g} seconds"
            if read:
                error = TimedOut(f"the text was not decoded {slow}; try again later, or send a shorter text")
            else:
                error = BodyTooSlow(f"the request did not arrive {slow}; send it again")
        except CTWLError as refusal:
            error = refusal
        except asyncio.CancelledError:  # the server has waited long enough for its last requests, and stops
            error = ServiceClosing("the service is shutting down; try again later")
        except Exception as fault:
            _log(fault)
        if sending.status:  # an answer was begun: the server closes the connection, so the client sees that it is cut
            return
        status, problem = (500, _FAILED) if error is None else problem_of(error)
        if error is not None:
            self._metrics.rejected.labels(problem.code).inc()
        headers = {} if read else {"connection": "close"}
        await answer(scope, status, problem, headers)(scope, receive, sending)


class _Sending:
    """The ASGI channel of an answer, which adds the headers that every answer has.

    Attributes:
        status: the answer's; 0 before there is one.
    """

    def __init__(self, send: Send) -> None:
        self.status = 0
        self._send = send

    async def __call__(self, message: Message) -> None:
        """Send a message."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)


async def _read(scope: Scope, receive: Receive, limit: int) -> bytes:
    """The whole body.

    Raises:
        InputTooLarge: it has more than ``limit`` bytes.
        ClientGone: the client closed the connection.
    """
    too_large = InputTooLarge(f"a request may have at most {limit >> 10} KiB; cut the text into parts")
    announced = Headers(scope=scope).get("content-length", "0")
    if not announced.isdecimal() or int(announced[:20]) > _DISCARDED_BYTES:
        raise too_large
    body, size, more = bytearray(), 0, True
    while more and size <= _DISCARDED_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        part, more = message.get("body", b""), message.get("more_body", False)
        size += len(part)
        if size <= limit:
            body += part
    if size > limit:
        raise too_large
    return bytes(body)


def _log(error: Exception) -> None:
    """Log the place of an error without its message: a message may quote a text."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = f"{last.tb_frame.f_code.co_filename}:{last.tb_lineno}" if last is not None else "?"
    _logger.error("%s at %s", type(error).__name__, place)

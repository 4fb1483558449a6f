"""What stands between the socket and the endpoints: whatever can be refused is refused here, before any work.

In the order of the checks: size as announced, places, size as it arrives, time. The whole body is at hand before an
endpoint sees the request, and from then on a client that hangs up ends it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import AbstractContextManager, nullcontext, suppress

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ctwl_protocol import CTWLError

from ...errors import BodyTooSlow, InputTooLarge, ServiceClosing, TimedOut
from .admission import Admission, Visit, client_of
from .metrics import Metrics
from .problems import Problem, answer, problem_of

__all__ = ["Front"]

_HEADERS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}

_LINGER_SECONDS = 2.0
_LINGER_BYTES = 16 << 20

_FAILED = Problem(code="internal", message="something went wrong here; the operator finds where in the log")

_logger = logging.getLogger("ctwl_decoder.apps.serve")


class _ClientGone(Exception):
    """The client closed the connection."""


class Front:
    """ASGI middleware around the endpoints."""

    def __init__(self, app: ASGIApp, admission: Admission, metrics: Metrics, endpoints: frozenset[str]) -> None:
        """Guard an app; ``endpoints`` are the paths that metrics name."""
        self._app = app
        self._admission = admission
        self._limits = admission.limits
        self._metrics = metrics
        self._endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = _Request(scope, receive, send)
        endpoint = scope["path"] if scope["path"] in self._endpoints else "other"
        started = time.perf_counter()
        try:
            await self._serve(request)
        finally:
            self._metrics.requests.labels(endpoint, request.status or 499).inc()
            self._metrics.seconds.labels(endpoint).observe(time.perf_counter() - started)

    async def _serve(self, request: _Request) -> None:
        limits = self._limits
        visit: AbstractContextManager[Visit | None] = nullcontext()  # what is only looked at takes no place
        if request.scope["method"] == "POST":
            visit = self._admission.visit(client_of(request.scope["client"]))
        try:
            async with asyncio.timeout(limits.seconds):
                self._refuse_announced(request)
                with visit as request.scope["ctwl.visit"]:
                    body = await request.read(limits.body)
                    await self._until_gone(request, body)
        except _ClientGone:
            pass
        except TimeoutError:
            slow = f"within {limits.seconds:g} seconds"
            await self._refuse(
                request,
                TimedOut(f"the text could not be read {slow}; try again later, or send a shorter one")
                if request.complete
                else BodyTooSlow(f"the request did not arrive {slow}"),
            )
        except CTWLError as error:
            await self._refuse(request, error)
        except asyncio.CancelledError:  # the server has waited long enough, and stops
            await self._refuse(request, ServiceClosing("the service is shutting down; try again later"))
        except Exception as error:
            _log(error)
            await request.refuse(500, _FAILED)

    def _refuse_announced(self, request: _Request) -> None:
        length = Headers(scope=request.scope).get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length[:20]) > self._limits.body:
            raise _too_large(self._limits.body)

    async def _until_gone(self, request: _Request, body: bytes) -> None:
        """Run the app on a whole body until it has answered or the client is gone."""
        bodies = iter([body])
        gone = asyncio.ensure_future(request.receive())

        async def receive() -> Message:
            for whole in bodies:
                return {"type": "http.request", "body": whole, "more_body": False}
            return await asyncio.shield(gone)

        app = asyncio.ensure_future(_as_coroutine(self._app, request.scope, receive, request.send))
        try:
            await asyncio.wait({app, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not app.done():
                raise _ClientGone
            app.result()
        finally:
            for task in (app, gone):
                task.cancel()
            await asyncio.gather(app, gone, return_exceptions=True)

    async def _refuse(self, request: _Request, error: CTWLError) -> None:
        status, problem = problem_of(error)
        self._metrics.rejected.labels(problem.code).inc()
        await request.refuse(status, problem)


class _Request:
    """One request: how far it was read and what was answered.

    Attributes:
        scope: its ASGI scope.
        receive: its ASGI channel.
        complete: whether the body was read to its end.
        status: the answer's; 0 before there is one.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.receive = receive
        self.complete = False
        self.status = 0
        self._send = send

    async def send(self, message: Message) -> None:
        """Send a message with the headers that every answer has."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)

    async def read(self, most: int) -> bytes:
        """The body.

        Raises:
            InputTooLarge: it has more than ``most`` bytes.
            _ClientGone: it ends too early.
        """
        body = bytearray()
        while not self.complete:
            message = await self._next()
            body += message.get("body", b"")
            if len(body) > most:
                raise _too_large(most)
        return bytes(body)

    async def _next(self) -> Message:
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise _ClientGone
        self.complete = not message.get("more_body", False)
        return message

    async def refuse(self, status: int, problem: Problem) -> None:
        """Answer with a problem, unless an answer was begun.

        The rest of a body is read for a while before the connection is closed: closing it at once would reset it, and
        take the answer away before the client has read it.
        """
        if self.status:
            return
        unread = not self.complete
        response = answer(self.scope, status, problem, {"connection": "close"} if unread else {})
        await self.send({"type": "http.response.start", "status": status, "headers": response.raw_headers})
        await self.send({"type": "http.response.body", "body": bytes(response.body), "more_body": True})
        if unread:
            with suppress(TimeoutError, _ClientGone):
                async with asyncio.timeout(_LINGER_SECONDS):
                    read = 0
                    while not self.complete and read < _LINGER_BYTES:
                        read += len((await self._next()).get("body", b""))
        await self.send({"type": "http.response.body", "body": b"", "more_body": False})


def _too_large(most: int) -> InputTooLarge:
    return InputTooLarge(f"a request may have {most >> 10} KiB at most; cut the text into parts")


async def _as_coroutine(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    await app(scope, receive, send)


def _log(error: Exception) -> None:
    """Log where an error came from, and not what it says: that may quote a text."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = f"{last.tb_frame.f_code.co_filename}:{last.tb_lineno}" if last is not None else "?"
    _logger.error("%s at %s", type(error).__name__, place)

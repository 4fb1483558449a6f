"""ASGI middleware around the endpoints: bounds on size and time, headers of every answer, errors as answers."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import time
import traceback
from contextlib import suppress
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ctwl_decoder.errors import InputTooLarge
from ctwl_protocol import CTWLError

from ..errors import BodyTooSlow, ForeignOrigin, HostUnknown, RateExceeded, RequestCancelled, ServiceClosing, TimedOut
from .admission import client_of
from .limits import Limits
from .metrics import Metrics
from .problems import Problem, answer, problem_of

_HEADERS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # with none at all, browsers hide the origin of a page's own forms too
    "cache-control": "no-store",
}

_DOCS_POLICY = "default-src 'self' 'unsafe-inline' data:; frame-ancestors 'none'"
"""FastAPI writes the page /docs with a script in it; no text of a client is on that page."""

_CLIENT_GONE = 499
"""The status that metrics and the log show where the client closed the connection before an answer was begun."""

_FAILED = Problem(code="internal", message="the service failed; its operator finds the reason in the log")

_DROPPED, _DROPPING = 16 << 20, 5.0
"""Of a body that is refused, so many bytes are read on and dropped, in so many seconds."""

_logger = logging.getLogger(__name__)


class Front:
    """ASGI middleware; an endpoint starts when the whole body has been read."""

    def __init__(self, app: ASGIApp, limits: Limits, metrics: Metrics, endpoints: frozenset[str]) -> None:
        """Wrap an app; ``endpoints`` are the paths that metrics and the log name."""
        self._app = app
        self._limits = limits
        self._metrics = metrics
        self._endpoints = endpoints
        self._parsing = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        endpoint = scope["path"] if scope["path"] in self._endpoints else "other"
        status, started = _CLIENT_GONE, time.perf_counter()

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                if endpoint == "/docs":
                    headers["content-security-policy"] = _DOCS_POLICY
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._run(scope, receive, send_with_headers)
        except RequestCancelled:
            pass
        except _Unread as error:
            await _then_read_on(self._refusal(error.why), scope, receive, send_with_headers)
        except (Exception, asyncio.CancelledError) as error:
            if status == _CLIENT_GONE:  # else the server closes the connection, so the client sees a cut answer
                await self._refusal(error)(scope, receive, send_with_headers)
        finally:
            self._metrics.requests.labels(endpoint, status).inc()
            self._metrics.seconds.labels(endpoint).observe(time.perf_counter() - started)
            _logger.info('%s "%s %s" %d', client_of(scope["client"]), scope["method"], endpoint, status)

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the app on the whole body, within the limits.

        Raises:
            _Unread, InputTooLarge, RequestCancelled: see :func:`_read`; the first also where the time has run out, or
                where another site's page asks.
            TimedOut: the time has run out afterwards.
            Exception: what the app raises.
        """
        bodies: list[bytes] = []
        read = False

        async def receive_whole() -> Message:
            return {"type": "http.request", "body": bodies.pop()} if bodies else await receive()

        if _is_foreign(scope["method"], Headers(scope=scope)):
            raise _Unread(ForeignOrigin("a page of another site may not use this service; open the service's own page"))
        try:
            async with asyncio.timeout(self._limits.seconds):
                bodies.append(await _read(scope, receive, self._limits.body))
                read = True
                if bodies[0]:
                    async with self._parsing:  # one body after the other, and others have their turn in between
                        await asyncio.sleep(0)
                await self._app(scope, receive_whole, send)
        except TimeoutError as error:
            slow = f"within {self._limits.seconds:g} seconds"
            if read:
                raise TimedOut(f"the text was not decoded {slow}; try again later, or send a shorter text") from error
            raise _Unread(BodyTooSlow(f"the request did not arrive {slow}; send it again")) from error

    def _refusal(self, error: BaseException) -> Response:
        """The answer to a request that failed."""
        if isinstance(error, asyncio.CancelledError):  # the server stops, and has waited long enough for this request
            error = ServiceClosing("the service is shutting down; try again later")
        if not isinstance(error, CTWLError):
            place = traceback.extract_tb(error.__traceback__)[-1]  # not the message, which may quote a text
            _logger.error("%s at %s:%s", type(error).__name__, place.filename, place.lineno)
            return answer(500, _FAILED)
        status, problem = problem_of(error)
        self._metrics.rejected.labels(problem.code).inc()
        return answer(status, problem, {"retry-after": str(error.after)} if isinstance(error, RateExceeded) else None)


class ThisMachine:
    """ASGI middleware of a service that listens on this machine alone: a request must name it as its host.

    Else a page that a person visits could ask the service: its own name may lead to this machine a moment later (DNS
    rebinding).
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] == "http" and not _is_this_machine(Headers(scope=scope).get("host", "localhost")):
            why = HostUnknown(
                "the service is for this machine alone, as localhost or 127.0.0.1; behind a reverse proxy, start it "
                "with --trust-proxy"
            )
            await answer(*problem_of(why))(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _is_this_machine(host: str) -> bool:
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        return name == "localhost" or name.endswith(".localhost") or ipaddress.ip_address(name).is_loopback
    except ValueError:  # no host, or no address
        return False


def _is_foreign(method: str, headers: Headers) -> bool:
    """Whether a browser asks because a page of another origin has it do so. To follow a link here is no such thing.

    Browsers say it in ``Sec-Fetch-Site``. Old ones, and all on plain HTTP, have ``Origin`` alone, programs neither.
    """
    if method in ("GET", "HEAD") and headers.get("sec-fetch-mode") == "navigate":
        return False
    if (site := headers.get("sec-fetch-site")) is not None:
        return site not in ("same-origin", "none")
    return "origin" in headers and not _is_at(headers["origin"], headers.get("host", ""))


def _is_at(origin: str, host: str) -> bool:
    """Whether an origin is that of a host. Behind a reverse proxy, the scheme here is not the browser's."""
    try:
        parts = urlsplit(origin.lower())
    except ValueError:
        return False
    usual = {"http": ":80", "https": ":443"}.get(parts.scheme, "")
    return bool(parts.netloc) and parts.netloc.removesuffix(usual) == host.lower().removesuffix(usual)


class _Unread(Exception):
    """A request is refused whose body has not been read."""

    def __init__(self, why: CTWLError) -> None:
        super().__init__(why)
        self.why = why


async def _read(scope: Scope, receive: Receive, limit: int) -> bytes:
    """The whole body.

    Raises:
        _Unread, InputTooLarge: it has more than ``limit`` bytes, of which some are left, or none.
        RequestCancelled: the client closed the connection.
    """
    too_large = InputTooLarge(f"a request may have at most {limit >> 10} KiB; cut the text into parts")
    announced = Headers(scope=scope).get("content-length", "0")
    if not announced.isdecimal() or int(announced[:20]) > limit:
        raise _Unread(too_large)
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RequestCancelled("the client closed the connection")
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > limit:
            raise _Unread(too_large) if more else too_large
    return bytes(body)


async def _then_read_on(refusal: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a request, read on for a while and close: many clients read no answer before they have sent all."""

    async def send_and_wait(message: Message) -> None:
        if message["type"] == "http.response.body":
            await send({**message, "more_body": True})
            await _drop(receive)
            message = {"type": "http.response.body"}
        await send(message)

    refusal.headers["connection"] = "close"
    await refusal(scope, receive, send_and_wait)


async def _drop(receive: Receive) -> None:
    """Read and drop what is left of a body, within bounds."""
    left = _DROPPED
    with suppress(TimeoutError, asyncio.CancelledError):  # the server stops
        async with asyncio.timeout(_DROPPING):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body"):  # it ends, or the client has gone
                    return

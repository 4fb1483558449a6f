"""One proxy LM for many requests: what the endpoints call, and what starts and stops with the server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from starlette.requests import Request

from ctwl_protocol import CTWLError
from ctwl_protocol.proxy import Proxy

from ...decoder import Decoder
from ...errors import InputTooLarge, ServiceBusy, ServiceClosing
from ...report.analysis import Analysis
from .admission import Admission, client_of
from .batching import SharedObserver
from .front import ClientGone
from .limits import Limits
from .metrics import Metrics

__all__ = ["Service"]

T = TypeVar("T")

_WARM_UP = "The council said on Tuesday that the bridge over the river would be closed until the end of the month."

_REFRESH_SECONDS = 600.0

_log = logging.getLogger(__name__)


class Service:
    """A proxy LM that many requests share.

    Attributes:
        proxy: the proxy LM.
        limits: the limits.
        metrics: the metrics.
    """

    def __init__(self, proxy: Proxy, limits: Limits) -> None:
        self.proxy = proxy
        self.limits = limits
        self._admission = Admission(limits)
        self.metrics = Metrics(self._admission)
        self._observer = SharedObserver(proxy, self.metrics.windows.inc)
        self._decoder = Decoder(proxy, self._observer)

    async def decode(self, request: Request, text: str, then: Callable[[Analysis], T], **options: Any) -> T:
        """What ``then`` makes of a text's analysis; both run in a thread of their own.

        Args:
            request: the request, whose body has been read.
            text: the text.
            then: makes the answer.
            options: see :meth:`ctwl_decoder.Decoder.analyse`.

        Raises:
            InputTooLarge: the text is longer than the limits allow.
            ServiceBusy, TooManyAtOnce: see :meth:`Admission.run`.
            ClientGone: the client closed the connection.
            CTWLError: see :meth:`ctwl_decoder.Decoder.analyse`.
        """
        limit = self.limits.characters
        if len(text) > limit:
            raise InputTooLarge(
                f"the text has {len(text):,} characters, and at most {limit:,} are allowed here; cut it into parts"
            )
        caller = self._observer.caller(self.limits.tokens)
        decoder = self._decoder.observing(caller)
        client = client_of(request.scope["client"])
        work = self._admission.run(client, lambda: then(decoder.analyse(text, **options)), caller.cancel)
        return await _while_connected(request, work)

    def check_ready(self) -> None:
        """Check that a further request would be taken.

        Raises:
            ServiceClosing: the proxy's thread has ended.
            ServiceBusy: every place is taken.
        """
        if not self._observer.working:
            raise ServiceClosing("the proxy has stopped; restart the service")
        if self._admission.full:
            raise ServiceBusy("every place is taken")

    @asynccontextmanager
    async def lifespan(self, _: object) -> AsyncIterator[None]:
        """Compile and load what the first request would wait for; end the threads afterwards, whatever happened."""
        refreshing: asyncio.Task[None] | None = None
        try:
            await asyncio.to_thread(self._decoder.decode, _WARM_UP)
            refreshing = asyncio.create_task(self._refresh())
            yield
        finally:
            if refreshing is not None:
                refreshing.cancel()
            await asyncio.to_thread(self.close)

    async def _refresh(self) -> None:
        """Reload the trusted registry from time to time; keep the old one where the new one is damaged."""
        while True:
            await asyncio.sleep(_REFRESH_SECONDS)
            try:
                self._decoder = await asyncio.to_thread(Decoder, self.proxy, self._observer)
            except (CTWLError, OSError) as error:
                _log.error("the registry cannot be reloaded: %s", error)

    def close(self) -> None:
        """End the threads; requests that still wait for the proxy fail with :class:`ServiceClosing`."""
        self._observer.close()
        self._admission.close()


async def _while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of the work; where the client closes the connection first, the work is cancelled.

    Raises:
        ClientGone: the client closed the connection.
        Exception: what the work raises.
    """
    working = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(request.receive())  # the body has been read, so the next message is the disconnect
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientGone
        return working.result()
    finally:
        working.cancel()
        gone.cancel()
        await asyncio.gather(working, gone, return_exceptions=True)

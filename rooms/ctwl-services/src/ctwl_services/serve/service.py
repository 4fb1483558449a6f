"""Proxy LMs for many requests: what the endpoints call, and what starts and stops with the server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from threading import Event
from typing import Any, TypeVar

from starlette.requests import Request

from ctwl_decoder import Decoder, Decoders
from ctwl_decoder.errors import InputTooLarge, NotOpened
from ctwl_decoder.kinds import hides_words, refusal
from ctwl_decoder.report import Analysis
from ctwl_protocol import CTWLError
from ctwl_protocol.proxy import Proxy
from ctwl_protocol.registry import load_trusted

from ..errors import ManifestsUnavailable, RequestCancelled
from ..page.build import build_page
from .admission import Admission, client_of
from .limits import Limits
from .metrics import Metrics
from .turns import Turns

T = TypeVar("T")

_WARM_UP = "The council said on Tuesday that the bridge over the river would be closed until the end of the month."

_REFRESH_SECONDS = 600.0

_LOOK_UP_SECONDS = 10.0
"""For all that one request looks up elsewhere."""

_logger = logging.getLogger(__name__)


class Service:
    """Proxy LMs that many requests share.

    Attributes:
        limits: the limits.
        admission: the places.
        metrics: the metrics.
        page: the page for people, as HTML.
        registry: gives the names; it is loaded anew from time to time.
    """

    def __init__(self, proxies: Sequence[Proxy], limits: Limits, *, optional: bool = False) -> None:
        """Share the proxy LMs of some profiles; see :class:`.Decoders` for ``optional``."""
        self.limits = limits
        self.admission = Admission(limits)
        self.metrics = Metrics(self.admission)
        self._look_ups = Admission(limits)
        self._proxies, self._optional = proxies, optional
        self._proxy_thread = ThreadPoolExecutor(1, thread_name_prefix="ctwl-proxy")
        self._use_registry()

    def _use_registry(self) -> None:
        """Read the trusted registry, and make anew what depends on it."""
        self.registry = load_trusted()
        profiles = [proxy.profile for proxy in self._proxies]
        self.page = build_page(profiles, self.registry, service=self.limits)

    async def decode(
        self, request: Request, text: str | Callable[[], str], then: Callable[[Analysis], T], **options: Any
    ) -> T:
        """Decode a text in a thread, and make an answer of the analysis there.

        Args:
            request: the request, whose body has been read.
            text: the text, or what opens it in the thread.
            then: makes the answer.
            options: see :meth:`.Decoders.analyse`.

        Raises:
            InputTooLarge: the text is longer than the limits allow.
            NotOpened: the text is a container, such as base64.
            ServiceBusy, TooManyAtOnce: see :meth:`Admission.run`.
            RequestCancelled: the client closed the connection.
            CTWLError: see :meth:`ctwl_decoder.Decoder.analyse`.
        """
        if isinstance(text, str):
            self._check(text)
            if kind := hides_words(text):
                if not kind.opened:
                    raise refusal(kind)
                why = f"the text is {kind.called}, in which no words can be read"
                raise NotOpened(f"{why}; send the words in it, or the file to /report")

        def work(given_up: Event) -> T:
            return then(self._decoders(given_up).analyse(self._opened(text), **options))

        return await while_connected(request, self.admission, work)

    def _decoders(self, given_up: Event) -> Decoders:
        """The decoders of one request, whose blocks take turns with those of others."""
        own = [
            Decoder(
                proxy,
                weigh=Turns(proxy, self._proxy_thread, self.metrics.positions.inc, given_up),
                registry=self.registry,
                max_tokens=self.limits.tokens,
            )
            for proxy in self._proxies
        ]
        return Decoders(own, optional=self._optional)

    async def open(self, request: Request, words: Callable[[], str]) -> str:
        """The words of a document, which is opened in a thread.

        Args:
            request: the request, whose body has been read.
            words: opens it.

        Raises:
            InputTooLarge: it has more characters than the limits allow.
            ServiceBusy, TooManyAtOnce: see :meth:`Admission.run`.
            RequestCancelled: the client closed the connection.
            CTWLError: what ``words`` raises.
        """
        return await while_connected(request, self.admission, lambda _: self._opened(words))

    def _opened(self, text: str | Callable[[], str]) -> str:
        if isinstance(text, str):
            return text
        words = text()
        self._check(words)
        return words

    def _check(self, text: str) -> None:
        limit = self.limits.characters
        if len(text) > limit:
            raise InputTooLarge(
                f"the text has {len(text):,} characters, and at most {limit:,} are allowed here; cut it into parts"
            )

    async def look_up(self, request: Request, work: Callable[[Event], T]) -> T:
        """Look something up elsewhere, in a thread that decodes no text.

        Args:
            request: the request, whose body has been read.
            work: see :func:`while_connected`.

        Raises:
            ManifestsUnavailable: it takes too long.
            ServiceBusy, TooManyAtOnce: see :meth:`Admission.run`.
            RequestCancelled: the client closed the connection.
            CTWLError: what the work raises.
        """
        try:
            async with asyncio.timeout(_LOOK_UP_SECONDS):
                return await while_connected(request, self._look_ups, work)
        except TimeoutError as error:
            message = f"the look-up took more than {_LOOK_UP_SECONDS:g} seconds; try again later"
            raise ManifestsUnavailable(message) from error

    @asynccontextmanager
    async def lifespan(self, _: object) -> AsyncIterator[None]:
        """Compile and load what the first request would wait for; end the threads afterwards, whatever happened.

        Work that then still waits for the proxy LM fails with :class:`ServiceClosing`.
        """
        refreshing = asyncio.create_task(self._refresh())
        try:
            await asyncio.to_thread(self._warm_up)
            yield
        finally:
            refreshing.cancel()
            await asyncio.to_thread(self._proxy_thread.shutdown, cancel_futures=True)
            await asyncio.to_thread(self.admission.close)  # meanwhile the loop sends the last answers
            await asyncio.to_thread(self._look_ups.close)

    def _warm_up(self) -> None:
        own = [Decoder(proxy, registry=self.registry) for proxy in self._proxies]  # within no limit
        for score in ("light", "whole"):
            Decoders(own, optional=self._optional).decode(_WARM_UP, score=score)

    async def _refresh(self) -> None:
        """Reload the trusted registry from time to time; keep the old one where the new one is damaged."""
        while True:
            await asyncio.sleep(_REFRESH_SECONDS)
            try:
                await asyncio.to_thread(self._use_registry)
            except (CTWLError, OSError) as error:
                _logger.error("the registry cannot be reloaded: %s", error)


async def while_connected(request: Request, admission: Admission, work: Callable[[Event], T]) -> T:
    """The result of a client's work in a thread; where the client closes the connection first, it is cancelled.

    Args:
        request: the client's, whose body has been read.
        admission: gives the work its thread.
        work: the work. When its event is set, nobody waits for it any more.

    Raises:
        RequestCancelled: the client closed the connection.
        CTWLError: see :meth:`Admission.run`.
        Exception: what the work raises.
    """
    given_up, client = Event(), client_of(request.scope["client"])
    working = asyncio.ensure_future(admission.run(client, lambda: work(given_up)))
    gone = asyncio.ensure_future(request.receive())  # the body has been read, so the next message is the disconnect
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise RequestCancelled("the client closed the connection")
        return working.result()
    finally:
        given_up.set()
        working.cancel()
        gone.cancel()
        await asyncio.gather(working, gone, return_exceptions=True)

"""Who may come in, and when it is their turn.

A request holds a place among its client's, and while it is decoded one among all. Both are given back when the work is
over, which may be later than the answer: a client that hangs up or runs out of time does not stop a thread that is in
the middle of scoring, and must not be able to pile up such threads.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from ...errors import ServiceBusy, TooManyAtOnce
from .limits import Limits

__all__ = ["Admission", "Visit", "client_of"]

T = TypeVar("T")


class Admission:
    """The places of a service, for one event loop.

    Attributes:
        limits: the limits.
        waiting: requests that wait for their turn.
        working: requests that are decoded.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.waiting = 0
        self.working = 0
        self._turn = asyncio.Semaphore(limits.working)
        self._clients: Counter[str] = Counter()
        self._threads = ThreadPoolExecutor(limits.working, thread_name_prefix="ctwl-request")

    @property
    def full(self) -> bool:
        """Whether a further request would be refused."""
        return self._turn.locked() and self.waiting >= self.limits.waiting

    def refuse_if_full(self) -> None:
        """Raise :class:`ServiceBusy` where a further request would be refused."""
        if self.full:
            raise ServiceBusy("the service is busy; try again in a few seconds")

    @contextmanager
    def visit(self, client: str) -> Iterator[Visit]:
        """Let a client's request in.

        Raises:
            ServiceBusy: there is no place, not even to wait.
            TooManyAtOnce: the client has too many already.
        """
        self.refuse_if_full()
        if self._clients[client] >= self.limits.per_client:
            raise TooManyAtOnce(
                f"your address has {self._clients[client]} requests under way, the most it may; wait for one to end"
            )
        self._clients[client] += 1
        visit = Visit(self)
        try:
            yield visit
        finally:
            if visit.work is None or visit.work.done():
                self._left(client)
            else:
                visit.work.add_done_callback(lambda _: self._left(client))

    def _left(self, client: str) -> None:
        self._clients[client] -= 1
        if not self._clients[client]:
            del self._clients[client]

    async def start(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Wait for a turn and start the work in a thread.

        Raises:
            ServiceBusy: too many wait already.
        """
        self.refuse_if_full()
        self.waiting += 1
        try:
            await self._turn.acquire()
        finally:
            self.waiting -= 1
        self.working += 1
        future = asyncio.get_running_loop().run_in_executor(self._threads, work)
        future.add_done_callback(self._done)
        return future

    def _done(self, work: asyncio.Future[T]) -> None:
        self.working -= 1
        self._turn.release()
        if not work.cancelled():
            work.exception()  # looked at, also where nobody waits any more

    def close(self) -> None:
        """Wait for the threads to end."""
        self._threads.shutdown()


class Visit:
    """One request that was let in.

    Attributes:
        work: its work, once started.
    """

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self.work: asyncio.Future[Any] | None = None

    async def run(self, work: Callable[[], T], cancel: Callable[[], None]) -> T:
        """The result of ``work``, done in a thread when it is this request's turn.

        Args:
            work: the work.
            cancel: called where nobody waits for the work any more, to end it early.

        Raises:
            ServiceBusy: too many wait already.
            Exception: what the work raises.
        """
        future = await self._admission.start(work)
        self.work = future
        try:
            return await asyncio.shield(future)
        finally:
            cancel()


def client_of(address: tuple[str, int] | None) -> str:
    """Whom an address belongs to: IPv6 addresses are given out by the network, so the network counts."""
    host = address[0] if address else ""
    try:
        ip = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host  # a Unix socket
    if isinstance(ip, ipaddress.IPv6Address):
        return str(ip.ipv4_mapped or ipaddress.ip_network((ip, 64), strict=False))
    return str(ip)

"""Admission: how many requests are decoded at once, how many wait, and how many of them one client may have.

A request keeps its place until its thread has ended, which may be later than its answer: a thread goes on for a while
after its client has hung up, and nobody may start more threads than there are places.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TypeVar

from ..errors import ServiceBusy, ServiceClosing, TooManyAtOnce
from .limits import Limits

T = TypeVar("T")


class Admission:
    """The places of a service, for one event loop."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._clients: Counter[str] = Counter()
        self._free = asyncio.Semaphore(limits.working)
        self._threads = ThreadPoolExecutor(limits.working, thread_name_prefix="ctwl-request")

    @property
    def working(self) -> int:
        """Requests that are decoded."""
        return min(self._clients.total(), self._limits.working)

    @property
    def waiting(self) -> int:
        """Requests that wait for their turn."""
        return self._clients.total() - self.working

    def check(self) -> None:
        """Check that there is a place for a further request.

        Raises:
            ServiceBusy: every place is taken, also the places to wait.
        """
        if self.waiting >= self._limits.waiting:
            raise ServiceBusy("the service is busy; try again in a few seconds")

    async def run(self, client: str, work: Callable[[], T]) -> T:
        """Do a client's work in a thread when it is its turn.

        Args:
            client: see :func:`client_of`.
            work: the work. Work that waits is forgotten when this call is cancelled; work that has begun goes on.

        Raises:
            ServiceBusy: see :meth:`check`.
            TooManyAtOnce: the client has too many requests already.
            ServiceClosing: :meth:`close` was called while the work waited.
            Exception: what the work raises.
        """
        self.check()
        if (taken := self._clients[client]) >= self._limits.per_client:
            raise TooManyAtOnce(
                f"your address has {taken} requests under way, which is the most allowed; wait until one is answered"
            )
        self._clients[client] += 1
        with ExitStack() as place:
            place.callback(self._leave, client)
            await self._free.acquire()  # not in the threads' own queue, which keeps the texts of cancelled requests
            place.callback(self._free.release)
            try:
                future = self._threads.submit(work)
            except RuntimeError as error:
                raise ServiceClosing("the service is shutting down; try again later") from error
            loop, leave = asyncio.get_running_loop(), place.pop_all().close
            future.add_done_callback(lambda _: loop.call_soon_threadsafe(leave))
        return await asyncio.wrap_future(future)

    def _leave(self, client: str) -> None:
        self._clients[client] -= 1
        if not self._clients[client]:
            del self._clients[client]

    def close(self) -> None:
        """Wait for the threads to end."""
        self._threads.shutdown()


def client_of(address: tuple[str, int] | None) -> str:
    """The client at an address: an IPv4 address, or an IPv6 network of 64 bits, which providers assign as a whole."""
    host = address[0] if address else ""
    try:
        ip = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host  # a Unix socket
    if isinstance(ip, ipaddress.IPv6Address):
        return str(ip.ipv4_mapped or ipaddress.ip_network((ip, 64), strict=False))
    return str(ip)

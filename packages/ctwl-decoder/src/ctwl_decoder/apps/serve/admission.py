"""Admission: how many requests are decoded at once, how many wait, and how many of them one client may have.

A request keeps its place until its thread has ended, which may be later than its answer: a client that hangs up or runs
out of time does not stop a thread in the middle of its work, and must not be able to start ever more threads.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ...errors import ServiceBusy, TooManyAtOnce
from .limits import Limits

__all__ = ["Admission", "client_of"]

T = TypeVar("T")


class Admission:
    """The places of a service, for one event loop.

    Attributes:
        waiting: requests that wait for their turn.
        working: requests that are decoded.
    """

    def __init__(self, limits: Limits) -> None:
        self.waiting = 0
        self.working = 0
        self._limits = limits
        self._turns = asyncio.Semaphore(limits.working)
        self._clients: Counter[str] = Counter()
        self._threads = ThreadPoolExecutor(limits.working, thread_name_prefix="ctwl-request")

    @property
    def full(self) -> bool:
        """Whether a further request would be refused."""
        return self._turns.locked() and self.waiting >= self._limits.waiting

    async def run(self, client: str, work: Callable[[], T], cancel: Callable[[], None]) -> T:
        """Do a client's work in a thread when it is its turn.

        Args:
            client: see :func:`client_of`.
            work: the work.
            cancel: ends the work early; called when nobody waits for it any more.

        Raises:
            ServiceBusy: every place is taken, also those to wait.
            TooManyAtOnce: the client has too many requests already.
            Exception: what the work raises.
        """
        if self.full:
            raise ServiceBusy("the service is busy; try again in a few seconds")
        if self._clients[client] >= self._limits.per_client:
            raise TooManyAtOnce(
                f"your address has {self._clients[client]} requests under way, which is the most allowed; wait until "
                "one has been answered"
            )
        self._clients[client] += 1
        self.waiting += 1
        try:
            await self._turns.acquire()
        except asyncio.CancelledError:
            self._leave(client)
            raise
        finally:
            self.waiting -= 1
        self.working += 1
        future = asyncio.get_running_loop().run_in_executor(self._threads, work)
        future.add_done_callback(lambda done: self._end(client, done))
        try:
            return await asyncio.shield(future)
        finally:
            cancel()

    def _end(self, client: str, work: asyncio.Future[T]) -> None:
        self.working -= 1
        self._turns.release()
        self._leave(client)
        if not work.cancelled():
            work.exception()  # asyncio warns of exceptions that nobody has retrieved

    def _leave(self, client: str) -> None:
        self._clients[client] -= 1
        if not self._clients[client]:
            del self._clients[client]

    def close(self) -> None:
        """Wait for the threads to end."""
        self._threads.shutdown()


def client_of(address: tuple[str, int] | None) -> str:
    """The client at an address: an IPv4 address, or an IPv6 network of 64 bits: providers assign whole networks."""
    host = address[0] if address else ""
    try:
        ip = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host  # a Unix socket
    if isinstance(ip, ipaddress.IPv6Address):
        return str(ip.ipv4_mapped or ipaddress.ip_network((ip, 64), strict=False))
    return str(ip)

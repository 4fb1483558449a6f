"""The proxy LM shared by many requests: one thread runs it, and texts take turns, a block each time.

So a short text is decoded as fast beside a long one as beside a short one. A block holds tokens of one text only: what
else is decoded cannot change a text's numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.proxy import Block, Proxy, Rivals

from ..errors import RequestCancelled, ServiceClosing


class Tokenized(Protocol):
    """What is read of a text."""

    @property
    def ids(self) -> NDArray[np.int64]:
        """Its proxy tokens: int64 (tokens,)."""


class Turns:
    """One request's :data:`~ctwl_decoder.statistics.evidence.Weigh`, which another thread may cancel."""

    def __init__(
        self,
        proxy: Proxy,
        thread: ThreadPoolExecutor,
        on_block: Callable[[int], None] = lambda positions: None,
        cancelled: threading.Event | None = None,
    ) -> None:
        """Weigh for one request.

        Args:
            proxy: the proxy LM.
            thread: an executor of one thread, which runs the proxy LM for all requests, first come, first served.
            on_block: called with the number of positions that each block weighed.
            cancelled: set where nobody waits any more.
        """
        self._proxy = proxy
        self._thread = thread
        self._on_block = on_block
        self._cancelled = cancelled or threading.Event()

    def __call__(self, variant: Tokenized, progress: Callable[[int], None] = lambda done: None) -> Rivals:
        """Wait for the rivals at a text's positions.

        Raises:
            RequestCancelled: nobody waits any more.
            ServiceClosing: the executor was shut down.
            Exception: what the proxy LM, ``on_block`` or ``progress`` raised.
        """
        found = []
        for block in self._proxy.blocks(len(variant.ids)):
            found.append(self._in_turn(partial(self._rivals_in, variant.ids, block)))
            self._on_block(block.end - block.first)
            progress(block.end - self._proxy.profile.prefix_length)
        return Rivals.joined(found)

    def _in_turn(self, work: Callable[[], Rivals]) -> Rivals:
        closing = ServiceClosing("the service is shutting down; try again later")
        try:
            future = self._thread.submit(work)
        except RuntimeError as error:  # the executor takes no more work
            raise closing from error
        try:
            return future.result()
        except CancelledError as error:  # it will not do the work that waits
            raise closing from error

    def _rivals_in(self, ids: NDArray[np.int64], block: Block) -> Rivals:
        if self._cancelled.is_set():
            raise RequestCancelled("the request was cancelled")
        return self._proxy.rivals_in(ids, block)

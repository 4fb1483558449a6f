"""The proxy LM shared by many requests: one thread runs it, and texts take turns, a batch each time.

So a short text is decoded as fast beside a long one as beside a short one. A batch holds positions of one text only:
what else is decoded cannot change a text's numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from functools import partial

from ctwl_protocol.proxy import Proxy
from ctwl_protocol.text.positions import Positions

from ...errors import RequestCancelled, ServiceClosing
from ...statistics.evidence import Evidence, observe

__all__ = ["Observer"]


class Observer:
    """One request's :data:`~ctwl_decoder.statistics.evidence.Observe`, which another thread may cancel."""

    def __init__(self, proxy: Proxy, thread: ThreadPoolExecutor, on_batch: Callable[[int], None]) -> None:
        """Observe for one request.

        Args:
            proxy: the proxy LM.
            thread: an executor of one thread, which runs the proxy LM for all requests, first come, first served.
            on_batch: called with the number of prefixes of each batch.
        """
        self._proxy = proxy
        self._thread = thread
        self._on_batch = on_batch
        self._cancelled = threading.Event()

    def __call__(self, positions: Positions, progress: Callable[[int], None] = lambda done: None) -> Evidence:
        """Wait for the evidence at the given positions.

        Raises:
            RequestCancelled: :meth:`cancel` was called.
            ServiceClosing: the executor was shut down.
            Exception: what the proxy LM, ``on_batch`` or ``progress`` raised.
        """
        parts = []
        for start in range(0, max(len(positions), 1), self._proxy.batch_size):  # at least one batch, maybe an empty one
            batch = Positions(*(column[start : start + self._proxy.batch_size] for column in positions))
            parts.append(self._in_turn(partial(self._observe, batch)))
            self._on_batch(len(batch))
            progress(start + len(batch))
        return Evidence.joined(parts)

    def _in_turn(self, work: Callable[[], Evidence]) -> Evidence:
        closing = ServiceClosing("the service is shutting down; try again later")
        try:
            future = self._thread.submit(work)
        except RuntimeError as error:  # the executor takes no more work
            raise closing from error
        try:
            return future.result()
        except CancelledError as error:  # it will not do the work that waits
            raise closing from error

    def _observe(self, batch: Positions) -> Evidence:
        if self._cancelled.is_set():
            raise RequestCancelled("the request was cancelled")
        return observe(self._proxy, batch)

    def cancel(self) -> None:
        """Skip the batches that are still to come; the call that waits for them raises :class:`RequestCancelled`."""
        self._cancelled.set()

"""The proxy LM shared by many requests: one thread owns it and fills every batch with prefixes of all waiting texts.

It takes one prefix of each text in turn, so a short text is decoded as fast beside a long one as beside a short one.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue

import numpy as np

from ctwl_protocol.proxy import Proxy
from ctwl_protocol.text.positions import Positions

from ...errors import InputTooLarge, RequestCancelled, ServiceClosing
from ...statistics.evidence import Evidence, observe

__all__ = ["Caller", "SharedObserver"]

_logger = logging.getLogger("ctwl_decoder.apps.serve")


@dataclass(eq=False)
class _Job:
    """The positions of one text.

    Attributes:
        positions: the positions.
        given: how many of them have been put into batches.
        inbox: their evidence in order, in parts; or an error.
    """

    positions: Positions
    given: int = 0
    inbox: SimpleQueue[Evidence | Exception] = field(default_factory=SimpleQueue)


_Part = tuple[_Job, slice]


class SharedObserver:
    """An :data:`~ctwl_decoder.statistics.evidence.Observe` that many threads may call at once.

    Attributes:
        proxy: the proxy; nothing else may use it meanwhile.
    """

    def __init__(self, proxy: Proxy, on_batch: Callable[[int], None] = lambda prefixes: None) -> None:
        """Start the thread, which calls ``on_batch`` with the number of prefixes of each batch."""
        self.proxy = proxy
        self._on_batch = on_batch
        self._waiting: deque[_Job] = deque()
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="ctwl-proxy", daemon=True)
        self._thread.start()

    def __call__(self, positions: Positions, progress: Callable[[int], None] = lambda done: None) -> Evidence:
        """Observe for a caller that never cancels; see :class:`Caller`."""
        return self.caller()(positions, progress)

    def caller(self, max_tokens: int | None = None) -> Caller:
        """An observer for one request, which may be cancelled.

        Args:
            max_tokens: of the text whose positions it may ask for at once.
        """
        return Caller(self, max_tokens)

    @property
    def working(self) -> bool:
        """Whether positions are still taken."""
        return not self._closed and self._thread.is_alive()

    def close(self) -> None:
        """End the thread; every caller that still waits gets :class:`ServiceClosing`."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def add(self, job: _Job) -> None:
        """Put a job in the queue.

        Raises:
            ServiceClosing: the thread has ended or is ending.
        """
        with self._changed:
            if self._closed:
                raise _closing()
            self._waiting.append(job)
            self._changed.notify_all()

    def drop(self, job: _Job) -> None:
        """Take a job out of the queue, if it is still there."""
        with self._changed:
            if job in self._waiting:
                self._waiting.remove(job)

    def _run(self) -> None:
        """Answer batch by batch; at the end, also after a fault, nobody is left waiting."""
        batch: list[_Part] = []
        try:
            while batch := self._next():
                self._answer(batch)
        finally:
            with self._changed:
                self._closed = True
                for job in {job: None for job, _ in batch} | dict.fromkeys(self._waiting):
                    job.inbox.put(_closing())

    def _next(self) -> list[_Part]:
        """The parts of the next batch; none when closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            if self._closed:
                return []
            shares: dict[_Job, int] = {}
            for _ in range(self.proxy.batch_size):
                if not self._waiting:
                    break
                job = self._waiting.popleft()
                shares[job] = shares.get(job, 0) + 1
                if job.given + shares[job] < len(job.positions):
                    self._waiting.append(job)
            parts = [(job, slice(job.given, job.given + share)) for job, share in shares.items()]
            for job, rows in parts:
                job.given = rows.stop
            return parts

    def _answer(self, parts: Sequence[_Part]) -> None:
        """Observe a batch and hand out its rows; after an error each part alone, so that only faulty parts fail."""
        columns = zip(*(tuple(column[rows] for column in job.positions) for job, rows in parts), strict=True)
        try:
            evidence = observe(self.proxy, Positions(*map(np.concatenate, columns)))
        except Exception as error:
            if len(parts) == 1:
                parts[0][0].inbox.put(error)
                return
            for part in parts:
                self._answer([part])
            return
        done = 0
        for job, rows in parts:
            size = rows.stop - rows.start
            job.inbox.put(evidence[done : done + size])
            done += size
        try:
            self._on_batch(len(evidence))
        except Exception:  # a fault of a counter must not end the thread
            _logger.exception("the callback for batches failed")


class Caller:
    """One request's :data:`~ctwl_decoder.statistics.evidence.Observe`, which another thread may cancel."""

    def __init__(self, observer: SharedObserver, max_tokens: int | None) -> None:
        self._observer = observer
        self._max_tokens = max_tokens
        self._cancelled = False
        self._job: _Job | None = None

    def __call__(self, positions: Positions, progress: Callable[[int], None] = lambda done: None) -> Evidence:
        """Wait for the evidence at the given positions.

        Raises:
            InputTooLarge: the text of the positions has more tokens than this caller may ask for.
            RequestCancelled: :meth:`cancel` was called.
            ServiceClosing: the observer was closed, or its thread has failed.
            Exception: what the proxy or ``progress`` raised.
        """
        proxy, limit = self._observer.proxy, self._max_tokens
        if not len(positions):
            return observe(proxy, positions)  # empty arrays of the right shapes; the proxy is not asked
        if limit is not None and len(positions) + proxy.profile.prefix_length > limit:
            raise InputTooLarge(f"the text has more than {limit} tokens, the most allowed here; cut it into parts")
        job = self._job = _Job(positions)
        if self._cancelled:
            raise _cancelled()
        self._observer.add(job)
        parts: list[Evidence] = []
        done = 0
        try:
            while done < len(positions):
                part = job.inbox.get()
                if isinstance(part, Exception):
                    raise part
                parts.append(part)
                done += len(part)
                progress(done)
        finally:
            self._observer.drop(job)
        return Evidence.joined(parts)

    def cancel(self) -> None:
        """Drop what is still in the queue, now and in later calls; a waiting call raises :class:`RequestCancelled`."""
        self._cancelled = True
        if (job := self._job) is not None:
            self._observer.drop(job)
            job.inbox.put(_cancelled())


def _cancelled() -> RequestCancelled:
    return RequestCancelled("the request was cancelled")


def _closing() -> ServiceClosing:
    return ServiceClosing("the service is shutting down; try again later")

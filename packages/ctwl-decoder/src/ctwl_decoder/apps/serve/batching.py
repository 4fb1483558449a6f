"""Proxy work of many requests in common batches, so that each gets its share of the proxy and none has to wait.

One thread owns the proxy. It fills every batch with windows of all texts that wait, one of each in turn: a short text
is read as fast beside a long one as beside another short one.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue

import numpy as np

from ctwl_protocol.proxy import Proxy
from ctwl_protocol.text.positions import Positions

from ...errors import InputTooLarge, RequestCancelled, ServiceClosing
from ...statistics.evidence import Evidence, observe

__all__ = ["Caller", "SharedObserver"]


@dataclass(eq=False)
class _Job:
    """Positions that somebody waits for.

    Attributes:
        positions: the positions.
        given: how many went into batches.
        inbox: their evidence in order, in parts, or what went wrong.
    """

    positions: Positions
    given: int = 0
    inbox: SimpleQueue[Evidence | Exception] = field(default_factory=SimpleQueue)


_Part = tuple[_Job, slice]


class SharedObserver:
    """An :data:`~ctwl_decoder.statistics.evidence.Observe` that many threads may call at once.

    Attributes:
        proxy: the proxy, which nobody else may use meanwhile.
    """

    def __init__(self, proxy: Proxy, on_batch: Callable[[int], None] = lambda windows: None) -> None:
        """Start the thread; ``on_batch`` is told the windows of each batch."""
        self.proxy = proxy
        self._on_batch = on_batch
        self._waiting: deque[_Job] = deque()
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="ctwl-proxy", daemon=True)
        self._thread.start()

    def __call__(self, positions: Positions, progress: Callable[[int], None] = lambda done: None) -> Evidence:
        """Observe for a caller who never cancels; see :class:`Caller`."""
        return self.caller()(positions, progress)

    def caller(self, most: int | None = None) -> Caller:
        """An observer for one request, which may be cancelled.

        Args:
            most: tokens of the text whose positions it may ask for at once.
        """
        return Caller(self, most)

    @property
    def working(self) -> bool:
        """Whether positions are still taken."""
        return not self._closed and self._thread.is_alive()

    def close(self) -> None:
        """End the thread; whoever still waits gets :class:`ServiceClosing`."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def add(self, job: _Job) -> None:
        """Put a job in line."""
        with self._changed:
            if self._closed:
                raise ServiceClosing("the service is shutting down; try again later")
            self._waiting.append(job)
            self._changed.notify_all()

    def drop(self, job: _Job) -> None:
        """Take a job out of the line, if it is still there."""
        with self._changed:
            if job in self._waiting:
                self._waiting.remove(job)

    def _run(self) -> None:
        while batch := self._next():
            self._answer(batch)

    def _next(self) -> list[_Part]:
        """The parts of the next batch; none when closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            if self._closed:
                for job in self._waiting:
                    job.inbox.put(ServiceClosing("the service is shutting down; try again later"))
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

    def _answer(self, parts: list[_Part]) -> None:
        """Observe a batch and hand its rows back; where that fails, each part alone, so that the innocent succeed."""
        columns = zip(*(tuple(c[rows] for c in job.positions) for job, rows in parts), strict=True)
        try:
            evidence = observe(self.proxy, Positions(*map(np.concatenate, columns)))
        except Exception as error:
            if len(parts) == 1:
                parts[0][0].inbox.put(error)
                return
            for part in parts:
                self._answer([part])
            return
        self._on_batch(len(evidence))
        done = 0
        for job, rows in parts:
            size = rows.stop - rows.start
            job.inbox.put(evidence[done : done + size])
            done += size


class Caller:
    """One request at the shared observer: an :data:`~ctwl_decoder.statistics.evidence.Observe` that another thread may cancel."""

    def __init__(self, observer: SharedObserver, most: int | None) -> None:
        self._observer = observer
        self._most = most
        self._cancelled = False
        self._job: _Job | None = None

    def __call__(self, positions: Positions, progress: Callable[[int], None] = lambda done: None) -> Evidence:
        """Wait for the evidence at the given positions.

        Raises:
            InputTooLarge: the positions are of a longer text than this caller may ask for.
            RequestCancelled: :meth:`cancel` was called.
            ServiceClosing: the observer was closed.
            Exception: what the proxy or ``progress`` raised.
        """
        if not len(positions):
            return observe(self._observer.proxy, positions)  # nothing to weigh, only the right shapes
        if self._most is not None and len(positions) + self._observer.proxy.profile.prefix_length > self._most:
            raise InputTooLarge(
                f"the text has more than {self._most} tokens, the most that are read here at once; cut it into parts"
            )
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
        """Drop what is still waiting, now and in later calls; the thread that waits gets :class:`RequestCancelled`."""
        self._cancelled = True
        if (job := self._job) is not None:
            self._observer.drop(job)
            job.inbox.put(_cancelled())


def _cancelled() -> RequestCancelled:
    return RequestCancelled("the request was cancelled")

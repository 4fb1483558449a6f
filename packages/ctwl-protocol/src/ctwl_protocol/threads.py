"""A small pool of threads for work that releases the interpreter's lock; it needs no threading layer of numba's."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

T = TypeVar("T")


@cache  # cleared in a forked child, where the threads do not exist
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_threads(), thread_name_prefix="ctwl")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def _threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_chunks(work: Callable[[int, int], T], length: int) -> list[T]:
    """The results of ``work(start, stop)`` over ``range(length)`` in order, in about four chunks for each processor."""
    parts = min(length, 4 * _threads())
    chunks = [(length * i // parts, length * (i + 1) // parts) for i in range(parts)]
    pool, results = _pool(), []
    # At most one chunk for each processor at once, so that callers in other threads get their turns.
    waiting = deque(pool.submit(work, *chunk) for chunk in chunks[: _threads()])
    for chunk in chunks[_threads() :]:
        results.append(waiting.popleft().result())
        waiting.append(pool.submit(work, *chunk))
    return results + [future.result() for future in waiting]

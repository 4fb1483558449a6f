"""Work that is done at the first call, whichever thread makes it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import TypeVar

T = TypeVar("T")

__all__ = ["once"]


def once(make: Callable[[], T]) -> Callable[[], T]:
    """A function that gives what ``make`` made at the first call; after an error the next call tries again."""
    lock, made = threading.Lock(), cache(make)

    def call() -> T:
        with lock:
            return made()

    return call

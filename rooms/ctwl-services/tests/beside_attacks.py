"""How long a server takes to answer while it is attacked by several connections at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

CONNECTIONS = 8
SECONDS = 1.0
"""Of an answer beside an attack, on an idle machine; no other time is asserted of a server."""

QUIET = 20
"""So many times what an answer takes without the attack are allowed beside that, for a machine that has other work."""


def slowest(url: str, seconds: float) -> float:
    """The longest that an answer takes, of the questions that are asked in so many seconds."""
    longest, end = 0.0, time.monotonic() + seconds
    while not longest or time.monotonic() < end:
        begun = time.monotonic()
        assert httpx.get(url, timeout=60).status_code == 200
        longest = max(longest, time.monotonic() - begun)
        time.sleep(0.02)
    return longest


def is_answered_beside(url: str, attack: Callable[[threading.Event], Any]) -> bool:
    """Whether an address answers in time while each connection attacks until it is told that this is over.

    Other work on the machine delays an answer too, so an attack that harms does so three times.
    """
    for _ in range(3):
        allowed, over = SECONDS + QUIET * slowest(url, 0.2), threading.Event()
        with ThreadPoolExecutor(CONNECTIONS) as threads:
            attacking = [threads.submit(attack, over) for _ in range(CONNECTIONS)]
            try:
                longest = slowest(url, 0.8)
            finally:
                over.set()
        for each in attacking:
            each.result()
        if longest < allowed:
            return True
    return False

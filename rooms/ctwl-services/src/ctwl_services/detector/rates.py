"""How often one asker may ask: so many questions a minute, saved up for a minute at most."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from ..errors import RateExceeded

_MOST = 10_000
"""Askers that are remembered; where there are more, the half that asked longest ago is forgotten."""


class Rates:
    """The allowances of askers.

    Raises:
        RateExceeded: by :meth:`take`: an asker has none left.
    """

    def __init__(self, per_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = per_minute, clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, asker: str) -> None:
        """Take a question off an asker's allowance."""
        now = self._clock()
        left, since = self._left.get(asker, (self._rate, now))
        left = min(self._rate, left + (now - since) * self._rate / 60)
        if left < 1:
            after = math.ceil((1 - left) * 60 / self._rate)
            raise RateExceeded(f"at most {self._rate:g} questions a minute; ask again in {after} seconds", after)
        self._left[asker] = (left - 1, now)
        if len(self._left) > _MOST:
            for each in sorted(self._left, key=lambda each: self._left[each][1])[: _MOST // 2]:
                del self._left[each]

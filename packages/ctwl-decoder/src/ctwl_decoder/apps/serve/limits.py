"""What one request, one client and all of them together may ask of the service."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import OptionOutOfRange
from ...options import MAX_CHARACTERS, MAX_TOKENS

__all__ = ["Limits"]

_IN_MEMORY = 1 << 20
"""Starlette keeps uploads of up to this many bytes in memory and writes larger ones to disk; texts are never stored."""


@dataclass(frozen=True)
class Limits:
    """The service's limits; all are above 0.

    Attributes:
        body: bytes of a request's body, at most 1 MiB.
        characters: characters of a text.
        tokens: tokens of a text.
        working: requests that are decoded at once.
        waiting: requests that wait for their turn.
        per_client: requests of one address that are decoded or wait.
        seconds: from the end of a request's head to the end of its answer.
        connections: open at once.

    Raises:
        OptionOutOfRange: a limit is too low, or higher than the decoder's own.
    """

    body: int = 256 << 10
    characters: int = 20_000
    tokens: int = 4096
    working: int = 8
    waiting: int = 32
    per_client: int = 4
    seconds: float = 60.0
    connections: int = 512

    def __post_init__(self) -> None:
        highest = {"body": _IN_MEMORY, "characters": MAX_CHARACTERS, "tokens": MAX_TOKENS}
        for name, value in vars(self).items():
            if not value > 0:
                raise OptionOutOfRange(f"the limit {name} is {value}; it must be above 0")
            if value > highest.get(name, value):
                raise OptionOutOfRange(f"the limit {name} is {value}; it may be at most {highest[name]}")

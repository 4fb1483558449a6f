"""What one request, one client and all of them together may ask of the service."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import OptionOutOfRange
from ...options import MAX_CHARACTERS, MAX_TOKENS

__all__ = ["Limits"]

_SPOOLED = 1 << 20
"""Uploads are parsed in memory up to so many bytes; past them they would be put on the disk, and texts are not kept."""


@dataclass(frozen=True)
class Limits:
    """The service's limits; all are above 0.

    Attributes:
        body: bytes of a request's body, at most 1 MiB.
        characters: of a text.
        tokens: of a text, in the proxy's count.
        working: requests that are decoded at once.
        waiting: requests that wait for their turn.
        per_client: requests under way from one address.
        seconds: for a request, from its head to the end of its answer, and for a client to fetch that.
        head_seconds: for a request's head to arrive.
        connections: open at once; of one address a quarter of them, but behind a trusted proxy.

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
    head_seconds: float = 10.0
    connections: int = 512

    def __post_init__(self) -> None:
        most = {"body": _SPOOLED, "characters": MAX_CHARACTERS, "tokens": MAX_TOKENS}
        for name, value in vars(self).items():
            if not value > 0:
                raise OptionOutOfRange(f"the limit {name} is {value}; it must be above 0")
            if value > most.get(name, value):
                raise OptionOutOfRange(f"the limit {name} is {value}; it may be at most {most[name]}")

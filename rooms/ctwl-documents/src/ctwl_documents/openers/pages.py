"""Pages of HTML."""

from __future__ import annotations

from ..budget import Budget
from ..html import decoded, words_of
from . import opens


@opens("html")
def read(data: bytes, _: Budget) -> str:
    """The words of a page."""
    return words_of(decoded(data))

"""What the tools write into pages, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable


def table(*rows: Iterable[object]) -> str:
    """A table; the first row is its head."""
    head, *rest = ("| " + " | ".join(map(str, row)) + " |" for row in rows)
    return "\n".join([head, "|" + "---|" * (head.count(" | ") + 1), *rest])


def fenced(text: str, language: str = "text") -> str:
    """A block of code."""
    return f"```{language}\n{text}\n```"

"""Counters for Prometheus: whether texts are being marked, and how clearly. They hold nothing of any text.

A plug-in runs in the worker processes of its engine. The server's ``/metrics`` shows their counters where the
environment variable PROMETHEUS_MULTIPROC_DIR names a folder; see docs/providers/monitoring.md.
"""

from __future__ import annotations

from collections import Counter as Counted
from collections.abc import Sequence

from prometheus_client import Counter, Histogram

from ctwl_encoder import Strategy

_MARKED = Counter("ctwl_marked_steps", "Tokens that were drawn from a marked distribution", ["strategy"])
_UNMARKED = Counter("ctwl_unmarked_steps", "Tokens of marked requests that were drawn unmarked", ["strategy", "reason"])
_LEFT = Counter("ctwl_unmarked_texts", "Texts that shall carry no mark", ["reason"])
_CHANCE = Histogram(
    "ctwl_text_chance_found",
    "Finished texts, by how likely a reader finds the mark",
    ["strategy"],
    buckets=(0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1),
)


def count(strategy: Strategy, unmarked: Sequence[str | None]) -> None:
    """Count one step of some texts: why each was not marked, None where it was."""
    _MARKED.labels(strategy).inc(unmarked.count(None))
    for reason, number in Counted(unmarked).items():
        if reason is not None:
            _UNMARKED.labels(strategy, reason).inc(number)


def leave(reason: str) -> None:
    """Count a text that shall carry no mark; for the reason see :meth:`.policy.Policy.why_unmarked`."""
    _LEFT.labels(reason).inc()


def finish(strategy: Strategy, chance: float) -> None:
    """Observe a finished text, by how likely a reader finds its mark."""
    _CHANCE.labels(strategy).observe(chance)

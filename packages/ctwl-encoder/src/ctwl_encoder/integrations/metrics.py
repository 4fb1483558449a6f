"""Counters for Prometheus: whether texts are being marked, and how clearly. They hold nothing of any text.

A plug-in runs in the worker processes of its engine. The server's ``/metrics`` shows their counters where the
environment variable PROMETHEUS_MULTIPROC_DIR names a folder; see docs/providers/monitoring.md.
"""

from __future__ import annotations

from collections import Counter as Counted
from collections.abc import Sequence

from prometheus_client import Counter, Histogram

from ..core.strategies import Strategy

_MARKED = Counter("ctwl_marked_steps", "Tokens that were drawn from a marked distribution", ["strategy"])
_UNMARKED = Counter("ctwl_unmarked_steps", "Tokens of marked requests that were drawn unmarked", ["strategy", "reason"])
_LEFT = Counter("ctwl_unmarked_texts", "Texts that shall carry no mark", ["reason"])
_EVIDENCE = Histogram(
    "ctwl_text_evidence_bits",
    "Expected evidence of finished texts: minus log2 of the p-value that a reader may expect",
    ["strategy"],
    buckets=(0.5, 7, 14, 20, 30, 50, 100, 200, 500),
)
"""14 bits are the first whole number that the decoder's default level asks for."""


def count(strategy: Strategy, unmarked: Sequence[str | None]) -> None:
    """Count one step of some texts: why each was not marked, None where it was."""
    _MARKED.labels(strategy).inc(unmarked.count(None))
    for reason, number in Counted(unmarked).items():
        if reason is not None:
            _UNMARKED.labels(strategy, reason).inc(number)


def leave(reason: str) -> None:
    """Count a text that shall carry no mark; for the reason see :meth:`.policy.Policy.why_unmarked`."""
    _LEFT.labels(reason).inc()


def finish(strategy: Strategy, log2_p: float) -> None:
    """Observe a finished text, by what to expect of log2 of its p-value."""
    _EVIDENCE.labels(strategy).observe(-log2_p)

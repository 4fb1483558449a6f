"""Counters for Prometheus: whether texts are being marked, and how clearly. They hold nothing of any text.

The plug-in runs in vLLM's worker processes. Its server's ``/metrics`` shows their counters where the environment
variable PROMETHEUS_MULTIPROC_DIR names a folder; see docs/providers/monitoring.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import Counter, Histogram

from ...core.marker import Marker
from ...core.strategies import Strategy
from ...core.text_state import TextState

__all__ = ["count", "finish"]

_MARKED = Counter("ctwl_marked_steps", "Tokens that were drawn from a marked distribution", ["strategy"])
_UNMARKED = Counter("ctwl_unmarked_steps", "Tokens of marked requests that were drawn unmarked", ["strategy", "reason"])
_EVIDENCE = Histogram(
    "ctwl_text_evidence_bits",
    "Expected evidence of finished texts: minus log2 of the p-value that a reader may expect",
    ["strategy"],
    buckets=(0.5, 7, 14, 20, 30, 50, 100, 200, 500),
)
"""At the decoder's default level a text of 14 bits or more is found."""


def count(strategy: Strategy, texts: Sequence[TextState], *, failed: bool = False) -> None:
    """Count one step of some texts, after they were marked, or after this failed."""
    unmarked = texts if failed else [text for text in texts if not text.offers]
    _MARKED.labels(strategy).inc(len(texts) - len(unmarked))
    for text in unmarked:
        _UNMARKED.labels(strategy, _reason(text, failed=failed)).inc()


def _reason(text: TextState, *, failed: bool) -> str:
    """Why a text's next token is drawn unmarked; docs/providers/monitoring.md lists these."""
    if text.ended:
        return "behind a special token"
    if len(text.written) < text.written.keep:
        return "first tokens of a text"
    return "the proxy LM failed" if failed else "no place to mark"


def finish(marker: Marker, text: TextState) -> None:
    """Observe a finished text."""
    if len(text.written):
        _EVIDENCE.labels(marker.strategy).observe(-marker.expected_log2_p(text))

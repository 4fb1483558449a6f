"""What a verdict means and what it does not, in the words that every report uses."""

from __future__ import annotations

import math

from ..search.posterior import THRESHOLD
from .model import NO_PROOF, Report, describe_origin, format_p_value

__all__ = ["caveats", "headline"]


def headline(report: Report) -> str:
    """The verdict in a sentence."""
    if not report.detected:
        return "No verdict: the text is too short" if report.too_short else "No watermark found"
    codes = {span.code for span in report.spans}
    whose = describe_origin(report.spans[0]) if len(codes) == 1 else f"{len(codes)} records"
    if len(report.spans) == 1 and report.spans[0].tokens == report.tokens:
        return f"Watermark found: {whose}"
    passages = "a passage" if len(report.spans) == 1 else f"{len(report.spans)} passages"
    return f"Watermark found in {passages}: {whose}"


def caveats(report: Report) -> list[str]:
    """What a reader must know to take the verdict for what it is."""
    if report.posterior is not None:
        return [
            f"The paper's test: the best code of a window has the posterior {report.posterior:.6f}; the threshold is "
            f"{THRESHOLD}. That compares codes with each other and is no false-positive rate.",
            report.forgeable if report.detected else NO_PROOF,
        ]
    if report.detected:
        return [
            f"Of texts without a watermark, at most one in {_one_in(report.p_value)} would show some code as clearly.",
            report.forgeable,
            "It says nothing of the words outside the passages found, and nothing about whether the text is true.",
        ]
    if report.too_short:
        return [report.shortage]
    return [
        f"The best of {report.searched:,} codes has p = {format_p_value(report.p_value)}; the level is {format_p_value(report.alpha)}.",
        *report.short,
        NO_PROOF,
    ]


def _one_in(p: float) -> str:
    return f"{math.floor(1 / p):,}" if p > 1e-9 else f"10^{math.floor(-math.log10(p))}"

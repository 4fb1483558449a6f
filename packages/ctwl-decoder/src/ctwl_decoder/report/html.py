"""The report as one page that needs nothing else.

Blue is for the code and orange is against it, which everyone can tell apart; passages are numbered as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from ..words import say
from .analysis import Analysis, evidence_level
from .wording import caveats, describe_origin, describe_record, format_p_value, headline, means, tried

_MOST = 20_000
"""Tokens of the text that a page shows. Chosen by hand: browsers stay quick, and few texts are longer."""

_SUM = 64
"""Tokens over which the curve sums evidence. Chosen by hand; only the curve depends on it."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 890, 10, 160
"""The curve's edges in the coordinates of the template's SVG."""

_PAGES = Environment(loader=PackageLoader("ctwl_decoder"), autoescape=True, undefined=StrictUndefined, trim_blocks=True)
_PAGES.globals["say"] = say
_PAGES.filters |= {
    "p_value": format_p_value, "origin": describe_origin, "record": describe_record, "means": means,
}  # fmt: skip


@dataclass(frozen=True)
class Ask:
    """A form of a service's page by which a person agrees that a passage is sent to a detector.

    Attributes:
        provider, name, url: whose detector, and where.
        text: what is sent.
        token: shows that the form is of this page; see :class:`ctwl_services.serve.asking.Consents`.
    """

    provider: int
    name: str
    url: str
    text: str
    token: str


def html_report(analysis: Analysis, asks: Sequence[Ask] = ()) -> str:
    """A complete HTML document without scripts.

    Args:
        analysis: what it shows.
        asks: the forms, where a service shows the page that asks detectors.
    """
    report, tokens = analysis.report, len(analysis.contributions)
    return _PAGES.get_template("report.html").render(
        report=report,
        title=headline(report),
        caveats=caveats(report),
        asks=asks,
        tried=tried(report.profiles),
        tokens=tokens,
        curve=_curve(analysis) if tokens else None,
        summed=_SUM,
        runs=_runs(analysis),
        cut=_MOST if tokens > _MOST else None,
    )


def html_answers(title: str, lines: Sequence[str]) -> str:
    """A complete HTML document of what detectors answered, in sentences."""
    return _PAGES.get_template("answers.html").render(title=title, lines=lines)


def _curve(analysis: Analysis) -> dict[str, object]:
    """The moving sum of the evidence, and the left and right edges of the passages, in the SVG's coordinates."""
    worth, spans = analysis.contributions, analysis.report.spans
    tokens = np.arange(0, len(worth), max(1, len(worth) // 600))
    sums = np.convolve(np.nan_to_num(worth), np.ones(_SUM))[tokens + _SUM // 2 - 1]
    vertical = ([min(-1.0, sums.min()), max(1.0, sums.max())], [_BOTTOM, _TOP])
    horizontal = ([0, max(len(worth) - 1, 1)], [_LEFT, _RIGHT])
    edges = np.searchsorted(analysis.starts, [place for span in spans for place in (span.start, span.end)])
    x, y = np.interp(tokens, *horizontal), np.interp(sums, *vertical)
    return {
        "points": " ".join(f"{left:.1f},{top:.1f}" for left, top in zip(x, y, strict=True)),
        "zero": round(float(np.interp(0.0, *vertical)), 1),
        "high": round(max(1.0, sums.max())),
        "bands": np.interp(edges, *horizontal).round(1).reshape(-1, 2).tolist(),
    }


def _runs(analysis: Analysis) -> list[tuple[int, list[tuple[str, str]]]]:
    """The text in runs of tokens.

    Each begins with its passage's number, 0 outside passages and -1 where tokens are left out.
    """
    starts, passages = analysis.starts[:-1], np.zeros(len(analysis.contributions), dtype=np.int64)
    for number, span in enumerate(analysis.report.spans, 1):
        passages[(span.start <= starts) & (starts < span.end)] = number
    passages[~analysis.shown(_MOST)] = -1
    tokens = zip(passages.tolist(), analysis.pieces(), strict=True)
    return [
        (passage, [(_css_class(worth, analysis.report.score), piece) for _, (piece, worth) in run])
        for passage, run in groupby(tokens, key=itemgetter(0))
    ]


def _css_class(worth: float, score: str) -> str:
    """A token's class: f1 to f3 for the code, a1 to a3 against it, none where it says hardly anything."""
    level = evidence_level(worth, score)
    return f"{'f' if level > 0 else 'a'}{abs(level)}" if level else ""

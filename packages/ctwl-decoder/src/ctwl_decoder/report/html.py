"""The report as one HTML page that needs nothing else: verdict, records, evidence along the text, its heat map.

Blue stands for the code and orange against it, which everyone can tell apart; passages are numbered as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import numpy as np
from numpy.typing import NDArray

from .analysis import Analysis, evidence_level
from .model import Span
from .wording import caveats, describe_origin, describe_record, format_p_value, headline

__all__ = ["html_report"]

_MOST = 20_000
_SUM = 64
_WIDTH, _HEIGHT = 900, 180

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --soft: #57606a; --line: #d0d7de; --band: #0969da22;
  --curve: #0550ae; --on: #000; --f1: #deebf7; --f2: #9ecae1; --f3: #4292c6; --a1: #fee6ce; --a2: #fdae6b;
  --a3: #e6550d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --soft: #9198a1; --line: #3d444d;
  --band: #4493f833; --curve: #79c0ff; --on: #fff; --f1: #12304c; --f2: #1c5589; --f3: #2f7fc1; --a1: #43260e;
  --a2: #8a4510; --a3: #c2510c; } }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; font: 16px/1.55 system-ui, sans-serif; color: var(--ink);
  background: var(--paper); }
h1 { font-size: 1.45rem; margin: 0 0 .75rem; padding: .75rem 1rem; border-left: .4rem solid #2171b5;
  background: var(--band); }
h1.none { border-color: var(--line); background: none; }
h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; } h3 { font-size: 1rem; margin: 1rem 0 .25rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0; } dt { font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; } td, th { padding: .25rem .9rem .25rem 0; text-align: right;
  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
ul { padding-left: 1.2rem; } footer { overflow-wrap: anywhere; }
.soft, figcaption, footer { color: var(--soft); font-size: .875rem; }
.scroll { overflow-x: auto; } figure { margin: 0; } svg { width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 12px; } .curve { fill: none; stroke: var(--curve); stroke-width: 1.5; }
.axis { stroke: var(--line); } .band { fill: var(--band); }
.text { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--line); padding: 1rem;
  border-radius: .4rem; line-height: 1.9; }
.text mark { background: none; color: inherit; border-bottom: .2rem solid #2171b5; padding-bottom: .1rem; }
.text mark::before { content: attr(data-n); font: bold .7rem system-ui; vertical-align: super; margin-right: .15rem; }
i { font-style: normal; border-radius: .15rem; }
.f1 { background: var(--f1); } .f2 { background: var(--f2); } .f3 { background: var(--f3); }
.a1 { background: var(--a1); } .a2 { background: var(--a2); } .a3 { background: var(--a3); }
.found > .f2, .found > .f3 { background: var(--f1); } .found > .a2, .found > .a3 { background: var(--a1); }
.text i[class] { color: var(--on); }
.key i { display: inline-block; width: 1.6rem; height: .8rem; }
"""


def html_report(analysis: Analysis) -> str:
    """A complete HTML document; everything that comes from the text is escaped, and there is no script in it."""
    return "".join(_document(analysis))


def _document(analysis: Analysis) -> Iterator[str]:
    report = analysis.report
    title = escape(headline(report))
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
    yield f"<h1{'' if report.detected else ' class=none'}>{title}</h1>\n<ul>\n"
    yield from (f"<li>{escape(line)}</li>\n" for line in caveats(report))
    yield "</ul>\n"
    if report.spans:
        yield from _records(report.spans)
    if len(analysis.contributions):
        yield from _curve(analysis)
        yield from _heat(analysis)
    yield "</main>\n<footer>\n<p>"
    yield f"{report.hits} hits in {report.scored} tokens scored, where a wrong code has {report.expected:.1f}. "
    yield f"{report.tokens} tokens, {report.searched:,} codes searched, text read {escape(report.form)}, level "
    names = f"Names are from the {escape(report.registry)}. " if report.registry else ""
    shown = f", shown by the {report.score} score" if report.detected else ""
    yield f"{format_p_value(report.alpha)}{shown}. {names}Profile {escape(report.profile)}, "
    yield f"SHA-256 {report.profile_digest}.</p>\n</footer>\n</body>\n</html>\n"


def _records(spans: list[Span]) -> Iterator[str]:
    yield '<h2>Records</h2>\n<div class="scroll"><table>\n<tr><th>passage</th><th>characters</th><th>tokens</th>'
    yield "<th>provider</th><th>model version</th><th>nonce</th><th>code</th><th>p-value</th></tr>\n"
    for i, span in enumerate(spans, 1):
        fields = (span.provider, span.version, span.nonce)
        named = "".join(f"<td>{'–' if field is None else field}</td>" for field in fields)
        yield f"<tr><td>{i}</td><td>{span.start}–{span.end}</td><td>{span.tokens}</td>{named}"
        yield f"<td>{span.code}</td><td>{format_p_value(span.p_value)}</td></tr>\n"
    yield "</table></div>\n"
    for i, span in enumerate(spans, 1):
        yield f"<h3>Passage {i}: {escape(describe_origin(span))}</h3>\n<dl>\n"
        yield from (f"<dt>{label}</dt><dd>{escape(text)}</dd>\n" for label, text in describe_record(span.record))
        yield "</dl>\n"


def _moving_sum(worth: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = np.append(0.0, np.nan_to_num(worth).cumsum())
    middle = np.arange(len(worth))
    left, right = np.maximum(middle - _SUM // 2, 0), np.minimum(middle + _SUM // 2, len(worth))
    total: NDArray[np.float64] = sums[right] - sums[left]
    return total


def _curve(analysis: Analysis) -> Iterator[str]:
    values = _moving_sum(analysis.contributions)
    step = max(1, len(values) // 600)
    values, tokens = values[::step], len(values)
    low, high = min(-1.0, float(values.min())), max(1.0, float(values.max()))
    y = _HEIGHT - 20 - (values - low) / (high - low) * (_HEIGHT - 30)
    x = 40 + np.arange(len(values)) * step / max(tokens - 1, 1) * (_WIDTH - 50)
    zero = _HEIGHT - 20 + low / (high - low) * (_HEIGHT - 30)
    yield "<h2>Evidence along the text</h2>\n<figure>\n"
    yield f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="Evidence curve">\n'
    for i, span in enumerate(analysis.report.spans, 1):
        first, last = np.searchsorted(analysis.starts, [span.start, span.end])
        left, right = (40 + min(int(t), tokens - 1) / max(tokens - 1, 1) * (_WIDTH - 50) for t in (first, last))
        yield f'<rect class="band" x="{left:.1f}" y="5" width="{max(right - left, 1):.1f}" height="{_HEIGHT - 25}"/>'
        yield f'<text x="{left + 3:.1f}" y="17">{i}</text>\n'
    yield f'<line class="axis" x1="40" x2="{_WIDTH - 10}" y1="{zero:.1f}" y2="{zero:.1f}"/>\n'
    yield f'<text x="34" y="{zero + 4:.1f}" text-anchor="end">0</text>'
    yield f'<text x="34" y="14" text-anchor="end">{high:.0f}</text>\n'
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    yield f'<polyline class="curve" points="{points}"/>\n'
    yield f'<text x="40" y="{_HEIGHT - 4}">token 0</text>'
    yield f'<text x="{_WIDTH - 10}" y="{_HEIGHT - 4}" text-anchor="end">{tokens}</text>\n</svg>\n'
    yield f"<figcaption>Log-likelihood ratio for the code, in nats, summed over {_SUM} tokens around each: "
    yield "above zero where the text follows the code.</figcaption>\n</figure>\n"


def _level(worth: float, score: str) -> str:
    """The CSS class of a token; none where it says hardly anything."""
    steps = evidence_level(worth, score)
    return f"{'f' if steps > 0 else 'a'}{abs(steps)}" if steps else ""


def _heat(analysis: Analysis) -> Iterator[str]:
    yield "<h2>The text</h2>\n"
    shown = analysis.shown(_MOST)
    if not shown.all():
        what = "What was found" if analysis.report.spans else "Its beginning"
        yield f'<p class="soft">{what} is shown; the text has more than {_MOST:,} tokens.</p>\n'
    yield '<p class="key soft">evidence for the code <i class="f3"></i> <i class="f2"></i> <i class="f1"></i> none '
    yield '<i class="a1"></i> <i class="a2"></i> <i class="a3"></i> against it; passages found are underlined</p>\n'
    yield f'<div class="text{" found" if analysis.report.spans else ""}">'  # outside passages it is chance: paler
    spans = list(enumerate(analysis.report.spans, 1))
    open_until, gap = -1, False
    for i, ((piece, worth), start) in enumerate(zip(analysis.pieces(), analysis.starts.tolist(), strict=False)):
        if 0 <= open_until <= start:
            yield "</mark>"
            open_until = -1
        if open_until < 0 and spans and start >= spans[0][1].start:
            n, span = spans.pop(0)
            yield f'<mark data-n="{n}">'
            open_until = span.end
        if not shown[i]:
            yield "" if gap else " [...] "
            gap = True
            continue
        gap = False
        level = _level(worth, analysis.report.score)
        yield f'<i class="{level}">{escape(piece)}</i>' if level else escape(piece)
    yield ("</mark>" if open_until >= 0 else "") + "</div>\n"

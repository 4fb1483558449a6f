"""The report on a terminal: the verdict, the records, then the text in colour where a code was found in it."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ..text.variants import AS_GIVEN
from .analysis import Analysis, evidence_level
from .model import ReadRecord
from .wording import HITS_MEAN, caveats, describe_origin, describe_record, format_p_value, headline, means, tried

_FOR = ("black on #deebf7", "black on #9ecae1", "black on #4292c6")  # blue against orange: told apart by everyone
_AGAINST = ("black on #fee6ce", "black on #fdae6b", "black on #e6550d")
_FEW_FOR = ("bold", "bold underline", "bold reverse")  # for terminals without these colours
_FEW_AGAINST = ("dim", "dim italic", "dim strike")
_MOST = 1500
_KEPT = "\n\t\u200c\u200d"  # scripts need the joiners


def style_of(worth: float, score: str, *, colours: bool = True) -> str:
    """How a token's evidence in nats is shown; plainly where there is hardly any."""
    steps = evidence_level(worth, score)
    scale = (_FOR if steps > 0 else _AGAINST) if colours else (_FEW_FOR if steps > 0 else _FEW_AGAINST)
    return scale[abs(steps) - 1] if steps else ""


def render(analysis: Analysis, *, colours: bool = True) -> RenderableType:
    """Everything there is to say about a text.

    Args:
        analysis: the text's.
        colours: whether the terminal has more than 16.
    """
    report = analysis.report
    notes = Text("\n".join(caveats(report)), style="dim")
    colour = "blue" if report.detected else "default"
    parts: list[RenderableType] = [
        Panel(Text(headline(report), style="bold"), border_style=colour, expand=False),
        _records(analysis) if report.detected else Text(),
        _details(analysis),
        _numbers(analysis),
        notes,
    ]
    if report.detected and len(analysis.contributions):  # the colours of the likeliest code would mean nothing
        parts += [Text(), heat(analysis, colours=colours), legend(colours=colours)]
    return Group(*parts)


def show(analysis: Analysis, console: Console) -> None:
    """Print the report."""
    many = console.color_system in ("256", "truecolor") and not console.no_color
    console.print(render(analysis, colours=many))


def _records(analysis: Analysis) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("characters", "tokens", "provider", "version", "nonce", "code", "p-value"):
        table.add_column(name, justify="right")
    for span in analysis.report.spans:
        fields = (span.provider, span.version, span.nonce)
        named = ("-" if field is None else str(field) for field in fields)
        table.add_row(
            f"{span.start}-{span.end}", str(span.tokens), *named, str(span.code), format_p_value(span.p_value)
        )
    return table


def _details(analysis: Analysis) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column()
    told: list[ReadRecord | None] = []
    for span in analysis.report.spans:
        if span.record not in told:
            told.append(span.record)
            if len({s.code for s in analysis.report.spans}) > 1:
                table.add_row("from", describe_origin(span))
            for label, text in describe_record(span.record):
                table.add_row(label, text)
    return table


def _numbers(analysis: Analysis) -> Text:
    report = analysis.report
    words = f"{report.hits} hits in {report.scored} tokens by the {report.score} score, where a wrong code has "
    words += f"{report.expected:.1f}; " + (f"{HITS_MEAN}; " if not report.detected else "")
    words += f"{report.tokens} tokens, {report.searched:,} codes searched"
    if report.form != AS_GIVEN:
        words += f"; read {report.form}"
    if report.registry and report.detected:
        words += f"\nnames from the {report.registry}"
    return Text("\n".join([words, f"profile {report.profile} ({means(report)})", *tried(report.profiles)]))


def heat(analysis: Analysis, *, colours: bool) -> Text:
    """The text, passages underlined where there are colours; of a long one only what was found, or its beginning."""
    shown, spans = analysis.shown(_MOST), analysis.report.spans
    text, gap = Text(), False
    for i, ((piece, worth), start) in enumerate(zip(analysis.pieces(), analysis.starts.tolist(), strict=False)):
        if shown[i]:
            style = style_of(worth, analysis.report.score, colours=colours)
            inside = colours and any(span.start <= start < span.end for span in spans)
            text.append(_harmless(piece), f"{style} underline" if inside else style)
        elif not gap:
            text.append(" [...] ", "dim")
        gap = not shown[i]
    return text


def _harmless(piece: str) -> str:
    """A piece of text for a terminal, to which some characters are orders: these characters are shown as such."""
    return "".join(c if c.isprintable() or c in _KEPT else " " if c.isspace() else "\ufffd" for c in piece)


def legend(*, colours: bool) -> Text:
    """What the colours of :func:`heat` mean."""
    sample = "  " if colours else "word"
    legend = Text("\nevidence for the code ")
    for style in reversed(_FOR if colours else _FEW_FOR):
        legend.append(sample, style).append("" if colours else " ")
    legend.append(" none ")
    for style in _AGAINST if colours else _FEW_AGAINST:
        legend.append(sample, style).append("" if colours else " ")
    return legend.append(" against it; passages found are underlined" if colours else " against it")

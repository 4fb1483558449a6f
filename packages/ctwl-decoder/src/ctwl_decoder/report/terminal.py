"""The report on a terminal: its lines, then the text in colour where a code was found in it."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from .analysis import Analysis, evidence_level
from .wording import describe

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


def show(analysis: Analysis, console: Console) -> None:
    """Print the report; and the text in colour, where a code was found in it."""
    verdict, *lines = describe(analysis.report).splitlines()
    console.print(Text(verdict, style="bold blue" if analysis.report.detected else "bold"))
    console.print(Text("\n".join(lines)))
    if analysis.report.detected and len(analysis.contributions):  # of the likeliest code colours would mean nothing
        many = console.color_system in ("256", "truecolor") and not console.no_color
        console.print(Text(), heat(analysis, colours=many), legend(colours=many), sep="\n")


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

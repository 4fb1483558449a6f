"""Draw the figures of the documentation from the example text, evaluation/results/example.json.

python tools/figures.py          # into docs/figures/
"""

from __future__ import annotations

import html
import io
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from rich.console import Console

from ctwl_decoder import Report
from ctwl_decoder.report.analysis import Analysis, evidence_level
from ctwl_decoder.report.html import html_report
from ctwl_decoder.report.terminal import show

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "evaluation" / "results" / "example.json"
FIGURES = ROOT / "docs" / "figures"

FOR, AGAINST = ("#deebf7", "#9ecae1", "#4292c6"), ("#fee6ce", "#fdae6b", "#e6550d")
"""The report's colours: blue against orange, which everyone can tell apart."""

INSIDE, OUTSIDE = FOR[2], AGAINST[1]
STYLE = {"svg.hashsalt": "ctwl", "svg.fonttype": "none", "font.size": 10, "axes.spines.top": False}
STYLE |= {"axes.spines.right": False}

COLUMNS, WIDTH, HEIGHT, MARGIN = 86, 8.0, 22.0, 12.0
"""The text's figure: characters a line, the size of one and of a line in pixels, the margin."""


def lines_of(tokens: list[dict[str, Any]]) -> Iterator[list[tuple[str, float | None]]]:
    """The text in lines of at most ``COLUMNS`` characters, broken between words: pieces with their evidence."""
    line: list[tuple[str, float | None]] = []
    length = 0
    for token in tokens:
        text, evidence = token["text"], token["evidence"]
        breaks, text = "\n" in text, text.replace("\n", " ")
        starts_word = text.startswith(" ")
        if line and (breaks or (starts_word and length + len(text) > COLUMNS)):
            yield line
            line, length, text = [], 0, text.lstrip(" ")
        if text:
            line.append((text, evidence))
            length += len(text)
    yield line


def text(example: dict[str, Any]) -> str:
    """The text, each token coloured by its evidence for the code."""
    rows = list(lines_of(example["tokens"]))
    width, height = 2 * MARGIN + COLUMNS * WIDTH, 2 * MARGIN + (len(rows) + 1.6) * HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        'font-family="monospace" font-size="13">',
        "<title>A text that carries a code, each token coloured by its evidence for the code</title>",
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
    ]
    for row, line in enumerate(rows):
        x, y = MARGIN, MARGIN + row * HEIGHT
        for piece, evidence in line:
            level = 0 if evidence is None else evidence_level(evidence, "race")
            shown, wide = html.escape(piece), len(piece) * WIDTH
            if level:
                fill = (FOR if level > 0 else AGAINST)[abs(level) - 1]
                parts.append(f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{HEIGHT - 2:g}" fill="{fill}"/>')
            ink = "#888888" if evidence is None else "#000000"
            parts.append(
                f'<text x="{x:g}" y="{y + 15:g}" textLength="{wide:g}" lengthAdjust="spacingAndGlyphs" fill="{ink}" '
                f'xml:space="preserve">{shown}</text>'
            )
            x += wide
    parts += [*_legend(MARGIN + (len(rows) + 0.6) * HEIGHT), "</svg>"]
    return "\n".join(parts) + "\n"


def _legend(y: float) -> Iterator[str]:
    x, scale = MARGIN, [*reversed(FOR), "#ffffff", *AGAINST]
    for words, boxes in (("evidence for the code ", scale), (" against it; grey: not scored", ())):
        wide = len(words) * WIDTH
        yield f'<text x="{x:g}" y="{y + 15:g}" textLength="{wide:g}" xml:space="preserve" fill="#555555">{words}</text>'
        x += wide
        for fill in boxes:
            yield f'<rect x="{x:g}" y="{y:g}" width="20" height="{HEIGHT - 2:g}" fill="{fill}" stroke="#cccccc"/>'
            x += 22


def halves(example: dict[str, Any]) -> Figure:
    """One position: the tokens before it, the proxy LM's likeliest tokens, and the half that each is in."""
    place = example["position"]
    rows = place["candidates"]
    others = max(0.0, 1 - sum(row["probability"] for row in rows))
    figure, panel = plt.subplots(figsize=(8.6, 4.6))
    y = np.arange(len(rows))[::-1]
    colours = [INSIDE if row["in the half"] else OUTSIDE for row in rows]
    panel.barh(y, [100 * row["probability"] for row in rows], color=colours)
    panel.set_yticks(y, [repr(row["token"])[1:-1] for row in rows], family="monospace")
    for at, row in zip(y, rows, strict=True):
        if row["token"] == place["chosen"]:
            end = (100 * row["probability"], at)
            panel.annotate(
                "the token that stands in the text",
                end,
                (6, 0),
                textcoords="offset points",
                va="center",
                weight="bold",
            )
    panel.set(xlabel=f"probability by the proxy LM, %  (all other tokens together: {100 * others:.0f} %)")
    prefix = place["prefix"].strip().replace("\n", "\\n")
    panel.set_title(f"The proxy LM reads:  ... {prefix} ...", loc="left", fontsize=10)
    share = place["share of the half"]
    for colour, words in (
        (INSIDE, f"in the half of the code (its colour here is {place['colour']}): {100 * share:.0f} % together"),
        (OUTSIDE, f"not in the half: {100 * (1 - share):.0f} % together"),
    ):
        panel.bar(0, 0, color=colour, label=words)
    panel.set_xlim(left=0)
    panel.legend(loc="lower right", frameon=False)
    return figure


def growth(example: dict[str, Any]) -> Figure:
    """The score of the code after each position, and that of the best of all other codes."""
    right, wrong = (np.array(example["growth"][name]) for name in ("right", "best wrong"))
    unscored = len(example["tokens"]) - len(right)
    tokens = unscored + 1 + np.arange(len(right))
    figure, panel = plt.subplots(figsize=(8.6, 3.8))
    panel.plot(tokens, right, color=FOR[2], linewidth=2, label="the text's code")
    panel.plot(tokens, wrong, color=AGAINST[2], linewidth=2, linestyle="--", label="the best of all other codes")
    panel.set(xlabel="tokens read", ylabel="score, nats")
    panel.axhline(0, color="black", linewidth=0.6)
    panel.legend(frameon=False)
    return figure


def analysis_of(example: dict[str, Any]) -> Analysis:
    """The example's report with its evidence, as the decoder gives it by default."""
    tokens = example["tokens"]
    starts = np.cumsum([0, *(len(token["text"]) for token in tokens)])
    evidence = [math.nan if token["evidence"] is None else token["evidence by default"] for token in tokens]
    report = Report.model_validate_json(json.dumps(example["report"]))
    return Analysis(example["text"], report, starts, np.array(evidence))


_FORMAT = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {terminal_width} {terminal_height}" role="img">
<title>A report on a terminal</title>
<style>
.{unique_id}-matrix {{ font-family: monospace; font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs>{lines}</defs>
<rect width="{terminal_width}" height="{terminal_height}" fill="#ffffff"/>
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</svg>
"""
"""rich's picture of a terminal without its frame, and without fonts from elsewhere."""


def terminal(example: dict[str, Any]) -> str:
    """The report on a terminal."""
    from rich.terminal_theme import DEFAULT_TERMINAL_THEME

    console = Console(record=True, width=116, file=io.StringIO(), color_system="truecolor", force_terminal=True)
    show(analysis_of(example), console)
    return console.export_svg(theme=DEFAULT_TERMINAL_THEME, code_format=_FORMAT, unique_id="report")


def draw(example: dict[str, Any], folder: Path) -> None:
    """Write every figure.

    Args:
        example: the result of ``evaluation/reading/example.py``.
        folder: where they go.
    """
    mpl.use("agg")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "text.svg").write_text(text(example), encoding="utf-8")
    (folder / "report.svg").write_text(terminal(example), encoding="utf-8")
    (folder / "report.html").write_text(html_report(analysis_of(example)), encoding="utf-8")
    for make in (halves, growth):
        with plt.style.context(STYLE):
            figure = make(example)
            figure.tight_layout()
            figure.savefig(folder / f"{make.__name__}.svg", metadata={"Date": None})
            plt.close(figure)


if __name__ == "__main__":
    draw(json.loads(EXAMPLE.read_text(encoding="utf-8")), Path(sys.argv[1]) if len(sys.argv) > 1 else FIGURES)

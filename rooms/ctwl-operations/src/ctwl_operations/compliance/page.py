"""The page, as Markdown and as HTML: both from the same parts."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from .measures import Evidence, Measure, measures

_STYLE = (
    "body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.55 system-ui, sans-serif; } "
    "table { border-collapse: collapse; } td, th { padding: .3rem .8rem .3rem 0; text-align: left; "
    "vertical-align: top; border-bottom: 1px solid #d0d7de; overflow-wrap: anywhere; }"
)

TITLE = "Marking of texts: what is shown, and what remains open"
NO_ADVICE = (
    "This is not legal advice, and no proof of compliance. It goes through the Code of Practice on Transparency of "
    "AI-Generated Content, by summaries of it, for Article 50(2) of Regulation (EU) 2024/1689. Read the Code itself."
)
MEASURED = "These are the plan's model and settings. The log does not say how a server samples: see that it samples so."
GAP = (
    "Who has not signed the Code compares its own measures with the Code's. These are the gaps that the figures leave; "
    "say for each by what other means you meet it."
)


@dataclass(frozen=True)
class Table:
    """A table under a heading."""

    heading: str
    says: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def tables(given: Evidence) -> list[Table]:
    """All parts of the page."""
    setting, found = _setting(given), measures(given)
    return [
        Table("What was measured", MEASURED, ("", ""), setting),
        Table("Measure by measure", "", ("the Code asks for", "", "what the figures show", "what remains open"),
              [(each.name, each.state, each.shows, each.remains) for each in found]),
        Table("Gap analysis", GAP, ("measure", "gap"), _gaps(found)),
        Table("Where each figure stands", "A number in brackets is a row of this table.",
              ("", "value", "source", "place"), _sources(given)),
        Table("The files", "", ("source", "read by", "SHA-256"),
              [(each.name, each.reads, each.digest) for each in (given.log, given.plan, given.numbers)]),
    ]  # fmt: skip


def _setting(given: Evidence) -> list[tuple[str, str]]:
    show, sampling = given.figures.show, given.plan.value("/settings/sampling")
    rows = [(name, show(given.plan, f"/settings/{name}")) for name in ("model", "profile", "texts")]
    return [*rows, *((name.replace("_", " "), show(given.plan, f"/settings/sampling/{name}")) for name in sampling)]


def _gaps(found: Sequence[Measure]) -> list[tuple[str, str]]:
    return [(each.name, each.remains) for each in found if each.state != "shown"]


def _sources(given: Evidence) -> list[tuple[str, str, str, str]]:
    rows = enumerate(given.figures.used, 1)
    return [(str(n), json.dumps(each.value, ensure_ascii=False), each.source.name, each.pointer) for n, each in rows]


def as_markdown(given: Evidence) -> str:
    """The page as Markdown."""
    lines = [f"# {TITLE}", "", NO_ADVICE]
    for each in tables(given):
        lines += ["", f"## {each.heading}", "", *([each.says, ""] if each.says else [])]
        lines += [_row(each.head), _row(["---"] * len(each.head)), *map(_row, each.rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_plain, cells))} |"


def _plain(cell: str) -> str:
    """A cell in which nothing is markup: names of models and files are anybody's."""
    shown = "".join(each if each.isprintable() else " " for each in cell)
    return re.sub(r"([\\`*_<>|&~]|\](?=\()|!(?=\[))", r"\\\1", shown)


def as_html(given: Evidence) -> str:
    """The page as one HTML document without scripts."""
    parts = [f"<h1>{html.escape(TITLE)}</h1>", f"<p>{html.escape(NO_ADVICE)}</p>"]
    for each in tables(given):
        parts += [f"<h2>{html.escape(each.heading)}</h2>", f"<p>{html.escape(each.says)}</p>" if each.says else ""]
        rows = ["".join(f"<th>{html.escape(cell)}</th>" for cell in each.head)]
        rows += ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in each.rows]
        parts.append(f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>")
    head = f'<meta charset="utf-8"><title>{html.escape(TITLE)}</title><style>{_STYLE}</style>'
    body = "\n".join(filter(None, parts))
    return f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n<body>\n{body}\n</body>\n</html>\n'

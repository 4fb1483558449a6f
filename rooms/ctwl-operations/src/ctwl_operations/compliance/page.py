"""The page: the text of ``page.md.j2`` filled with figures, as Markdown, and as HTML made of that."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from ..plan.reading import EDITS
from ..plan.statistics import NINE_IN_TEN
from .figures import Figures, plain
from .source import Source

_PAGES = Environment(
    loader=PackageLoader(__package__, "."),
    autoescape=True,
    finalize=plain,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
"""HTML that stands in Markdown is text to it."""


@dataclass(frozen=True)
class Measure:
    """One measure of the code; its numbers are those that summaries of the code quote (docs/compliance.md names them).

    Attributes:
        name: what is asked for.
        state: how far the figures answer it: ``shown``, ``partly`` or, not at all, ``open``.
        shows: what they show, in Markdown.
        remains: what remains open, in Markdown.
    """

    name: str
    state: str
    shows: Markup
    remains: Markup


def as_markdown(log: Source, plan: Source, numbers: Source) -> str:
    """The page as Markdown.

    Args:
        log: what ``ctwl-encode audit --json`` says of the logs.
        plan: what ``ctwl-encode plan --json`` printed.
        numbers: the specification's numbers.

    Raises:
        OptionOutOfRange: a figure is not where it should be.
    """
    figures, measures = Figures(), list[Measure]()

    def measure(name: str, caller: Callable[[], Markup], answered: bool = True) -> str:
        """Keep a measure that the text states: one line of a table, whatever lines its two parts have there."""
        parts = (Markup("\n") + caller()).split("\n|\n")
        shows, remains = (Markup(" ").join(part.split()) for part in parts)
        state = "open" if not (answered and shows) else "partly" if remains else "shown"
        measures.append(Measure(name, state, shows, remains))
        return ""

    ways = _ways(log)
    text = _PAGES.get_template("page.md.j2").render(
        log=log,
        plan=plan,
        numbers=numbers,
        figure=figures.show,
        figures=figures.used,
        measure=measure,
        measures=measures,
        ways=ways,
        origins=_origins(log),
        effect=_effect(plan, ways),
        same_profile=all(each["profile"] == plan.value("/settings/profile") for each in log.data["written"]),
        edits=len(EDITS),
        nine_in_ten=NINE_IN_TEN,
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def as_html(markdown: str) -> str:
    """The page as one HTML document without scripts."""
    return _PAGES.get_template("page.html").render(body=_MARKDOWN.render(markdown))


def _ways(log: Source) -> list[str]:
    """How the log's texts were marked, a strategy with its strength, as the plan names it; the commonest first."""
    counts = Counter[str]()
    for each in log.data["written"]:
        counts[each["strategy"] + ("" if each["strength"] is None else f" {each['strength']:g}")] += each["texts"]
    return [way for way, _ in counts.most_common()]


def _effect(plan: Source, ways: list[str]) -> str | None:
    """Where the plan has what it measured of the commonest way; None where it did not measure it."""
    for place in range(len(plan.value("/rows")) if ways else 0):
        if plan.value(f"/rows/{place}/name") == ways[0]:
            return f"/rows/{place}/effect"
    return None


def _origins(log: Source) -> list[str]:
    """Where the log has each provider with each version for the first time: it may use several strategies."""
    places: dict[tuple[int, int], str] = {}
    for place, each in enumerate(log.data["written"]):
        places.setdefault((each["provider"], each["version"]), f"/written/{place}")
    return list(places.values())

"""Draw the results, and write their numbers into the pages that show them, so that none is typed by hand.

    python -m evaluation.report          # draw, and rewrite the marked blocks of the pages
    python -m evaluation.report --check  # exit status 1 where a block is not what the results say

The pages are README.md, evaluation/RESULTS.md and those of ``docs/``. Their blocks are the templates in ``pages/``,
filled with the results of ``results/``.
"""

from __future__ import annotations

import datetime
import json
import re
import sys
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader

from ctwl_decoder.words import say

from .plots import draw_all
from .shared.experiment import RESULTS, ROOT
from .shared.outcomes import LEVEL

PAGES = [ROOT / "README.md", RESULTS.parent / "RESULTS.md", *sorted((ROOT / "docs").rglob("*.md"))]
"""The pages that may have blocks. A block has the name of a template: it begins with ``<!-- NAME -->``."""

WHOLE_CONTEXT = "2026-11-26"
"""Since this day a text is read by whole context; tables that were read before say so."""

RACE = "2026-11-28"
"""Since this day texts are written by ``race``; tables of texts that were written before say so."""

WITHOUT_RACE = {"browser", "documents", "false_positives", "kinds", "light_speed", "load", "numerics", "reference"}
"""Experiments whose texts people or ``delta`` wrote."""

UNPAID = "2026-11-29"
"""The last day on which e-values did not pay for the choice of windows and records; tables of such readings say so."""

READ_BY_E_VALUE = {
    "averaging", "changed", "edits", "entropy", "ladder", "languages", "lengths", "models", "pasted", "plan", "variety",
}  # fmt: skip
"""Experiments that count what a language model finds, and were not repeated later on that day."""

FIRST_LEVEL = 1e-4
"""The level at which those results were read that state none."""

TIMES = {file.stem for file in (RESULTS.parent / "speed").glob("*.py")}
"""Experiments whose results no level changes."""

CORE_HOUR = 0.04
"""Dollars for an hour of one core: an assumption, which the page with prices names as one."""


def counts(rate: dict[str, Any]) -> str:
    """A rate as counts with its exact interval."""
    low, high = (f"{100 * bound:.0f}" for bound in rate["interval_95"])
    return f"{rate['successes']} of {rate['trials']} (95 % interval {low} to {high} %)"


def percent(rate: dict[str, Any]) -> str:
    """A rate in per cent with its exact interval."""
    low, high = (f"{100 * bound:.0f}" for bound in rate["interval_95"])
    return f"{100 * rate['rate']:.0f} ({low} to {high})"


def rounded(value: float) -> str:
    """A quantity with two digits, grouped by thousands."""
    return f"{float(f'{value:.2g}'):,.0f}"


def change(found: dict[str, Any], name: str = "difference to plain", digits: int = 3) -> str:
    """A difference, or another mean, with its interval."""
    value, low, high = (f"{each:+.{digits}f}" for each in (found[name], *found["interval_95"]))
    return f"{value} ({low} to {high})"


def area(found: dict[str, Any]) -> str:
    """An area under a curve with its interval."""
    return change(found, "area").replace("+", "")


def needed(row: dict[str, Any], what: str) -> str:
    """How many tokens nine texts in ten take, with the interval; over the longest that was tried where None."""
    found, longest = row[f"tokens for 90 % {what}"], list(row["exact"])[-1]
    value, low, high = (each or f"over {longest}" for each in (found["tokens"], *found["interval_95"]))
    return f"{value} ({low} to {high})"


def older(*found: dict[str, Any]) -> str:
    """Paragraphs about texts that were written or read before a change that matters to them; else nothing."""
    said = ""
    days = sorted(each["settings"]["date"] for each in found if each["settings"]["date"] < WHOLE_CONTEXT)
    if days:
        shown = map(datetime.date.fromisoformat, sorted({days[0], days[-1]}))
        told = " to ".join(f"{day.day} {day:%B %Y}" for day in shown)
        said += f"\nMeasured by an older decoder, of {told}; not repeated since.\n"
    if any(each["settings"]["date"] < RACE and each.get("experiment") not in WITHOUT_RACE for each in found):
        said += (
            "\nMeasured before `race`, with strategies that it has replaced: `gumbel` was `race` with a share near 1, "
            "and `unbiased`, which kept half of the probability, showed less than a share of 0.2.\n"
        )
    if any(each["settings"]["date"] <= UNPAID and each.get("experiment") in READ_BY_E_VALUE for each in found):
        said += (
            "\nMeasured before the e-value paid for the choice of windows and records. Since then no more is found, "
            "and near the level perhaps less.\n"
        )
    return said


def grouped(rows: list[dict[str, Any]], *names: str) -> list[list[dict[str, Any]]]:
    """Rows that agree in some columns, in the order of the first of each group."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(map(str, map(row.get, names))), []).append(row)
    return list(groups.values())


class OtherLevel(Exception):
    """Results were read at another level than the one that pages name."""


def is_at_the_level(name: str, result: dict[str, Any]) -> bool:
    """Whether the result of an experiment was read at the default level, or depends on none."""
    return name in TIMES or _level_of(result) == LEVEL


def _level_of(result: dict[str, Any]) -> float:
    level: float = result["settings"].get("level", FIRST_LEVEL)
    return level


def loaded(results: Path) -> dict[str, Any]:
    """The results of a folder, by the names of their experiments.

    Raises:
        OtherLevel: some were read at another level than the default; says which.
    """
    found = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(results.glob("*.json"))}
    others = {name: result for name, result in found.items() if not is_at_the_level(name, result)}
    if others:
        told = ", ".join(f"{name} at {_level_of(result):g}" for name, result in others.items())
        raise OtherLevel(
            f"the level is {LEVEL:g}, and these results were read at another one: {told}. What pages say of them would "
            "not be so. Run the experiments anew by make evaluation, and then make site-pages"
        )
    return found


def filled(template: str, results: Path = RESULTS) -> str:
    """A template filled with the results that are there.

    Args:
        template: its name.
        results: folder of the results.

    Raises:
        OtherLevel: see :func:`loaded`.
    """
    pages = Environment(  # noqa: S701  # Markdown has nothing to escape
        loader=FileSystemLoader(RESULTS.parent / "pages"), trim_blocks=True, lstrip_blocks=True
    )
    pages.globals |= {"CORE_HOUR": CORE_HOUR, "older": older, "LEVEL": f"{LEVEL:g}", "say": say}
    pages.filters |= {f.__name__: f for f in (counts, percent, rounded, change, area, needed, grouped)}
    pages.filters |= {"percentage": lambda value: "over all" if value is None else f"{100 * value:.0f}"}
    pages.filters |= {"fixed": lambda value: f"{value:.3f}", "at": lambda name, row: row[name]}
    text = pages.get_template(f"{template}.md.j2").render(results=loaded(results))
    return re.sub(r"\n{3,}", "\n\n", re.sub(r" +\n", "\n", text.strip())) + "\n"


def rendered(page: str) -> str:
    """A page with its marked blocks written anew."""
    return re.sub(
        r"(<!-- (?P<name>[\w-]+) -->\n).*?(<!-- end (?P=name) -->)",
        lambda found: found[1] + filled(found["name"]) + found[3],
        page,
        flags=re.S,
    )


def main(arguments: list[str]) -> int:
    """Draw, and rewrite the pages; or check them."""
    status = 0
    try:
        loaded(RESULTS)
    except OtherLevel as error:
        print(error, file=sys.stderr)
        return 1
    if "--check" not in arguments:
        draw_all(RESULTS)
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if (new := rendered(text)) == text:
            continue
        if "--check" in arguments:
            print(f"{page.relative_to(ROOT)} is not what the results say; run: python -m evaluation.report")
            status = 1
        else:
            page.write_text(new, encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

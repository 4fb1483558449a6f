"""Write what pages say of the code's own facts: numbers in a sentence, rows of a table.

python tools/facts.py            # into the pages

A fact has its home in the code or in a table of data. In a page it stands between marks, inside a line or on lines of
its own: ``<!-- fact NAME -->...<!-- end -->``. A fact's links are paths in the repository. ``make site-pages`` runs
this, and a test says where it was not run.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import facts_of_engines
import facts_of_families
import facts_of_records
import facts_of_reports
import facts_of_splitting
import facts_of_strategies

from ctwl_protocol import CTWLError
from ctwl_protocol.numbers import NUMBERS

ROOT = Path(__file__).resolve().parents[1]
PATTERNS = ("*.md", "docs/**/*.md", "spec/*.md", "packages/*/*.md", "rooms/*/*.md", "conformance-tests/*.md")
LINK = re.compile(r"(?<=\]\()(?!https?:)[^)#]+")
PLACE = re.compile(r"(<!-- fact (?P<name>[\w-]+) -->(?P<line>\n?)).*?(?=<!-- end -->)", re.S)


def decimal(number: float) -> str:
    """A number as people write it: 0.0001."""
    return f"{number:.12f}".rstrip("0")


def one_of(part: float) -> str:
    """A part in words: one of 10,000."""
    return f"one of {round(1 / part):,}"


FACTS: dict[str, Callable[[], str]] = {
    "level": lambda: decimal(NUMBERS.search.level),
    "level-texts": lambda: one_of(NUMBERS.search.level),
    "level-of-a-million": lambda: f"{round(1e6 * NUMBERS.search.level):,}",
    **facts_of_engines.FACTS,
    **facts_of_families.FACTS,
    **facts_of_reports.FACTS,
    **facts_of_records.FACTS,
    **facts_of_splitting.FACTS,
    **facts_of_strategies.FACTS,
}
"""What a page may say, by name."""


def pages() -> list[Path]:
    """The files that may state facts."""
    return sorted({file for pattern in PATTERNS for file in ROOT.glob(pattern)})


def written(text: str, folder: Path = ROOT) -> str:
    """A page whose facts are those of the code.

    Args:
        text: the page.
        folder: where it stands, for the links of its facts.

    Raises:
        KeyError: it names a fact that nobody has.
    """

    def told(place: re.Match[str]) -> str:
        fact = LINK.sub(lambda link: os.path.relpath(ROOT / link[0], folder), FACTS[place["name"]]())
        return place[1] + fact + place["line"]

    return PLACE.sub(told, text)


def main() -> int:
    """Write the pages anew; the exit status is 1 where a fact cannot be told, as while vectors have no answers yet."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        try:
            new = written(text, page.parent)
        except CTWLError as error:
            print(f"facts: {error}", file=sys.stderr)
            return 1
        if new != text:
            page.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

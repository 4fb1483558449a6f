"""Write what pages say of the code's own facts: numbers in a sentence, rows of a table.

python tools/facts.py            # into the pages

A fact has its home in the code or in a table of data. In a page it stands between marks, inside a line or on lines of
its own: ``<!-- fact NAME -->...<!-- end -->``. ``make site-pages`` runs this, and a test says where it was not run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import reader_facts

from ctwl_protocol.numbers import NUMBERS

ROOT = Path(__file__).resolve().parents[1]
PATTERNS = ("*.md", "docs/**/*.md", "spec/*.md", "packages/*/*.md", "rooms/*/*.md", "conformance-tests/*.md")
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
    **reader_facts.FACTS,
}
"""What a page may say, by name."""


def pages() -> list[Path]:
    """The files that may state facts."""
    return sorted({file for pattern in PATTERNS for file in ROOT.glob(pattern)})


def written(page: str) -> str:
    """A page whose facts are those of the code.

    Raises:
        KeyError: it names a fact that nobody has.
    """
    return PLACE.sub(lambda place: place[1] + FACTS[place["name"]]() + place["line"], page)


def main() -> None:
    """Write the pages anew."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if (new := written(text)) != text:
            page.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()

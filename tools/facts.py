"""Write what pages say of the code's own facts: numbers in a sentence, rows of a table.

python tools/facts.py            # into the pages

A fact has its home in the code or in a table of data. In a page it stands between marks, inside a line or on lines of
its own: ``<!-- fact NAME -->...<!-- end -->``. ``make site-pages`` runs this, and a test says where it was not run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from ctwl_decoder import Decoders, Report
from ctwl_decoder.report import wording
from ctwl_protocol.numbers import NUMBERS

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "evaluation" / "results" / "example.json"
HUMAN = ROOT / "packages" / "ctwl-web" / "page" / "examples" / "human.txt"
PATTERNS = ("*.md", "docs/**/*.md", "spec/*.md", "packages/*/*.md", "rooms/*/*.md", "conformance-tests/*.md")
PLACE = re.compile(r"(<!-- fact (?P<name>[\w-]+) -->(?P<line>\n?)).*?(?=<!-- end -->)", re.S)


def decimal(number: float) -> str:
    """A number as people write it: 0.0001."""
    return f"{number:.12f}".rstrip("0")


def one_of(part: float) -> str:
    """A part in words: one of 10,000."""
    return f"one of {round(1 / part):,}"


def opening(sentence: str) -> str:
    """The first words of a line of a report, as code."""
    return f"`{' '.join(sentence.split()[:6])} ...`"


@cache
def read(marked: bool) -> Report:
    """What the command says of the example of the pages, or of a text by a person, by ranks alone."""
    text = json.loads(EXAMPLE.read_text())["text"] if marked else HUMAN.read_text(encoding="utf-8")
    return Decoders.open().decode(text, **({} if marked else {"score": "light"}))


def fence(kind: str, text: str) -> str:
    """An example in a page."""
    return f"```{kind}\n{text}\n```"


def detected() -> str:
    """What the service answers to a verification plug-in: a short form of a report."""
    place, score = {"startchar": 100, "endchar": 648}, 1 - 1e-9
    says = f"{wording.in_passages(1)}: {wording.describe_origin(read(True).spans[0])}"
    parts = (
        {"pred": "watermarked", "score": score, "p_value": 1e-9, "profile": read(True).profile},
        {"chunks": [place | {"score": score, "pred": "watermarked"}]}, {"says": says}, {"means": [wording.FORGEABLE]},
    )  # fmt: skip
    return "{" + ",\n ".join(json.dumps(part)[1:-1] for part in parts) + "}"


FACTS: dict[str, Callable[[], str]] = {
    "found": lambda: wording.FOUND,
    "none": lambda: wording.NONE_FOUND,
    "none-line": lambda: f"`{wording.NONE_FOUND}`",
    "too-short": lambda: wording.TOO_SHORT,
    "light-line": lambda: opening(wording.LIGHT),
    "no-proof-line": lambda: opening(wording.NO_PROOF),
    "example": lambda: fence("text", wording.describe(read(True))),
    "example-none": lambda: fence("text", wording.describe(read(False))),
    "example-detect": lambda: fence("json", detected()),
    "level": lambda: decimal(NUMBERS.search.level),
    "level-texts": lambda: one_of(NUMBERS.search.level),
    "level-of-a-million": lambda: f"{round(1e6 * NUMBERS.search.level):,}",
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

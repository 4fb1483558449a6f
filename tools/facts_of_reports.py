"""What pages say of reports, as the decoder words them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

from ctwl_decoder import Decoders, Report
from ctwl_decoder.report import wording

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "evaluation" / "results" / "example.json"
HUMAN = ROOT / "packages" / "ctwl-web" / "page" / "examples" / "human.txt"


def opening(sentence: str) -> str:
    """The first words of a line of a report, as code."""
    return f"`{' '.join(sentence.split()[:6])} ...`"


@cache
def read(marked: bool) -> Report:
    """What the command says of the example of the pages, or of a text by a person, by ranks alone."""
    text = json.loads(EXAMPLE.read_text())["text"] if marked else HUMAN.read_text(encoding="utf-8")
    return Decoders.open().decode(text, score="auto" if marked else "light")


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
}
"""What a page may say of reports, by name."""

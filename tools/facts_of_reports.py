"""What pages quote of a report, its words and whole reports of the example texts; and the kinds of files."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache, partial
from pathlib import Path

from in_markdown import fenced, table

from ctwl_decoder.command import main
from ctwl_decoder.kinds import KINDS
from ctwl_decoder.words import english, kind_rows, say

EXAMPLES = Path(__file__).resolve().parents[1] / "packages/ctwl-web/page/examples"
WORDS = 8
"""A quotation of more words is cut."""


def quoted(sentence: str) -> str:
    """How a page quotes a sentence: up to its first value, or its first words."""
    words = sentence.partition("{")[0].split()
    begins = " ".join(words[:WORDS])
    return begins if begins == sentence else f"{begins.rstrip(',:;')} ..."


@cache
def report(*words: str) -> str:
    """What ``ctwl-decode`` prints."""
    with redirect_stdout(io.StringIO()) as out:
        main([*words])
    return out.getvalue().rstrip("\n")


def kinds_table(page: bool = False) -> str:
    """The kinds of files that the command opens, or the page in the browser, and what is read of each."""
    files: dict[str, list[str]] = {}
    for row in (kind.row for kind in KINDS if kind.opened):
        if not (page and "advice" in row):
            forms = f" ({row['forms']})" if "forms" in row else ""
            said = row.get("browser" if page else "read", row["read"])
            files.setdefault(kind_rows().get(said, {"read": said})["read"], []).append(row["file"] + forms)
    return table(("file", "what is read"), *((", ".join(names), said) for said, names in files.items()))


def detection() -> str:
    """An answer of ``POST /v1/detect``; its numbers are made up."""
    chunk = {"startchar": 100, "endchar": 648, "score": 0.999999999, "pred": "watermarked"}
    answer = {
        "pred": "watermarked", "score": 0.999999999, "p_value": 1e-9, "profile": "org.ctwl.smollm2-135m.1",
        "chunks": [chunk], "says": f"{say('found-part')}: Example Forty-Two (provider 42), model version 3",
        "means": [say("forgeable")],
    }  # fmt: skip
    return "{" + ",\n ".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in answer.items()) + "}"


FACTS: dict[str, Callable[[], str]] = {
    "report-found": lambda: fenced(report(str(EXAMPLES / "marked.txt"))),
    "report-none": lambda: fenced(report("--light", str(EXAMPLES / "human.txt"))),
    "kinds": lambda: ", ".join(kind.row["file"] for kind in KINDS if kind.opened),
    "kinds-table": kinds_table,
    "kinds-table-page": partial(kinds_table, page=True),
    "detection": lambda: fenced(detection(), "json"),
    **{f"words-{name}": partial(quoted, text) for name, text in english().items()},
}
"""What a page may say, by name; ``words-NAME`` quotes words of ``words.en.json``."""

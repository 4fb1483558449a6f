"""Make the table of the characters that names in the registry may have: ``python tools/spelling_table.py``.

It needs PyICU, whose ICU has Unicode's data (``pip install pyicu``). The table never changes once a registry for
production exists: clients of any age then judge a name alike. So it leaves out what runtimes of Python and JavaScript
may disagree about: characters of later Unicode than Python 3.11 knows, and a block whose small letters still get
capitals.
"""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import icu

ROOT = Path(__file__).resolve().parents[1]
JSON = ROOT / "packages/ctwl-protocol/src/ctwl_protocol/registry/spelling.json"
MODULE = ROOT / "packages/ctwl-web/src/spelling-table.js"

_CHARACTERS = r"[[[:Identifier_Status=Allowed:] & [:Age=14.0:]] - [\uA720-\uA7FF] - [:DI:] [\u0020-\u007E]]"
"""UTS #39's profile for identifiers (no invisible characters, no compatibility forms, no dead scripts), and ASCII."""


def table() -> dict[str, object]:
    """The characters, as first and last code points of ranges; and what those that look like others become."""
    characters = icu.UnicodeSet(_CHARACTERS)
    text = "".join(characters)
    parts = sorted(set(unicodedata.normalize("NFD", text + text.upper() + text.lower())))
    looks = {part: _letters(icu.SpoofChecker().getSkeleton(0, part)) for part in parts}
    return {"characters": _ranges(text), "looks": {part: look for part, look in looks.items() if part != look}}


def _letters(text: str) -> str:
    """Without spaces and punctuation: to put one in or out makes no other name.

    Skeletons are compared in capitals. So what looks like I, l and 1 becomes a stroke, not l, which would then be L.
    And M becomes rn, as m does.
    """
    kept = "".join(letter for letter in text if unicodedata.category(letter)[0] in "LMN")
    return kept.replace("l", "|").replace("M", "rn")


def _ranges(text: str) -> list[list[int]]:
    found: list[list[int]] = []
    for code in sorted(map(ord, text)):
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


def main() -> None:
    """Write the table, for Python and for JavaScript."""
    text = json.dumps(table(), separators=(",", ":")).replace('],"looks"', '],\n"looks"')
    JSON.write_text(f"{text}\n", encoding="ascii")
    what = "The characters of names, and what they look like (9.6): `tools/spelling_table.py` makes it."
    MODULE.write_text(f"/** {what} */\nexport const SPELLING = {text};\n", encoding="ascii")


if __name__ == "__main__":
    main()

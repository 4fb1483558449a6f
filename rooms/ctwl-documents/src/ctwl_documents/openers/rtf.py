"""RTF, by striprtf, which leaves out footnotes and text boxes, and reads what nobody sees: so it gets other RTF.

There notes and boxes are paragraphs at the end. Hidden and deleted words are gone, and so are bytes of pictures.
"""

from __future__ import annotations

import codecs
import re

from striprtf import striprtf

from ..budget import Budget
from . import opens

_CODE_PAGE = re.compile(r"\\ansicpg(\d{1,5})")
_TOKEN = re.compile(r"\\([a-z]{1,32})(-?\d{1,10})? ?|\\(?:'[0-9a-f]{2}|[^a-z])|[{}]|[^\\{}]+", re.I)
"""A control word with its number, a character, a brace, or words."""

_MOVED = frozenset(("footnote", "shptxt", "dptxbxtext"))
"""Groups whose words stand apart from the words around them: notes and text boxes."""

_UNREAD = frozenset(
    ("annotation", "footer", "footerf", "footerl", "footerr", "header", "headerf", "headerl", "headerr", "shprslt")
)
"""Groups in which no note and no box is read. The last one has a box again, for older programs."""

_UNSEEN = frozenset(("deleted", "v"))
"""What hides the words after it, until its number is 0 or ``plain`` comes."""

_CHARACTERS = frozenset(striprtf.specialchars) | {"u"}
"""Control words that stand for characters."""


@opens("rtf")
def words_of(data: bytes, _: Budget) -> str:
    """The words of an RTF document."""
    text = _CODE_PAGE.sub(_known, _as_seen(data.decode("cp1252", "replace")))
    return str(striprtf.rtf_to_text(text, errors="ignore")).strip()


def _as_seen(text: str) -> str:
    """RTF without what nobody sees, with notes and text boxes as paragraphs at the end."""
    text += "}" * text.count("{")  # a group that does not end, ends here
    body: list[str] = []
    apart: list[str] = []
    groups: list[tuple[list[str], frozenset[str]]] = []
    out, hidden, place = body, frozenset[str](), 0
    while token := _TOKEN.search(text, place):
        (written, word, number), place = token.group(0, 1, 2), token.end()
        if written == "{":
            groups.append((out, hidden))
        elif written == "}":
            if len(groups) < 2:  # the document ends
                break
            inner = out
            out, hidden = groups.pop()
            if inner is not out:
                apart += ["{", *inner, "\\par}"]
        elif word == "bin":
            place += max(0, int(number or 0))
            continue
        elif word in _MOVED:
            out = []
            continue
        elif word == "plain":
            hidden -= _UNSEEN
        elif word in _UNSEEN or word in _UNREAD:
            hidden = hidden - {word} if number == "0" else hidden | {word}
        if not hidden or written in "{}" or (word and word not in _CHARACTERS):
            out.append(written)
    return "".join([*body, "\\par", *apart, "}"])


def _known(named: re.Match[str]) -> str:
    """A code page that Python knows: under another one, striprtf would drop all letters beyond ASCII."""
    try:
        codecs.lookup(f"cp{named[1]}")
    except LookupError:
        return "\\ansicpg1252"
    return named[0]

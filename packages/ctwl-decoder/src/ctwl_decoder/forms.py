"""The forms in which a pasted text may have been written (spec section 10, step 1).

Normalisation, which belongs to the profile, undoes what no reader sees. What readers do see, wrapped lines and the
marks of HTML and Markdown, may be the writer's own, so they are never removed for good: the decoder reads the text as
given, and where it looks wrapped or marked up also without that. Each form is one more test, and the p-values pay for
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise

from .mapped import Edit, Mapped, normalized

__all__ = ["AS_GIVEN", "forms_of"]

AS_GIVEN = "as given"

_WIDEST = 120

_BLOCK = {
    "address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "figure", "footer", "form", "h1", "h2",
    "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "td", "th", "tr",
    "ul",
}  # fmt: skip
_PARAGRAPH = {"p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre"}
_HIDDEN = {"script", "style", "head", "template"}
_TAG = re.compile(
    rf"</?(?:{'|'.join(sorted(_BLOCK | _HIDDEN))}|html|body|span|a|b|i|em|strong|code|u|sup|sub)\b[^<>]*>", re.I
)

_MARKDOWN = re.compile(
    r"""(?mx)
    ^[ ]{0,3}(?:>[ ]?)+                                # quotations, in mail too
    | ^[ ]{0,3}\#{1,6}[ ]+                             # headings
    | ^[ ]{0,8}[*+-][ ]+                               # items
    | (?P<rule>^[ ]{0,3}(?:[-*_][ ]*){3,}$)
    | (?P<link>!?\[(?P<words>[^\[\]\n]{0,400})\]\([^()\s]{0,400}\))
    | \*{1,3}(?=\S) | (?<=\S)\*{1,3}                   # emphasis
    | (?<![^\W_])_{1,3}(?=\S) | (?<=\S)_{1,3}(?![^\W_])
    | `{1,3} | ~~
    | \\(?=[\\`*_{}\[\]()\#+.!>-])                     # escapes
    """
)


def forms_of(text: str) -> list[tuple[str, Mapped]]:
    """The distinct normalised forms of a text, with their names: as given first, at most four."""
    given = Mapped.of(text)
    unmarked = _without_html(given) if len(_TAG.findall(text)) >= 2 else _without_markdown(given)
    forms = [
        (AS_GIVEN, given),
        ("lines joined", _unwrapped(given)),
        ("without marks", unmarked),
        ("without marks, lines joined", _unwrapped(unmarked)),
    ]
    distinct: dict[str, tuple[str, Mapped]] = {}
    for name, form in forms:
        ready = normalized(form)
        distinct.setdefault(ready.text, (name, ready))
    return list(distinct.values())


def _unwrapped(given: Mapped) -> Mapped:
    """Line breaks that only keep lines short become spaces: there the next line's first word would not have fitted."""
    paragraphs = [
        (found.start(), found.group().rstrip("\n").split("\n"))
        for found in re.finditer(r"(?:[^\n]*\S[^\n]*(?:\n|\Z))+", re.sub("\r\n?", _line_end, given.text))
    ]
    widest = max((len(line.rstrip()) for _, lines in paragraphs for line in lines), default=0)
    if widest > _WIDEST:
        return given
    edits: list[Edit] = []
    for start, lines in paragraphs:
        if any(len(a.rstrip()) + 1 + len(b.split(maxsplit=1)[0]) <= widest for a, b in pairwise(lines)):
            continue  # its lines end where the writer wanted
        place = start
        for line, following in pairwise(lines):
            indent = len(following) - len(following.lstrip())
            edits.append((place + len(line.rstrip()), place + len(line) + 1 + indent, " "))
            place += len(line) + 1
    return given.edited(edits)


def _line_end(found: re.Match[str]) -> str:
    return "\n".rjust(len(found.group()))  # as long as before, so that places stay what they were


def _without_markdown(given: Mapped) -> Mapped:
    def edits() -> Iterator[Edit]:
        for mark in _MARKDOWN.finditer(given.text):
            if mark["link"]:
                yield mark.start(), mark.start("words"), ""
                yield mark.end("words"), mark.end(), ""
            elif mark.end() > mark.start():
                yield mark.start(), mark.end(), ""

    return given.edited(edits())


class _Words(HTMLParser):
    """Collects the edits that leave a page's words, with one break between them."""

    _BREAKS = ("", " ", "\n", "\n\n")

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.edits: list[Edit] = []
        self._text = text
        self._lines = [0, *(line.end() for line in re.finditer("\n", text))]
        self._hidden = 0
        self._done = 0
        self._break = 0
        self.feed(text)
        self.close()
        self.edits.append((self._done, len(text), ""))

    def _place(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column

    def _word(self, start: int, end: int, new: str) -> None:
        self.edits += [(self._done, start, self._BREAKS[self._break]), (start, end, new)]
        self._done, self._break = end, 0

    def _tag(self, tag: str, hides: int) -> None:
        self._hidden = max(0, self._hidden + hides * (tag in _HIDDEN))
        self._break = max(self._break, 3 if tag in _PARAGRAPH else 2 if tag in _BLOCK else 0)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self._tag(tag, 1)

    def handle_endtag(self, tag: str) -> None:
        self._tag(tag, -1)

    def handle_data(self, data: str) -> None:
        start = self._place()
        for run in re.finditer(r"\s+|\S+", "" if self._hidden else data):
            if run.group().isspace():
                self._break = max(self._break, 1)
            else:
                self._word(start + run.start(), start + run.end(), run.group())

    def handle_entityref(self, name: str) -> None:
        self._reference(f"&{name}")

    def handle_charref(self, name: str) -> None:
        self._reference(f"&#{name}")

    def _reference(self, raw: str) -> None:
        start = self._place()
        end = start + len(raw)
        end += self._text[end : end + 1] == ";"
        if not self._hidden:
            self._word(start, end, unescape(self._text[start:end]))


def _without_html(given: Mapped) -> Mapped:
    return given.edited(_Words(given.text).edits)

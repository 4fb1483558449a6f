"""HTML: the words that a browser shows, with the breaks between them that the elements ask for."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "br", "button", "caption", "center", "dd", "details", "dialog",
    "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6",
    "header", "hr", "html", "legend", "li", "main", "nav", "ol", "option", "p", "pre", "section", "select", "summary",
    "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
}  # fmt: skip
_PARAGRAPHS = {"blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "ol", "p", "pre", "table", "ul"}
_UNSEEN = {
    "audio", "canvas", "head", "iframe", "math", "noscript", "object", "script", "style", "svg", "template", "video",
}  # fmt: skip
_VOID = {
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
}  # fmt: skip
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([a-z0-9_:-]{1,40})""", re.I)
_BREAKS = ("", " ", "\n", "\n\n")


class _Words(HTMLParser):
    """Collects the words."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._wanted = 0
        self._unseen: tuple[str, int] | None = None
        self._kept = 0  # open elements whose white space is kept

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._unseen:
            self._unseen = (self._unseen[0], self._unseen[1] + (tag == self._unseen[0]))
            return
        given = dict(attrs)
        hidden = "hidden" in given or _HIDDEN.search(given.get("style") or "")
        if (tag in _UNSEEN or hidden) and tag not in _VOID:
            self._unseen = (tag, 1)
        self._kept += tag == "pre"
        self._ask(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._unseen:
            name, depth = self._unseen
            depth -= tag == name
            self._unseen = (name, depth) if depth else None
            return
        self._kept = max(0, self._kept - (tag == "pre"))
        self._ask(tag)

    def _ask(self, tag: str) -> None:
        self._wanted = max(self._wanted, 3 if tag in _PARAGRAPHS else 2 if tag in _BLOCKS else 0)

    def handle_data(self, data: str) -> None:
        if self._unseen:
            return
        if self._kept:
            self._write(data)
            return
        words = data.split()
        if not words or data[0].isspace():
            self._wanted = max(self._wanted, 1)
        if words:
            self._write(" ".join(words))
            self._wanted = int(data[-1].isspace())

    def _write(self, words: str) -> None:
        if self.pieces:
            self.pieces.append(_BREAKS[self._wanted])
        self.pieces.append(words)
        self._wanted = 0


def words_of(page: str) -> str:
    """The words of a page, or of a part of one."""
    parser = _Words()
    parser.feed(page)
    parser.close()
    return "".join(parser.pieces).strip()


def decoded(data: bytes) -> str:
    """The characters of a page, by what it says of its charset; UTF-8 where it says nothing, else as browsers do."""
    named = _CHARSET.search(data[:2048])
    for charset in ("utf-8-sig", named[1].decode() if named else "utf-8"):
        try:
            return data.decode(charset)
        except (UnicodeDecodeError, LookupError):
            continue
    return data.decode("cp1252", "replace")

"""The variants of a pasted text (spec section 10, step 1).

The profile's normalization removes what no reader sees. Readers do see wrapped lines, wide gaps, ligatures, capitals,
and the marks of HTML and Markdown, and the writer may have written them. Joiners are needed by many scripts. So the
decoder reads the text as given, and a second variant without these things where the text looks wrapped, justified,
marked up or set in capitals, has ligatures, or has joiners between ASCII characters. Each variant is a test, and the
p-values pay for it. Both follow from the normalized text alone: what normalization deletes cannot steer them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import unescape
from itertools import groupby, pairwise

from ctwl_protocol.numbers import NUMBERS

from ..errors import NotText
from .alignment import AlignedText, Edit, normalize_aligned

AS_GIVEN = "as given"

_WIDEST = NUMBERS.variants.widest
_MOSTLY_FULL = NUMBERS.variants.mostly_full
"""More than this share of a wrapped paragraph's lines have no room for the next word."""

_CAPITALS = NUMBERS.variants.capitals
_FEWEST_WORDS = NUMBERS.variants.fewest_words
"""From this share of capitals at the beginnings of words, and so many words, a text is set in capitals."""

_BLOCK = {
    "address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "figure", "footer", "form", "h1", "h2",
    "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "td", "th", "tr",
    "ul",
}  # fmt: skip
_PARAGRAPH = {"p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre"}
_LONGEST_TAG = NUMBERS.variants.longest_tag
_TAG = re.compile(
    rf"</?(?:{'|'.join(sorted(_BLOCK))}|html|head|body|script|style|span|a|b|i|em|strong|code|u|sup|sub)\b[^<>]{{0,400}}>",
    re.I,
)
_TAG_START = re.compile(r"</?[a-zA-Z]|<[!?]")
_TAG_NAME = re.compile(r"</?([a-z][a-z0-9]{0,20})")
_HIDDEN_TAG = re.compile(r"<(script|style|head|template)\b")
_WORD = re.compile(r"\s+|&(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});?|[^\s&]+|&", re.I)
_BREAKS = ("", " ", "\n", "\n\n")
_LINE = re.compile(r"[^\n]*(?:\n|(?<=[^\n])\Z)")

_GAPS = re.compile(r"(?<=\S) {2,}(?=\S)")
"""The gaps between the words of justified text."""

_JOINERS = re.compile(f"(?<![^\x00-\x7f])[{''.join(map(chr, NUMBERS.variants.joiners))}]+(?![^\x00-\x7f])")
"""Joiners and variation selectors without a neighbour that they could join or vary."""

_LIGATURES = re.compile(f"[{''.join(map(chr, NUMBERS.variants.ligatures))}]")
_LETTERS = re.compile(r"[^\W\d_]+")
_DIVIDED = re.compile(r"[^\W\d_]-\Z")
"""The end of a line that divides a word."""

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


def variants_of(text: str) -> list[tuple[str, AlignedText]]:
    """The text as given and, where that differs, a cleaned one: names of what was done, and normalized texts.

    Texts that normalization makes equal have the same variants.

    Raises:
        NotText: the text as given cannot be normalized, see :func:`ctwl_decoder.text.alignment.normalize_aligned`. A
            second variant that cannot be normalized is left out.
    """
    first = cleaned = normalize_aligned(AlignedText.of(text))
    done = []
    for name, step in _STEPS.items():
        before, cleaned = cleaned, step(cleaned)
        if cleaned.text != before.text:
            done.append(name)
    try:
        second = normalize_aligned(cleaned)
    except NotText:
        return [(AS_GIVEN, first)]
    return [(AS_GIVEN, first)] + [(", ".join(done), second)] * (first.text != second.text)


def _without_joiners(given: AlignedText) -> AlignedText:
    return given.edited((*found.span(), "") for found in _JOINERS.finditer(given.text))


def _without_ligatures(given: AlignedText) -> AlignedText:
    ligatures = _LIGATURES.finditer(given.text)
    return given.edited((*found.span(), unicodedata.normalize("NFKC", found[0])) for found in ligatures)


def _without_marks(given: AlignedText) -> AlignedText:
    return _without_html(given) if len(_TAG.findall(given.text)) >= 2 else _without_markdown(given)


def _without_gaps(given: AlignedText) -> AlignedText:
    return given.edited((*found.span(), " ") for found in _GAPS.finditer(given.text))


def _without_capitals(given: AlignedText) -> AlignedText:
    """Where nearly all words begin with a capital: small letters, but for the first of each sentence and *I*.

    Where other words have small letters, a word of capitals alone is an abbreviation, and stays.
    """
    words = list(_LETTERS.finditer(given.text))
    cased = [word[0][0] for word in words if word[0][0].lower() != word[0][0].upper()]
    capitals = sum(letter != letter.lower() for letter in cased)
    if len(cased) < _FEWEST_WORDS or capitals < _CAPITALS * len(cased):
        return given
    only_capitals = all(word[0] == word[0].upper() for word in words)
    edits, done = list[Edit](), 0
    for word in words:
        gap, done = given.text[done : word.start()], word.end()
        if not only_capitals and len(word[0]) > 1 and word[0] == word[0].upper():
            continue
        begins = word is words[0] or "\n" in gap
        begins |= any(mark in gap for mark in ".!?") and any(map(str.isspace, gap))
        small = word[0].lower()
        edits.append((*word.span(), small[0].upper() + small[1:] if begins or small == "i" else small))
    return given.edited(edits)


def _unwrapped(given: AlignedText) -> AlignedText:
    """Line breaks that only keep lines short become spaces: the next line's first word would not have fitted.

    A line that ends a paragraph may be shorter. A word that is divided at a break becomes one again.
    """
    lines = [(found.start(), found.group()) for found in _LINE.finditer(given.text)]
    widest = _width(lines, _WIDEST + 1)
    edits: list[Edit] = []
    for blank, group in groupby(lines, lambda line: not line[1].strip()):
        paragraph = list(group)
        width = _width(paragraph, widest) if len(paragraph) > 2 else widest
        if blank or width > _WIDEST:
            continue
        pairs = list(pairwise(paragraph))
        breaks = [(line, following) for line, following in pairs if _is_full(line[1], following[1], width)]
        if len(breaks) <= _MOSTLY_FULL * len(pairs):
            continue  # the writer ended these lines on purpose
        for (start, line), (next_start, following) in breaks:
            divided = _is_divided(line, following)
            end, indent = start + len(line.rstrip()) - divided, len(following) - len(following.lstrip())
            edits.append((end, next_start + indent, "" if divided else " "))
    return given.edited(edits)


def _width(lines: Sequence[tuple[int, str]], default: int) -> int:
    """Characters of the longest line of several words: a program that wraps lets a long word stand alone."""
    return max((len(line.rstrip()) for _, line in lines if len(line.split(maxsplit=2)) > 1), default=default)


def _is_full(line: str, following: str, width: int) -> bool:
    """Whether the next line's first word would not have fitted."""
    first = following.split(maxsplit=1)[0]
    return len(line.rstrip()) + 1 + len(first) > width or _is_divided(line, following)


def _is_divided(line: str, following: str) -> bool:
    """Whether a line ends inside a word."""
    return _DIVIDED.search(line.rstrip()) is not None and following.lstrip()[:1].islower()


def _without_markdown(given: AlignedText) -> AlignedText:
    def edits() -> Iterator[Edit]:
        for mark in _MARKDOWN.finditer(given.text):
            if mark["link"]:
                yield mark.start(), mark.start("words"), ""
                yield mark.end("words"), mark.end(), ""
            elif mark.end() > mark.start():
                yield mark.start(), mark.end(), ""

    return given.edited(edits())


def _without_html(given: AlignedText) -> AlignedText:
    """The words of a page, with the break between them that its tags ask for: a blank line, a line end or a space."""
    text, edits = given.text, list[Edit]()
    done, wanted = 0, 0
    for tag, start, end in _outside_tags(text):
        wanted = max(wanted, 3 if tag in _PARAGRAPH else 2 if tag in _BLOCK else 0)
        for found in _WORD.finditer(text, start, end):
            word = found.group()
            if word.isspace():
                wanted = max(wanted, 1)
                continue
            edits += [(done, found.start(), _BREAKS[wanted]), (*found.span(), unescape(word))]
            done, wanted = found.end(), 0
    return given.edited([*edits, (done, len(text), "")])


def _outside_tags(text: str) -> Iterator[tuple[str, int, int]]:
    """The visible parts of a page: the tag before each, its start and its end. Takes linear time for any text.

    The standard library's ``html.parser`` took quadratic time on hostile input in several releases (CVE-2025-6069).
    """
    folded, done, place, tag = "".join(c.lower() if c.isascii() else c for c in text), 0, 0, ""
    endless: set[str] = set()  # ends that do not follow any more
    while (place := text.find("<", place)) >= 0:
        if text.startswith("<!--", place):
            end, start = "-->", place + 4
        elif (hidden := _HIDDEN_TAG.match(folded, place)) is not None:
            end, start = f"</{hidden[1]}", place + 1
        else:
            end, start = ">", place + 1
        closed = -1 if end in endless else folded.find(end, start, start + _LONGEST_TAG if end == ">" else len(text))
        if closed < 0 or (end == ">" and not _TAG_START.match(text, place)):
            if end != ">":
                endless.add(end)
            place += 1
            continue
        yield tag, done, place
        named = _TAG_NAME.match(folded, place)
        tag = named[1] if named else ""
        done = place = closed + (len(end) if end in (">", "-->") else 0)
    yield tag, done, len(text)


_STEPS: Mapping[str, Callable[[AlignedText], AlignedText]] = {
    "without joiners": _without_joiners,
    "without ligatures": _without_ligatures,
    "without marks": _without_marks,
    "lines joined": _unwrapped,
    "gaps closed": _without_gaps,
    "capitals lowered": _without_capitals,
}
"""What is done to a text for its second variant, in this order."""

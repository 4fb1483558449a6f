"""The marks of HTML, Markdown, wikis, boards, chat programs, LaTeX, string literals and terminals, taken out of a text.

One scanner reads all of them by the table ``marks`` of ``spec/numbers.json``, which the reader in JavaScript shares. It
goes through the text from left to right and takes, at each place, the first rule that matches. Marks may be nested in
any order: the text is read again until no mark is left. All patterns are bounded, so each reading takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from html import unescape
from typing import TypeAlias

from ctwl_protocol.numbers import NUMBERS, Mark
from ctwl_protocol.text.normalization import normalize_within

from .alignment import AlignedText, Edit

_BREAKS = ("", " ", "\n", "\n\n")
_WHITE = "white"
_Words: TypeAlias = tuple[int, int, str | None]
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
"""A stroke that keeps a character from being a mark."""

_PARAGRAPH, _BLOCK, _LINE, _INLINE, _HIDDEN = (
    frozenset(getattr(NUMBERS.tags, kind).split()) for kind in ("paragraph", "block", "line", "inline", "hidden")
)
_KNOWN = _PARAGRAPH | _BLOCK | _LINE | _INLINE


def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of the table, where ``%letter`` is a letter or a digit."""
    return re.compile(pattern.replace("%letter", r"[^\W_]"))


_SIGNS = {name: _compiled(dialect.pattern) for name, dialect in NUMBERS.dialects.items()}
_TAG = _compiled(NUMBERS.marks["tag"].pattern)


class _Scanner:
    """Finds the marks and the white space of texts of some kinds; the name of a group is the rule's.

    A rule is tried at the characters that it begins with alone, since most of a text is letters.
    """

    def __init__(self, dialects: Collection[str]) -> None:
        rules = [(name, rule) for name, rule in NUMBERS.marks.items() if not rule.dialect or rule.dialect in dialects]
        first = dict.fromkeys("".join(rule.at for _, rule in rules))
        self._at_line = _any_of((name, rule) for name, rule in rules if not rule.at)
        self._at = {letter: _any_of((name, rule) for name, rule in rules if letter in rule.at) for letter in first}
        self._stop = re.compile(rf"(?P<{_WHITE}>[ \t]*\n|[ \t]+)|[{re.escape(''.join(first))}]")

    def next(self, text: str, place: int) -> re.Match[str] | None:
        """The next mark or run of white space."""
        at_line = place == 0 or text[place - 1] == "\n"
        found = self._at_line.match(text, place) if at_line else None
        while found is None and (stop := self._stop.search(text, place)) is not None:
            place = stop.end()
            found = stop if stop.lastgroup else self._at[stop[0]].match(text, stop.start())
        return found


def _any_of(rules: Iterable[tuple[str, Mark]]) -> re.Pattern[str]:
    return _compiled("|".join(f"(?P<{name}>{rule.pattern})" for name, rule in rules))


_scanner = cache(_Scanner)


def without_marks(given: AlignedText) -> AlignedText:
    """A text without its marks."""
    for _ in range(NUMBERS.variants.rounds):
        folded = _folded(given.text)
        before, given = given, given.edited(_Reading(given.text, folded).edits(_scanner(_dialects(folded))))
        if given.text == before.text:
            break
    return given.replaced(_ESCAPE, r"\1")


def _dialects(folded: str) -> frozenset[str]:
    """The kinds of text that a text shows signs of."""
    shown = list[str]()
    for name, dialect in NUMBERS.dialects.items():
        if dialect.unless not in shown and _has(_SIGNS[name].finditer(folded), dialect.times):
            shown.append(name)
    return frozenset(shown)


def _folded(text: str) -> str:
    """A text with the letters of ASCII small, and all others as they are."""
    return text.lower() if text.isascii() else text.translate(_SMALL)


_SMALL = {capital: capital + 32 for capital in range(ord("A"), ord("Z") + 1)}


def _has(found: Iterator[object], times: int) -> bool:
    return sum(1 for _ in zip(range(times), found, strict=False)) == times


@dataclass
class _Gap:
    """What stands between two words: white space, and marks that are taken out.

    Attributes:
        start, end: its place in the text.
        white: its white space, each run for itself.
        breaks: the break that its tags ask for, from none to a blank line.
        marked: whether marks are in it.
        lined: whether a mark begins a line in it.
    """

    start: int
    end: int
    white: list[str] = field(default_factory=list)
    breaks: int = 0
    marked: bool = False
    lined: bool = False

    def take(self, rule: Mark, end: int) -> None:
        """Take a mark out."""
        while rule.eats and self.white and "\n" not in self.white[-1]:
            self.white.pop()
        self.end, self.marked, self.lined = end, True, self.lined or not rule.at

    def put(self, inside: bool) -> str:
        """What it becomes. Inside of an element of HTML the end of a line is a space."""
        white = "".join(self.white)
        ends = white.count("\n")
        level = min(ends, 2) + 1 if white else 0
        if inside and level == 2 and not self.lined:
            level = 1
        if self.breaks or inside:
            return _BREAKS[max(self.breaks, level)]
        several = self.marked and len(self.white) > 1
        return _BREAKS[level] if several and (ends > 2 or not ends) else white


class _Reading:
    """One reading of a text."""

    def __init__(self, text: str, folded: str) -> None:
        self._text, self._folded = text, folded
        self._gap, self._depth = _Gap(0, 0), 0
        self._endless = set[str]()  # ends that do not follow any more
        known = filter(None, (found[1] in _KNOWN for found in _TAG.finditer(folded)))
        self._page = _has(known, NUMBERS.variants.page_tags)

    def edits(self, scanner: _Scanner) -> Iterator[Edit]:
        """What is changed in the text by the rules of a scanner."""
        place = 0
        while (found := scanner.next(self._folded, place)) is not None:
            name = found.lastgroup or ""
            if found.start() > self._gap.end:
                yield from self._close(found.start())
            if name == _WHITE:
                self._gap.white.append(found[0])
                self._gap.end = place = found.end()
                continue
            rule = NUMBERS.marks[name]
            words, place = self._read(found, rule)
            if words is not None:
                start, end, put = words
                self._gap.take(rule, start)
                yield from self._close(end)
                if put is not None:
                    yield start, end, put
            self._gap.take(rule, place)
        yield from self._close(len(self._text))

    def _close(self, start: int) -> Iterator[Edit]:
        """Words follow the gap, and the next one begins where they end."""
        gap, self._gap = self._gap, _Gap(start, start)
        at_an_end = gap.start == 0 or gap.end == len(self._text)
        put = "" if at_an_end else gap.put(self._depth > 0)
        if put != self._text[gap.start : gap.end]:
            yield gap.start, gap.end, put

    def _read(self, found: re.Match[str], rule: Mark) -> tuple[_Words | None, int]:
        """The words in a mark, with what they become where they do not stay, and where the reading goes on."""
        start, end = found.span()
        hidden: str | None = ""
        match rule.does:
            case "stay":
                return (start, end, None), end
            case "keep":
                inner = found.span(_inner(found))
                return (*inner, None) if inner[0] < inner[1] else None, end
            case "put":
                return (start, end, rule.put), end
            case "reference" | "number":
                named = self._text[start:end] if rule.does == "reference" else _numbered(found[_inner(found)])
                put = normalize_within(unescape(named))
                return (start, end, put if put != self._text[start:end] else None), end
            case "tag":
                hidden = self._tag(found[_inner(found)], found[0])
            case "hide":
                hidden = rule.put
            case _:
                self._gap.breaks = max(self._gap.breaks, rule.breaks)
        after = -1 if hidden is None else self._after(hidden, end)
        return (None, after) if after >= 0 else ((start, start + 1, None), start + 1)

    def _tag(self, name: str, tag: str) -> str | None:
        """Note the break that a tag asks for. What ends the words that it hides, or None where it is no tag of HTML."""
        if name not in _KNOWN and not self._page:
            return None
        opens, empty = tag[1] != "/", tag[-2] == "/"
        if name in _LINE:
            self._gap.breaks = min(max(self._gap.breaks + 1, 2), 3)
        elif name in _PARAGRAPH or name in _BLOCK:
            self._gap.breaks = max(self._gap.breaks, 3 if name in _PARAGRAPH else 2)
            self._depth = max(self._depth + opens - (not opens) - empty, 0)
        return f"</{name}" if name in _HIDDEN and opens and not empty else ""

    def _after(self, hidden: str, place: int) -> int:
        """The place after what is hidden, which ends with this string; -1 where it does not end."""
        end = -1 if hidden in self._endless else self._folded.find(hidden, place)
        if end < 0:
            self._endless.add(hidden)
            return -1
        return end if hidden.startswith("</") else end + len(hidden)


def _inner(found: re.Match[str]) -> int:
    """The number of the group inside of the rule that matched."""
    return found.re.groupindex[found.lastgroup or ""] + 1


def _numbered(digits: str) -> str:
    """A character of a string literal as one of HTML, from its number or from its two halves."""
    high, _, low = digits.partition("\\u")
    point = 0x10000 + (int(high, 16) - 0xD800 << 10) + int(low, 16) - 0xDC00 if low else int(high, 16)
    return f"&#{point};"

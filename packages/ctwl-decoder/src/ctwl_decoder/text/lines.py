"""Lines that a program broke, joined again.

A break is a program's where the next word would not have fitted into the line. How much fits is what the paragraph's
longest line shows: in characters, as a terminal counts, or in the widths that letters roughly have in any proportional
font, as in the columns of a page.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import groupby, pairwise
from typing import NamedTuple, TypeAlias

from ctwl_protocol.numbers import NUMBERS

from .alignment import AlignedText, Edit

_NUMBERS = NUMBERS.variants
_LINE = re.compile(r"[^\n]*(?:\n|(?<=[^\n])\Z)")
_ENDS = frozenset(".!?:;\"'")
"""What ends a sentence; where most lines do, the blank lines between them are the writer's."""

_DIVIDED = re.compile(r"[^\W\d_]-\Z")
"""The end of a line that divides a word."""

_NARROW, _OTHER, _CAPITAL, _BROAD = _NUMBERS.widths
_WIDTHS = (
    {chr(capital): _CAPITAL for capital in range(ord("A"), ord("Z") + 1)}
    | dict.fromkeys(_NUMBERS.narrow_characters, _NARROW)
    | dict.fromkeys(_NUMBERS.broad_characters, _BROAD)
)


_Measure: TypeAlias = Callable[[str], float]
_Widest: TypeAlias = Callable[[_Measure], float]
"""The width of the widest line that shows how much fits."""


class _Line(NamedTuple):
    """A line: its place in the text, the place and the text of its words, and the first of them."""

    start: int
    indent: int
    text: str
    first: str

    @property
    def end(self) -> int:
        """The place after its last word."""
        return self.start + len(self.text)

    @property
    def begin(self) -> int:
        """The place of its first word."""
        return self.start + self.indent


def with_joined_lines(given: AlignedText) -> AlignedText:
    """A text whose breaks that only keep lines short are spaces; a word that is divided at a break becomes one again.

    A line that ends a paragraph may be shorter. Where a blank line follows each line, the blank lines are breaks too.
    """
    lines = [_line(found) for found in _LINE.finditer(given.text)]
    paragraphs = [list(group) for blank, group in groupby(lines, lambda line: not line.text) if not blank]
    if len(paragraphs) >= _NUMBERS.fewest_alone and all(len(paragraph) == 1 for paragraph in paragraphs):
        alone = [paragraph[0] for paragraph in paragraphs]
        paragraphs = [alone] * (sum(line.text[-1] in _ENDS for line in alone) < _NUMBERS.mostly_full * len(alone))
    edits: list[Edit] = []
    of_text = cache(partial(_widest, lines))
    for paragraph in paragraphs:
        pairs = list(pairwise(paragraph))
        # A paragraph of two lines shows no width of its own.
        for i in sorted(_breaks(paragraph, partial(_widest, paragraph) if len(paragraph) > 2 else of_text)):
            line, following = pairs[i]
            divided = _is_divided(line, following)
            edits.append((line.end - divided, following.begin, "" if divided else " "))
    return given.edited(edits)


def _line(found: re.Match[str]) -> _Line:
    text = found[0].rstrip()
    return _Line(found.start(), len(text) - len(text.lstrip()), text, text.split(maxsplit=1)[0] if text else "")


def _breaks(paragraph: Sequence[_Line], widest: _Widest) -> set[int]:
    """The lines of a paragraph whose ends are a program's: by either measure, or because each line is a word."""
    if len(paragraph) >= _NUMBERS.fewest_words and all(line.text == line.first for line in paragraph):
        return set(range(len(paragraph) - 1))
    if widest(len) > _NUMBERS.widest:
        return set()
    return _full(paragraph, widest, len, 1) | _full(paragraph, widest, _printed, _NUMBERS.nearly_full)


def _widest(lines: Sequence[_Line], measure: _Measure) -> float:
    """The width of the widest line of several words: a program that wraps lets a long word stand alone."""
    several = (measure(line.text) for line in lines if len(line.text.split(maxsplit=2)) > 1)
    return max(several, default=math.inf)


def _full(paragraph: Sequence[_Line], widest: _Widest, measure: _Measure, share: float) -> set[int]:
    """The lines that had no room for the next one's first word, if these are most of the paragraph's."""
    room = share * widest(measure)
    full = {
        i
        for i, (line, following) in enumerate(pairwise(paragraph))
        if measure(f"{line.text} {following.first}") > room or _is_divided(line, following)
    }
    # Where they are fewer, the writer ended these lines on purpose.
    return full if len(full) > _NUMBERS.mostly_full * (len(paragraph) - 1) else set()


def _printed(words: str) -> int:
    """The width of words in a proportional font, in fourteenths of an em."""
    return sum(_WIDTHS.get(character, _OTHER) for character in words)


def _is_divided(line: _Line, following: _Line) -> bool:
    """Whether a line ends inside a word."""
    return _DIVIDED.search(line.text) is not None and following.text.lstrip()[:1].islower()

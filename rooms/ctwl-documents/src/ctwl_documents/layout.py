"""From glyphs on a page to paragraphs: lines and columns are joined by where their glyphs stand.

Glyphs make lines; a line goes on in the block that it stands under; the lines of a block make paragraphs. There a line
goes on in the next one if the next word would not have fitted, as for a person who reads a column.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import median_low
from typing import NamedTuple

_GUTTER = 1.0
"""Heights of a glyph from which a gap inside a line parts two columns; few justified lines have wider gaps."""

_LEADING = 2.5
"""Most heights from a line to the next one of its block: a manuscript with double spaces has 2.2."""

_WIDER = 1.2
"""A distance of so many usual ones begins a paragraph."""

_SIZE = 0.12
"""Lines whose heights differ by a larger share are not of one paragraph."""

_INDENT = 0.7
"""Heights by which a paragraph's first line is indented, at least."""

_WITNESSES = 2
"""So many lines that the next word does not fit into show where the edge is; the longest line alone shows none."""

_OPEN = 12
"""Blocks that may go on at once: more columns than a page has."""

_NEAR = 8
"""Lines of a block that show where its edge is."""

_ENDS = frozenset(".!?:\"'\u201d\u2019)")
"""Marks after which a paragraph may end."""

_ITEM = re.compile("[\u2022\u2023\u25aa\u25cf\u25e6\u2013*] ")

_DIVIDED = re.compile("(?<=[^\\W\\d_])[-\u2010\u00ad\x02]\\Z")


class Glyph(NamedTuple):
    """A character and its box, in points, upwards."""

    text: str
    left: float
    bottom: float
    right: float
    top: float


@dataclass(frozen=True)
class Line:
    """Glyphs that stand beside each other."""

    glyphs: Sequence[Glyph]

    @cached_property
    def text(self) -> str:
        """Its characters; wide gaps are one space."""
        return " ".join("".join(glyph.text for glyph in self.glyphs).split())

    @cached_property
    def left(self) -> float:
        """Its left edge."""
        return self.glyphs[0].left

    @cached_property
    def right(self) -> float:
        """Its right edge."""
        return next((glyph.right for glyph in reversed(self.glyphs) if not glyph.text.isspace()), self.left)

    @cached_property
    def bottom(self) -> float:
        """Its lower edge: most glyphs', as a small one may be raised."""
        return median_low(glyph.bottom for glyph in self.glyphs)

    @cached_property
    def height(self) -> float:
        """Its height, in points."""
        return max(median_low(glyph.top - glyph.bottom for glyph in self.glyphs), 1.0)

    @cached_property
    def first_word(self) -> float:
        """The width of its first word with the space before it."""
        if _is_wide(self.glyphs[0].text):  # any character of such a script may begin a line
            return self.glyphs[0].right - self.left
        end = next((glyph.left for glyph in self.glyphs if glyph.text.isspace()), self.right)
        return end - self.left + 0.2 * self.height

    def with_part(self, part: Line) -> Line:
        """This line and another one beside it."""
        return Line([*self.glyphs, _space_after(self.glyphs[-1]), *part.glyphs])


def text_of_pages(pages: Iterable[Iterable[Glyph]]) -> str:
    """The words of pages, a paragraph a line.

    Args:
        pages: the glyphs of each, in the order in which the file draws them.
    """
    pieces: list[str] = []
    above: list[Line] = []
    for block in (block for page in pages for block in _blocks(_lines(page))):
        goes_on = bool(above) and _goes_on(above, block[0])
        for gap, paragraph in _paragraphs(block):
            if goes_on:
                _continue(pieces, paragraph)
            else:
                pieces += [gap, *paragraph] if pieces else paragraph
            goes_on = False
        above = block
    return "".join(pieces)


def _goes_on(block: Sequence[Line], line: Line) -> bool:
    """Whether the paragraph at the end of a block goes on in the next column or on the next page."""
    last, first = block[-1], line.text
    full = last.right - last.left + line.first_word > max(each.right - each.left for each in block)
    inside = first[:1].islower() or (len(block) > 2 and last.text[-1:] not in _ENDS)
    return full and inside and _of_one_size(last, line)


def _of_one_size(line: Line, other: Line) -> bool:
    lower, higher = sorted((line.height, other.height))
    return higher <= (1 + _SIZE) * lower


def _lines(glyphs: Iterable[Glyph]) -> Iterator[Line]:
    """The lines, each of one column.

    White space without a height is PDFium's guess. Where it sees a line end but the next glyph stands close beside the
    last one, the line goes on: it takes a narrow column for vertical writing.
    """
    line: list[Glyph] = []
    apart = False
    for glyph in glyphs:
        if glyph.text.isspace() and (glyph.top <= glyph.bottom or not line):
            apart = True
            continue
        if line and _begins_line(line[-1], glyph):
            yield Line(line)
            line = []
        elif line and apart and not (line[-1].text.isspace() or glyph.text.isspace()):
            line.append(_space_after(line[-1]))
        line.append(glyph)
        apart = False
    if line:
        yield Line(line)


def _space_after(glyph: Glyph) -> Glyph:
    return glyph._replace(text=" ", left=glyph.right)


def _begins_line(last: Glyph, glyph: Glyph) -> bool:
    height = max(last.top - last.bottom, 1.0)
    back, gap = last.left - glyph.left, glyph.left - last.right
    return abs(glyph.bottom - last.bottom) > height or back > height or gap > _GUTTER * height


def _blocks(lines: Iterable[Line]) -> list[list[Line]]:
    """Lines under each other, in the order in which they begin."""
    blocks: list[list[Line]] = []
    for line in lines:
        recent = blocks[: -_OPEN - 1 : -1]
        if blocks and _is_part(line, blocks[-1]):
            blocks[-1][-1] = blocks[-1][-1].with_part(line)
        elif block := next((each for each in recent if _stands_under(each[-1], line)), None):
            block.append(line)
        else:
            blocks.append([line])
    return blocks


def _is_part(line: Line, block: Sequence[Line]) -> bool:
    """Whether a line stands beside the last one of a block and inside its edges: a justified line with a wide gap."""
    last = block[-1]
    edge = max(each.right for each in block[-_NEAR:] if _of_one_size(each, last))
    beside = abs(line.bottom - last.bottom) < 0.3 * line.height and line.left >= last.right
    return beside and line.right < edge + 0.2 * line.height


def _stands_under(last: Line, line: Line) -> bool:
    down = last.bottom - line.bottom
    shared = min(last.right, line.right) - max(last.left, line.left)
    return 0.3 * line.height < down < _LEADING * max(line.height, last.height) and shared > 0


def _paragraphs(block: Sequence[Line]) -> Iterator[tuple[str, list[str]]]:
    """The pieces of each paragraph of a block, with what stands before it."""
    gap = "\n\n"
    for stretch in _stretches(block):
        for pieces in _joined(stretch):
            yield gap, pieces
            gap = "\n"
        gap = "\n\n"


def _stretches(block: Sequence[Line]) -> Iterator[list[Line]]:
    """The lines of a block, parted where their distance or their size changes."""
    downs = [above.bottom - line.bottom for above, line in pairwise(block)]
    usual = median_low(downs) if downs else 0.0
    stretch = [block[0]]
    for (above, line), down in zip(pairwise(block), downs, strict=True):
        if down > _WIDER * usual or not _of_one_size(above, line):
            yield stretch
            stretch = []
        stretch.append(line)
    yield stretch


def _joined(stretch: Sequence[Line]) -> Iterator[list[str]]:
    """The pieces of each paragraph in lines at equal distances."""
    edge = max(line.right for line in stretch)
    full = [_is_full(line, following, edge) for line, following in pairwise(stretch)]
    if sum(full) < _WITNESSES <= len(full):
        full = [False] * len(full)
    pieces = [stretch[0].text]
    for (line, following), goes_on in zip(pairwise(stretch), full, strict=True):
        if goes_on and not _begins_paragraph(line, following):
            _continue(pieces, [following.text])
        else:
            yield pieces
            pieces = [following.text]
    yield pieces


def _begins_paragraph(line: Line, following: Line) -> bool:
    """Whether a line is the first of an item or is indented; of an item, the other lines are."""
    if _ITEM.match(following.text):
        return True
    return following.left - line.left >= _INDENT * line.height and not _ITEM.match(line.text)


def _is_full(line: Line, following: Line, edge: float) -> bool:
    """Whether the next line's first word would not have fitted."""
    return line.right + following.first_word > edge or _DIVIDED.search(line.text) is not None


def _continue(pieces: list[str], following: Sequence[str]) -> None:
    """Let a paragraph go on; a word that was divided at the end of a line becomes one again."""
    if following[0][:1].islower() and _DIVIDED.search(pieces[-1]):
        pieces[-1] = pieces[-1][:-1]
    elif not (_is_wide(pieces[-1][-1:]) and _is_wide(following[0][:1])):
        pieces.append(" ")
    pieces += following


def _is_wide(character: str) -> bool:
    """Whether a character is of a script that sets no spaces, such as Chinese."""
    return character != "" and unicodedata.east_asian_width(character) in "WF"

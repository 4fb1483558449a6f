"""PDF, by PDFium: what Chromium reads it with, and fuzzes. Scripts and links are not run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ctwl_decoder.errors import DocumentRefused
from ctwl_decoder.words import said

from .. import limits
from ..budget import Budget
from ..found import Member, is_told, others
from ..layout import Glyph, text_of_pages
from . import opens

if TYPE_CHECKING:
    from ..pdf_annotations import Annotations

_MARKS = {0x02: "-", 0xFFFE: "-"}
"""What PDFium gives for a hyphen at the end of a line."""

_ASKED = 100
"""Letters of a page that are asked how they are turned."""


@opens("pdf")
def read(data: bytes, budget: Budget) -> Iterator[Member]:
    """The words of a PDF, a paragraph a line, then what is filled in; its other long texts and files; unread pages.

    Raises:
        DocumentRefused: it is broken, locked by a password, too long, or has no words.
    """
    import pypdfium2
    import pypdfium2.raw as pdfium

    from ..pdf_annotations import Annotations

    try:
        pdf = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        locked = pdfium.FPDF_GetLastError() == pdfium.FPDF_ERR_PASSWORD
        raise DocumentRefused(said("reason-locked" if locked else "reason-broken")) from error
    beside = Annotations(pdf, budget)
    if len(pdf) > limits.PAGES:
        raise DocumentRefused(f"the PDF has more than {limits.PAGES} pages; read the pages in question")
    unread: dict[str, list[str]] = {"reason-letters": [], "reason-words": []}
    words = text_of_pages(_pages(pdf, beside, unread, pdfium))
    text = "\n\n".join(filter(None, [words, *beside.texts]))
    more = others(text, filter(is_told, beside.beside))
    if not (text or more or beside.files):
        raise DocumentRefused(said("reason-letters" if unread["reason-letters"] else "reason-words"))
    pages = [
        Member(f"page {', '.join(numbers)}", DocumentRefused(said(why))) for why, numbers in unread.items() if numbers
    ]
    return iter([*([Member("", text)] if text else []), *pages, *more, *beside.files])


def _pages(pdf: Any, beside: Annotations, unread: dict[str, list[str]], pdfium: Any) -> Iterator[Iterable[Glyph]]:
    """The glyphs of each page, those of one direction after those of another.

    Args:
        pdf: the document.
        beside: gets what is on a page beside its words.
        unread: gets the numbers of pages that cannot be read, by the reason: their fonts do not say which letters they
            show, or they are pictures alone.
        pdfium: the library.
    """
    for number in range(len(pdf)):
        page = pdf[number]
        beside.read(page)
        words = page.get_textpage()
        count = words.count_chars()
        asked = range(0, count, 1 + count // _ASKED)
        if 2 * sum(pdfium.FPDFText_HasUnicodeMapError(words, place) == 1 for place in asked) > len(asked):
            unread["reason-letters"].append(str(number + 1))
        elif not count and next(page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE]), None):
            unread["reason-words"].append(str(number + 1))
        else:
            found = Counter(filter(None, (_turned(words, place, pdfium) for place in asked)))
            yield from _directions(page, words, [quarters for quarters, _ in found.most_common()] or [4], pdfium)
        words.close()
        page.close()


def _directions(page: Any, words: Any, turns: Sequence[int], pdfium: Any) -> Iterator[Iterable[Glyph]]:
    """The glyphs of a page for each direction in which words run, the most usual one first."""
    everywhere: Sequence[int] = range(words.count_chars())
    by_turn: dict[int, Sequence[int]] = {turns[0]: everywhere}
    if len(turns) > 1:
        turned, apart = turns[0], {turn: list[int]() for turn in (*turns, 1, 2, 3, 4)}
        for place in everywhere:
            turned = _turned(words, place, pdfium) or turned  # a line's end has no direction
            apart[turned].append(place)
        by_turn.update(apart)
    for turned, places in by_turn.items():
        seen = places
        if (90 * turned - page.get_rotation()) % 360 == 270:  # of words seen so, PDFium gives the last line first
            characters = [pdfium.FPDFText_GetUnicode(words, place) for place in places]
            seen = [places[number] for number in _lines_reversed(characters)]
        yield _glyphs(page, words, seen, turned, pdfium)


def _glyphs(page: Any, words: Any, places: Iterable[int], turned: int, pdfium: Any) -> Iterator[Glyph]:
    """The glyphs at some places that stand on the page, turned back; line ends as PDFium sees them."""
    sheet, box = pdfium.FS_RECTF(), pdfium.FS_RECTF()
    pdfium.FPDF_GetPageBoundingBox(page, sheet)
    left, bottom, right, top = sheet.left, sheet.bottom, sheet.right, sheet.top
    for place in places:
        character = pdfium.FPDFText_GetUnicode(words, place)
        pdfium.FPDFText_GetLooseCharBox(words, place, box)
        edges = box.left, box.bottom, box.right, box.top
        text = _MARKS.get(character) or chr(character)
        seen = edges[0] < right and edges[1] < top and edges[2] > left and edges[3] > bottom
        if not 0xD800 <= character < 0xE000 and character and (seen or text.isspace()):
            yield Glyph(text, *_upright(edges, turned))


def _lines_reversed(characters: Sequence[int]) -> Iterator[int]:
    """The numbers of characters, line by line, from the last line to the first."""
    ends = [0, *(place + 1 for place, character in enumerate(characters) if character == 0x0A), len(characters)]
    for start, end in reversed(list(pairwise(ends))):
        yield from range(start, end)


def _turned(words: Any, place: int, pdfium: Any) -> int | None:
    """By how many quarters of a circle, 1 to 4, a letter is turned to the left; None of what is not drawn."""
    angle = pdfium.FPDFText_GetCharAngle(words, place)
    if angle < 0 or pdfium.FPDFText_IsGenerated(words, place):
        return None
    return round(-angle / (math.pi / 2)) % 4 or 4  # it counts to the right


def _upright(edges: tuple[float, float, float, float], turned: int) -> tuple[float, float, float, float]:
    """A box's left, bottom, right and top after its page is turned back."""
    left, bottom, right, top = edges
    for _ in range(turned % 4):
        left, bottom, right, top = bottom, -right, top, -left
    return left, bottom, right, top

"""PDF, by PDFium: what Chromium reads it with, and fuzzes. Scripts, forms and links are not run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from ctwl_decoder.errors import DocumentRefused
from ctwl_decoder.words import said

from .. import limits
from ..budget import Budget
from ..layout import Glyph, text_of_pages
from . import opens

_MARKS = {0x02: "-", 0xFFFE: "-"}
"""What PDFium gives for a hyphen at the end of a line."""

_ASKED = 100
"""Letters of a page that are asked how they are turned."""


@opens("pdf")
def read(data: bytes, _: Budget) -> str:
    """The words of a PDF, a paragraph a line.

    Raises:
        DocumentRefused: it is broken, locked by a password, too long, or has no words.
    """
    import pypdfium2
    import pypdfium2.raw as pdfium

    try:
        pdf = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        locked = pdfium.FPDF_GetLastError() == pdfium.FPDF_ERR_PASSWORD
        raise DocumentRefused(said("reason-locked" if locked else "reason-broken")) from error
    if len(pdf) > limits.PAGES:
        raise DocumentRefused(f"the PDF has more than {limits.PAGES} pages; read the pages in question")
    text = text_of_pages(_glyphs(pdf, number, pdfium) for number in range(len(pdf)))
    if not text:
        raise DocumentRefused(said("reason-words"))
    return text


def _glyphs(pdf: Any, number: int, pdfium: Any) -> Iterator[Glyph]:
    """The glyphs of a page, in the order in which the file draws them; line ends as PDFium sees them."""
    page = pdf[number]
    words = page.get_textpage()
    turned = _turned(words, pdfium)
    places: Iterable[int] = range(words.count_chars())
    if (90 * turned - page.get_rotation()) % 360 == 270:  # of a page seen so, PDFium gives the last line first
        places = _lines_reversed([pdfium.FPDFText_GetUnicode(words, place) for place in places])
    box = pdfium.FS_RECTF()
    for place in places:
        character = pdfium.FPDFText_GetUnicode(words, place)
        pdfium.FPDFText_GetLooseCharBox(words, place, box)
        text = _MARKS.get(character) or chr(character)
        if not 0xD800 <= character < 0xE000 and character:
            yield Glyph(text, *_upright(box, turned))
    words.close()
    page.close()


def _lines_reversed(characters: Sequence[int]) -> Iterator[int]:
    """The places of characters, line by line, from the last line to the first."""
    ends = [0, *(place + 1 for place, character in enumerate(characters) if character == 0x0A), len(characters)]
    for start, end in reversed(list(pairwise(ends))):
        yield from range(start, end)


def _turned(words: Any, pdfium: Any) -> int:
    """By how many quarters of a circle most letters of a page are turned to the left; its sheet may lie on its side."""
    count = words.count_chars()
    angles = (pdfium.FPDFText_GetCharAngle(words, place) for place in range(0, count, 1 + count // _ASKED))
    quarters = Counter(round(-angle / (math.pi / 2)) % 4 for angle in angles if angle >= 0)  # it counts to the right
    return quarters.most_common(1)[0][0] if quarters else 0


def _upright(box: Any, turned: int) -> tuple[float, float, float, float]:
    """A box's left, bottom, right and top after its page is turned back."""
    left, bottom, right, top = box.left, box.bottom, box.right, box.top
    for _ in range(turned):
        left, bottom, right, top = bottom, -right, top, -left
    return left, bottom, right, top

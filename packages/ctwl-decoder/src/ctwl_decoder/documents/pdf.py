"""PDF, by PDFium: what Chromium reads it with, and fuzzes. Scripts, forms and links are not run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import DocumentRefused, needing
from . import limits
from .layout import Glyph, text_of_pages

_MARKS = {0x02: "-", 0xFFFE: "-"}
"""What PDFium gives for a hyphen at the end of a line."""


def read(data: bytes) -> str:
    """The words of a PDF, a paragraph a line.

    Raises:
        ExtraMissing: PDFium is not installed.
        DocumentRefused: it is broken, locked by a password, too long, or has no words.
    """
    with needing("documents", "a PDF"):
        import pypdfium2
        import pypdfium2.raw as pdfium
    try:
        pdf = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        locked = pdfium.FPDF_GetLastError() == pdfium.FPDF_ERR_PASSWORD
        what = "is locked by a password; save it without" if locked else f"is broken ({error}); save it anew"
        raise DocumentRefused(f"the PDF {what}") from error
    if len(pdf) > limits.PAGES:
        raise DocumentRefused(f"the PDF has more than {limits.PAGES} pages; read the pages in question")
    text = text_of_pages(_glyphs(pdf, number, pdfium) for number in range(len(pdf)))
    if not text:
        raise DocumentRefused("the PDF has no words, but perhaps pictures of words; read them by OCR first")
    return text


def _glyphs(pdf: Any, number: int, pdfium: Any) -> Iterator[Glyph]:
    """The glyphs of a page, in the order in which the file draws them; line ends as PDFium sees them."""
    page = pdf[number]
    words = page.get_textpage()
    box = pdfium.FS_RECTF()
    for place in range(words.count_chars()):
        character = pdfium.FPDFText_GetUnicode(words, place)
        pdfium.FPDFText_GetLooseCharBox(words, place, box)
        text = _MARKS.get(character) or chr(character)
        if not 0xD800 <= character < 0xE000 and character:
            yield Glyph(text, box.left, box.bottom, box.right, box.top)
    words.close()
    page.close()

"""What stands in a PDF beside the words of its pages: fields of forms, typewriters' notes, comments, attached files."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from . import html
from .budget import Budget, OverBudget
from .found import Member, broken

_LINE_END = re.compile(r"\r\n?")
_TEMPLATE = re.compile(r"<(/?)template\b")
"""The part of a form that a reader sees; in pages nobody sees an element of this name."""

_UNSEEN = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW


class Annotations:
    """Collects what is filled into a PDF and attached to it.

    Attributes:
        texts: what is filled in; of a field that several pages show, once.
        beside: comments, and the words of a form by Adobe (XFA), which other programs do not show.
        files: the files in the document, and those that are pinned to its pages.
    """

    def __init__(self, pdf: Any, budget: Budget) -> None:
        """Take the files in a document that has no page open yet.

        Raises:
            OverBudget: there are too many, or too much is in them.
        """
        self._pdf, self._budget = pdf, budget
        with suppress(pypdfium2.PdfiumError):  # without its forms, a document has words all the same
            pdf.init_forms()
        self.texts: dict[str, None] = {}
        self.beside = dict.fromkeys(_words_of_forms(pdf, budget))
        self.files = [self._member(pdf.get_attachment(number)) for number in range(pdf.count_attachments())]

    def read(self, page: Any) -> None:
        """Take what is on a page.

        Raises:
            OverBudget: too many files are pinned to it, or too much is in them.
        """
        for note in _seen(page):
            if text := _LINE_END.sub("\n", self._text(note)).strip():
                self.texts[text] = None
            elif pdfium.FPDFAnnot_GetSubtype(note) != pdfium.FPDF_ANNOT_WIDGET:
                self.beside[_contents(note)] = None
            if file := pdfium.FPDFAnnot_GetFileAttachment(note):
                self.files.append(self._member(pypdfium2.PdfAttachment(file, self._pdf)))

    def _text(self, note: Any) -> str:
        kind, form = pdfium.FPDFAnnot_GetSubtype(note), self._pdf.formenv
        if kind == pdfium.FPDF_ANNOT_FREETEXT:
            return _contents(note)
        if form and pdfium.FPDFAnnot_GetFormFieldType(form, note) == pdfium.FPDF_FORMFIELD_TEXTFIELD:
            return _string(lambda *into: pdfium.FPDFAnnot_GetFormFieldValue(form, note, *into))
        return ""

    def _member(self, file: Any) -> Member:
        self._budget.count()
        name = "file"
        try:
            name = file.get_name() or name
            data = bytes(file.get_data())
            self._budget.check(len(data))
        except (OverBudget, MemoryError):
            raise
        except Exception as error:  # the files beside it are read all the same
            return Member(name, broken(error))
        self._budget.unpacked -= len(data)
        return Member(name, data)


def _seen(page: Any) -> Iterator[Any]:
    """The annotations of a page that are seen."""
    for place in range(pdfium.FPDFPage_GetAnnotCount(page)):
        if note := pdfium.FPDFPage_GetAnnot(page, place):
            if not pdfium.FPDFAnnot_GetFlags(note) & _UNSEEN:
                yield note
            pdfium.FPDFPage_CloseAnnot(note)


def _contents(note: Any) -> str:
    return _string(lambda *into: pdfium.FPDFAnnot_GetStringValue(note, b"Contents", *into))


def _words_of_forms(pdf: Any, budget: Budget) -> Iterator[str]:
    """The words of each part of a form by Adobe (XFA).

    Raises:
        OverBudget: there is too much in it.
    """
    for number in range(pdfium.FPDF_GetXFAPacketCount(pdf)):
        size = ctypes.c_ulong()
        pdfium.FPDF_GetXFAPacketContent(pdf, number, None, 0, size)
        budget.check(size.value)
        budget.unpacked -= size.value
        buffer = ctypes.create_string_buffer(size.value)
        pdfium.FPDF_GetXFAPacketContent(pdf, number, buffer, size.value, size)
        part = _TEMPLATE.sub(r"<\1form", buffer.raw.decode("utf-8", "replace"))
        yield html.words_of(part.replace("</", "\n</"), xml=True)


def _string(ask: Callable[[Any, int], int]) -> str:
    """A string that PDFium writes into a buffer, whose size in bytes it tells first."""
    size = ask(None, 0)
    buffer = (pdfium.FPDF_WCHAR * (size // 2 + 1))()
    ask(buffer, size)
    return bytes(buffer)[: max(0, size - 2)].decode("utf-16-le", "replace")

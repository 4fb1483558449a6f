"""Files of the kinds that people have: their words are read as if the text stood alone."""

from __future__ import annotations

import binascii
import io
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
import recorded_texts
from document_files import (
    book,
    docx,
    letter,
    mail,
    of_all_kinds,
    of_rarer_forms,
    office,
    packed,
    page,
    pdf_of,
    sheet,
    with_a_text_beside,
    with_an_object,
    with_part,
)
from hypothesis import given
from hypothesis import strategies as st
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfgen import canvas
from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate, Paragraph

from ctwl_decoder import Decoder, kinds
from ctwl_decoder.command import main
from ctwl_decoder.errors import DecoderError, DocumentRefused, NotOpened
from ctwl_decoder.files import read_text, texts_of
from ctwl_decoder.kinds import hides_words
from ctwl_decoder.text.variants import variants_of
from ctwl_decoder.words import say
from ctwl_documents import html
from ctwl_documents.budget import Budget
from ctwl_documents.layout import Glyph, text_of_pages
from ctwl_documents.openers import OPENERS
from ctwl_documents.opening import kind_of, texts_in
from ctwl_protocol.proxy import Proxy
from ctwl_services.page.bundle import web_folder

MARKED = recorded_texts.MARKED
TEXTS, LETTER = MARKED["texts"], MARKED["texts"][7]
OFFLINE = "org.ctwl.smollm2-135m.1"
LIGHT = ["--light", "--profile", OFFLINE]
KINDS = of_all_kinds(LETTER)
RARER = of_rarer_forms(LETTER)


@pytest.fixture(scope="module")
def decoder(offline_proxy: Proxy) -> Decoder:
    return Decoder(offline_proxy)


def p_value(decoder: Decoder, text: str) -> float:
    return decoder.decode(text, score="light").p_value


def words(data: bytes) -> str:
    """All words in a file, opened in this process."""
    found = list(texts_in(data, "file", Budget()))
    assert all(isinstance(each.text, str) for each in found), found
    return "\n\n".join(str(each.text) for each in found)


def pdf(text: str, font: str = "Times-Roman", width: float = 45, size: float = 10, align: int = 0) -> bytes:
    """A PDF of three narrow columns a page."""
    found = io.BytesIO()
    document = BaseDocTemplate(found, pagesize=(210 * mm, 297 * mm))
    edges = [20 * mm + number * (width + 6) * mm for number in range(3)]
    frames = [Frame(left, 20 * mm, width * mm, 120 * mm, leftPadding=0, rightPadding=0) for left in edges]
    document.addPageTemplates(PageTemplate(frames=frames))
    style = ParagraphStyle("narrow", fontName=font, fontSize=size, leading=1.2 * size, alignment=align)
    document.build([Paragraph(escape(line), style) for line in text.split("\n") if line.strip()])
    return found.getvalue()


def test_there_is_a_file_of_each_kind_that_is_opened() -> None:
    made = {kind_of(data) for data in [*KINDS.values(), *RARER.values(), pdf("One")]} - {None}
    assert made == {kind for kind in kinds.KINDS if kind.opened} == set(map(kinds.Kind, OPENERS))


@pytest.mark.parametrize("name", KINDS)
def test_a_mark_is_found_in_a_file_of_each_kind(decoder: Decoder, name: str) -> None:
    alone = " ".join(LETTER.split()) if name.startswith("film") else LETTER  # subtitles have no paragraphs
    assert p_value(decoder, words(KINDS[name])) < 10 * p_value(decoder, alone)


@pytest.mark.parametrize("name", RARER)
def test_the_words_of_a_file_of_a_rarer_form_are_the_text(name: str) -> None:
    text = " ".join(LETTER.split()) if name.startswith(("film", "rolling")) else LETTER
    beside = {"notes.odt": "See.", "box.docx": "In a box.", "prints.ipynb": "# An answer"}.get(name, "")
    assert text in words(RARER[name]) and len(words(RARER[name])) <= len(text) + 10 * len(beside)


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
@pytest.mark.parametrize("page", [0, 90, 180, 270])
def test_a_page_of_a_pdf_that_lies_on_its_side_is_read_as_one_that_stands(turn: int, page: int) -> None:
    file = io.BytesIO()
    drawn = canvas.Canvas(file, pagesize=(600, 600))
    drawn.setPageRotation(page)
    drawn.translate(300, 300)
    drawn.rotate(turn)
    for row, line in enumerate(["A page that lies on its", "side has lines, too, and", "they are joined."]):
        drawn.drawString(-100, 50 - 14 * row, line)
    drawn.save()
    assert words(file.getvalue()) == "A page that lies on its side has lines, too, and they are joined."


SHOWN = b"BT /F 12 Tf 50 700 Td (One) Tj ET"


def test_what_is_filled_into_a_pdf_is_read_and_hidden_fields_and_comments_are_not() -> None:
    field = b"<</Type/Annot/Subtype/Widget/Rect[50 500 300 600]%s>>"
    filled = sheet(
        SHOWN,
        field % b"/Parent 12 0 R",
        field % b"/Parent 12 0 R",  # the same field at another place
        field % b"/FT/Tx/T(b)/V(no)/F 2",
        field % b"/FT/Btn/T(c)/V/Yes",
        b"<</Type/Annot/Subtype/FreeText/Contents<FEFF00540079007000650064>/Rect[50 400 300 450]>>",
        b"<</Type/Annot/Subtype/Text/Contents(no)/Rect[50 400 300 450]>>",
        b"<</FT/Tx/T(a)/V(Two\\rlines)/Kids[6 0 R 7 0 R]>>",
        more=b"/Annots[6 0 R 7 0 R 8 0 R 9 0 R 10 0 R 11 0 R]",
        catalog=b"/AcroForm<</Fields[12 0 R 8 0 R 9 0 R]>>",
    )
    assert words(filled) == "One\n\nTwo\nlines\n\nTyped"


def test_comments_of_a_pdf_and_words_of_a_form_by_adobe_are_a_text_of_their_own() -> None:
    line = LETTER.partition("\n")[0]
    form = f"<template><draw><value><text>{line.upper()}</text></value><script>no</script></draw></template>".encode()
    note = b"<</Type/Annot/Subtype/Text/Contents(%s)/Rect[50 400 300 450]>>" % line.encode()
    part = b"<</Length %d>>stream\n%s\nendstream" % (len(form), form)
    given = sheet(SHOWN, note, part, more=b"/Annots[6 0 R]", catalog=b"/AcroForm<</Fields[]/XFA[(template) 7 0 R]>>")
    first, beside = texts_in(given, "a", Budget())
    assert (first.text, beside.name, beside.text) == ("One", "a/other texts", f"{line.upper()}\n\n{line}")


def test_files_in_a_pdf_are_read_each_by_itself() -> None:
    stream = b"<</Type/EmbeddedFile/Length %d>>stream\n%s\nendstream"
    two = docx("Two")
    holder = sheet(
        SHOWN,
        b"<</Type/Filespec/F(two.docx)/EF<</F 7 0 R>>>>",
        stream % (len(two), two),
        b"<</Type/Annot/Subtype/FileAttachment/Rect[0 0 9 9]/FS 9 0 R>>",
        b"<</Type/Filespec/F(three.txt)/EF<</F 10 0 R>>>>",
        stream % (5, b"Three"),
        b"<</Type/Filespec/F(gone.txt)/EF<<>>>>",
        more=b"/Annots[8 0 R]",
        catalog=b"/Names<</EmbeddedFiles<</Names[(gone) 11 0 R (two) 6 0 R]>>>>",
    )
    found = {each.name: each.text for each in texts_in(holder, "a", Budget())}
    assert isinstance(found.pop("a/gone.txt"), DecoderError)
    assert found == {"a": "One", "a/two.docx": "Two", "a/three.txt": "Three"}
    with pytest.raises(DocumentRefused, match="too many parts"):
        list(texts_in(holder, "a", Budget(members=2)))


def test_a_pdf_whose_fonts_do_not_say_which_letters_they_show_is_refused() -> None:
    names = b" ".join(b"/g%d 6 0 R" % number for number in range(26))
    drawn = b"500 0 0 0 500 700 d1 0 0 400 600 re f"
    type3 = (
        b"/Type3/FontBBox[0 0 700 800]/FontMatrix[.001 0 0 .001 0 0]/FirstChar 97/LastChar 122/Widths[%s]"
        b"/CharProcs<<%s>>/Encoding<</Differences[97 %s]>>"
    ) % (b"500 " * 26, names, names.replace(b" 6 0 R", b""))
    glyph = b"<</Length %d>>stream\n%s\nendstream" % (len(drawn), drawn)
    (found,) = texts_in(sheet(SHOWN.replace(b"One", b"one"), glyph, font=type3), "a", Budget())
    assert isinstance(found.text, DocumentRefused) and "OCR" in str(found.text)


def test_a_page_of_a_pdf_that_is_a_picture_is_named() -> None:
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]%s/Resources<</Font<</F 4 0 R>>>>>>"
    drawn = b"q 500 0 0 500 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID x EI Q"
    sheets = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 3/Kids[5 0 R 6 0 R 7 0 R]>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(SHOWN), SHOWN),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        page % b"/Contents 3 0 R",
        page % b"/Contents 8 0 R",
        page % b"",
        b"<</Length %d>>stream\n%s\nendstream" % (len(drawn), drawn),
    ]
    first, picture = texts_in(pdf_of(sheets), "a", Budget())
    assert first.text == "One" and picture.name == "a/page 2" and "OCR" in str(picture.text)


def test_words_beside_the_page_of_a_pdf_are_not_read() -> None:
    aside = b" BT /F 12 Tf 700 700 Td (no) Tj ET BT /F 12 Tf 50 -50 Td (no) Tj ET BT /F 12 Tf -4 300 Td (Edge) Tj ET"
    assert words(sheet(SHOWN + aside)) == "One\n\nEdge"


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_paragraph_that_is_turned_on_a_page_is_read_after_the_others(turn: int) -> None:
    upright = ["A page has more words", "that stand upright, as", "pages have, and others", "at its side."]
    turned = ["A paragraph that lies", "on its side has lines", "too."]
    file = io.BytesIO()
    drawn = canvas.Canvas(file)
    for angle, rows in ((turn, turned), (0, upright)):
        drawn.saveState()
        drawn.translate(300 + angle // 2, 400 if angle else 600)
        drawn.rotate(angle)
        for row, line in enumerate(rows):
            drawn.drawString(0, -14 * row, line)
        drawn.restoreState()
    drawn.save()
    assert words(file.getvalue()).split() == " ".join(upright + turned).split()


def test_a_file_is_opened_whatever_it_is_called(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_bytes(docx(LETTER))
    assert read_text(str(path)) == LETTER


@pytest.mark.parametrize(
    ("font", "width", "align"),
    [
        ("Times-Roman", 45, 0),
        pytest.param("Helvetica", 40, 0, marks=pytest.mark.slow),
        pytest.param("Times-Roman", 45, 4, marks=pytest.mark.slow),
    ],
)
def test_narrow_columns_of_a_pdf_are_running_text(decoder: Decoder, font: str, width: float, align: int) -> None:
    alone = [p_value(decoder, text) for text in TEXTS]
    found = [p_value(decoder, words(pdf(text, font, width, align=align))) for text in TEXTS]
    near = [paid < 100 * best for paid, best in zip(found, alone, strict=True)]
    assert sum(p <= 1e-4 for p in found) == 9 and sum(near) >= 7, (found, alone)


def drawn(*placed: tuple[float, float, str]) -> bytes:
    """A PDF of lines, each at its place."""
    file = io.BytesIO()
    page = canvas.Canvas(file)
    for left, up, line in placed:
        page.drawString(left, up, line)
    page.save()
    return file.getvalue()


def below_each_other(*shown: str, left: float = 60) -> list[tuple[float, float, str]]:
    return [(left, 700 - 14 * row, line) for row, line in enumerate(shown)]


def test_columns_that_a_program_draws_line_by_line_are_read_one_after_the_other() -> None:
    left = ["The first column", "goes down here", "and ends."]
    right = ["The second one", "stands beside it", "on its right."]
    rows = zip(below_each_other(*left), below_each_other(*right, left=200), strict=True)
    assert words(drawn(*(line for row in rows for line in row))).split() == " ".join(left + right).split()


def test_a_word_that_was_divided_at_a_line_end_of_a_pdf_becomes_one() -> None:
    shown = below_each_other("A long and inter-", "esting sentence is", "set in a narrow co-", "lumn of a paper.")
    assert words(drawn(*shown)) == "A long and interesting sentence is set in a narrow column of a paper."


def test_lines_of_a_script_without_spaces_are_joined_without_spaces() -> None:
    glyphs = [
        Glyph(character, 10 * place, 100 - 12 * row, 10 * place + 10, 110 - 12 * row)
        for row, line in enumerate(["\u6c34\u304c\u6d41\u308c\u308b", "\u5ddd\u306e\u305d\u3070\u3067", "\u672c"])
        for place, character in enumerate(line)
    ]
    assert text_of_pages([glyphs]) == "\u6c34\u304c\u6d41\u308c\u308b\u5ddd\u306e\u305d\u3070\u3067\u672c"


def test_lines_that_the_writer_ended_stay_lines() -> None:
    shown = ["Milk", "Bread", "Two pounds of butter from the farm", "Salt", "Tea"]
    assert words(drawn(*below_each_other(*shown))).split("\n") == shown


def test_opened_html_shows_its_words_and_no_tags() -> None:
    shown = words(
        b"<html><body><h1>A&amp;B</h1><p>One <b>bold</b>\nword.<br>Next</p><div hidden>no</div>"
        b"<p style='display:none'>no</p>"
        b"<pre>a  b\n c</pre></body></html>"
    )
    assert shown == "A&B\n\nOne bold word.\nNext\n\na  b\n c"


PAGES: dict[str, str] = json.loads((web_folder() / "test" / "pages.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_the_words_that_a_browser_shows(page: str) -> None:
    """The reader in JavaScript is tested by the same pages."""
    assert html.words_of(f"<!doctype html>{page}") == PAGES[page]


def test_a_page_whose_words_a_script_shows_is_refused() -> None:
    """The reader in JavaScript is tested by the same pages."""
    told = f"<script>show({json.dumps(LETTER)})</script>"
    for shown in (f"<a>Skip to content</a>{told}", told, "<script src='a.js'></script>", "<script>" * (1 << 18)):
        (found,) = texts_in(f"<!doctype html>{shown}".encode(), "page.html", Budget())
        assert isinstance(found.text, DocumentRefused) and "a script shows" in str(found.text)
    for shown in ("<p>One</p><script>count()</script>", f"<p>{'One ' * 99}</p>{told}"):
        assert words(f"<!doctype html>{shown}".encode()).startswith("One")


@pytest.mark.parametrize(
    "chat",
    [
        [{"role": "user", "content": "A question."}],
        [{"role": "user", "content": "A question."}, {"whatever": {"phrase": "An answer."}}],
        {"req": {"messages": [{"role": "user", "content": "A question."}]}, "res": {"phrase": "An answer."}},
    ],
)
def test_messages_of_people_are_never_read_for_a_model_s(chat: object) -> None:
    (found,) = texts_in(json.dumps(chat).encode(), "chat.json", Budget())
    assert isinstance(found.text, DocumentRefused) and "messages of people" in str(found.text)


@pytest.mark.parametrize("record", ['data:{"choices": [{"delta": {"content": "%s"}}]}\n\n', "data:%s\n\n", '0:"%s"\n'])
def test_a_stream_whose_pieces_have_lost_the_spaces_between_words_is_refused(record: str) -> None:
    def stream(*pieces: str) -> bytes:
        return "".join(record % piece for piece in pieces).encode()

    line = LETTER.partition("\n")[0].replace('"', "")
    (found,) = texts_in(stream(*line.split()), "stream", Budget())
    assert isinstance(found.text, DocumentRefused) and "no spaces between words" in str(found.text)
    assert words(stream(*line.replace(" ", " |").split("|"))) == line
    assert "\u0e20" in words(stream(*"\u0e20\u0e32\u0e29\u0e32" * 9))


CHATS: dict[str, dict[str, Any]] = json.loads((web_folder() / "test" / "chats.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CHATS)
def test_the_words_of_a_chat_are_read_and_those_beside_them_are_a_text_of_their_own(name: str) -> None:
    """The reader in JavaScript is tested by the same files."""
    row = CHATS[name]
    found = {each.name: each.text for each in texts_in(row["file"].encode(), "chat", Budget())}
    assert found == {"chat": row["words"]} | {f"chat/{beside}": text for beside, text in row["beside"].items()}


LONG = " ".join(f"word{n}" for n in range(40))
MODEL, PERSON = {"role": "assistant", "content": "Yes."}, {"role": "user", "content": LONG}
NAMED = {"author": {"name": "gpt-4o-mini"}, "content": "Yes."}


@pytest.mark.parametrize(
    ("chat", "texts"),
    [
        ([PERSON, MODEL, {"document": {"body": LONG.upper()}}], ["Yes.", LONG.upper()]),
        ({"doc": {"question": "Why?", "answer": "gold"}, "resps": [[LONG]]}, ["gold", LONG]),
        ([MODEL, {"system_prompt": LONG, "tool_schema": LONG, "type": "reasoning"}], ["Yes."]),
        (
            [PERSON, {"author": {"name": "gpt-4o-mini"}, "content": "Yes."}, {"author": "Ann", "content": LONG}],
            ["Yes."],
        ),
        ({"choices": [{"index": 0, "text": "One."}, {"index": 1, "text": "Two."}]}, ["One.\n\nTwo."]),
    ],
)
def test_what_is_long_beside_the_messages_is_a_text_of_its_own(chat: object, texts: list[str]) -> None:
    found = list(texts_in(json.dumps(chat).encode(), "chat.json", Budget()))
    assert [each.text for each in found] == texts
    assert [each.name for each in found] == ["chat.json", "chat.json/other texts"][: len(texts)]


def test_a_stream_holds_several_answers_calls_and_cut_characters() -> None:
    def record(index: int, **delta: object) -> str:
        return "data: " + json.dumps({"id": "x", "choices": [{"index": index, "delta": delta}]}) + "\n\n"

    given = json.dumps({"path": "a.txt", "text": LONG})
    calls = [{"index": 0, "function": {"arguments": part}} for part in (given[:30], given[30:])]
    pieces = [(0, "One \ud83d"), (1, "Two"), (0, "\ude00."), (1, "!")]
    stream = "".join(record(index, content=piece) for index, piece in pieces)
    stream += "".join(record(0, tool_calls=[call]) for call in calls)
    (found,) = texts_in(stream.encode(), "stream.txt", Budget())
    assert found.text == f"One \N{GRINNING FACE}.\n\nTwo!\n\n{LONG}"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"text/plain": "<IPython.core.display.Markdown object>", "text/markdown": "An answer."}, "An answer."),
        ({"text/plain": "<IPython.core.display.HTML object>", "text/html": "<p>An <b>answer</b>.</p>"}, "An answer."),
        ({"text/plain": "   a\n0  1", "text/html": "<table><td>1</table>"}, "   a\n0  1"),
    ],
)
def test_a_notebook_shows_what_its_code_gave(data: dict[str, str], words: str) -> None:
    cell = {"cell_type": "code", "source": "", "outputs": [{"output_type": "display_data", "data": data}]}
    (found,) = texts_in(json.dumps({"nbformat": 4, "cells": [cell]}).encode(), "a.ipynb", Budget())
    assert found.text == words


def test_any_element_of_a_book_may_end_where_it_begins() -> None:
    chapter = "<html><head><script src='a'/></head><body><audio src='b'/><p>Words</p></body></html>"
    assert html.words_of(chapter, xml=True) == html.words_of(f"<?xml version='1.0'?>{chapter}") == "Words"
    assert html.words_of(chapter) == ""


def test_words_of_xml_in_which_no_sign_has_another_meaning_are_read() -> None:
    shown = "<html><p><![CDATA[a > b &amp; <i>]]> c</p></html>"
    assert html.words_of(shown, xml=True) == html.words_of(f"<?xml version='1.0'?>{shown}") == "a > b &amp; <i> c"


@pytest.mark.parametrize(
    ("label", "charset", "text"),
    [
        ("gb2312", "gbk", "\u6731\u9555\u57fa"),
        ("x-gbk", "gb18030", "\u4e2d\u20ac"),
        ("EUC-KR", "cp949", "\ub620\ubc29\uac01\ud558"),
        ("ks_c_5601-1987", "cp949", "\ub620"),
        ("shift_jis", "cp932", "\u2460"),
        ("x-sjis", "cp932", "\u2460"),
        ("big5", "big5hkscs", "\u35ce"),
        ("iso-8859-9", "cp1254", "\u015f\u201c"),
        ("iso-8859-1", "cp1252", "\u201c"),
    ],
)
def test_a_charset_is_read_as_browsers_read_its_label(label: str, charset: str, text: str) -> None:
    assert html.decoded(text.encode(charset), label) == text


CHARSETS: dict[str, dict[str, str]] = json.loads((web_folder() / "test" / "charsets.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CHARSETS)
def test_a_charset_is_what_the_bytes_are_before_what_a_label_says(name: str) -> None:
    """The reader in JavaScript is tested by the same bytes."""
    row = CHARSETS[name]
    assert html.decoded(bytes.fromhex(row["bytes"]), row["label"]) == row["text"]


@pytest.mark.parametrize("code_page", [1252, 0, 10000])
def test_letters_of_an_rtf_stay_whatever_code_page_it_names(code_page: int) -> None:
    assert words(rf"{{\rtf1\ansi\ansicpg{code_page} Gr\'f6\'dfe}}".encode()) == "Gr\u00f6\u00dfe"


@pytest.mark.parametrize(
    ("rtf", "shown"),
    [
        (r"One{\footnote {\chftn }a {\b note}.} two.", "One two.\na note."),
        (r"One{\footnote\ftnalt a note.\par} two.{\footnote more}", "One two.\na note.\n\nmore"),
        (r"{\shp{\*\shpinst{\sp{\sn a}{\sv 2}}{\shptxt a box}}{\shprslt{\*\do{\dptxbxtext a box}}}}One", "One\na box"),
        (r"{\*\do\dptxbx{\dptxbxtext a box}}One", "One\na box"),
        (r"One{\header no{\footnote no}{\shptxt no}} two", "One two"),
        (r"One{\deleted\rsid9  gone\par\'41\u65?} two{\deleted{\footnote gone}}", "One two"),
        (r"One\v  gone\v0  two\v  gone\plain , three\v1 {\b gone}", "One two, three"),
        (r"One {\pict\bin9 }}}}}}}}}}two", "One two"),
        (r"One {\footnote a note", "One \na note"),
    ],
)
def test_an_rtf_is_read_as_it_is_seen_with_its_notes_and_boxes(rtf: str, shown: str) -> None:
    assert words(rf"{{\rtf1\ansi {rtf}}}".encode()) == shown


def test_utf_7_is_no_charset_of_pages() -> None:
    assert not html.is_charset("utf-7")
    assert html.decoded(b"<p>+2AA-", "utf-7") == "<p>+2AA-"


def test_what_was_deleted_from_a_document_is_not_read() -> None:
    gone = "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:instrText>DATE</w:instrText></w:r></w:p>"
    assert words(docx("One\n\nTwo", gone)) == "One\n\nTwo"


def test_words_of_word_that_nobody_sees_are_not_read() -> None:
    run = "<w:p><w:r><w:rPr>{}</w:rPr><w:t>more</w:t></w:r></w:p>"
    assert words(docx("One", run.format("<w:vanish/>"))) == "One"
    for seen in ("<w:vanish w:val='0'/>", "<w:rPrChange><w:rPr><w:vanish/></w:rPr></w:rPrChange>"):
        assert words(docx("One", run.format(seen))) == "One\n\nmore"


def test_words_of_opendocument_that_nobody_sees_are_not_read() -> None:
    style = "<style:style style:name='T1'><style:text-properties text:display='none'/></style:style>"
    unseen = "<text:p>One<text:span text:style-name='T1'>no</text:span><text:hidden-text>no</text:hidden-text></text:p>"
    section = "<text:section text:display='none'><text:p>no</text:p></text:section>"
    flat = f"<office:document xmlns:office='o'>{style}{unseen}{section}<text:p>two</text:p></office:document>"
    assert words(flat.encode()) == "One\n\ntwo"


def book_of(chapters: dict[str, tuple[str, str]], more: Mapping[str, str] = {}) -> bytes:
    """A book of chapters: by their names, the attributes and the page."""
    items = "".join(f"<item id='{name}' href='{name}' {more}/>" for name, (more, _) in chapters.items())
    spine = "".join(f"<itemref idref='{name}'/>" for name in chapters)
    pages = {f"OPS/{name}": page for name, (_, page) in chapters.items()}
    return book(f"<package><manifest>{items}</manifest><spine>{spine}</spine></package>", {**pages, **more})


BESIDE = with_a_text_beside(LETTER.partition("\n")[0])


@pytest.mark.parametrize("name", BESIDE)
def test_a_text_beside_the_words_of_a_document_is_a_text_of_its_own(name: str) -> None:
    first, beside = texts_in(BESIDE[name], name, Budget())
    assert (first.text, beside.name, beside.text) == ("Words", f"{name}/other texts", LETTER.partition("\n")[0])


def test_an_object_in_a_document_is_named_unless_it_shows_a_formula() -> None:
    old = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500)
    for name, data in with_an_object(old).items():
        first, named = texts_in(data, name, Budget())
        assert first.text == "Words" and "an older Office document" in str(named.text)
    for data in with_an_object(old + "Equation Native".encode("utf-16-le")).values():
        assert words(data) == "Words"


def test_a_drawing_is_a_chapter_and_a_table_of_contents_is_none() -> None:
    drawn = "<svg xmlns='s'><title>no</title><text>On a <tspan>drawing</tspan></text></svg>"
    contents = "<html><body><nav><ol><li>no</li></ol></nav><p>Beside it</p></body></html>"
    chapters = {
        "a.svg": ("media-type='image/svg+xml'", drawn),
        "b": ("properties='nav'", contents),
        "c": ("", contents),
    }
    assert words(book_of(chapters)) == "On a drawing\n\nBeside it\n\nno\n\nBeside it"


def test_a_chapter_to_which_only_links_lead_is_read_last_and_a_wide_one_is_read() -> None:
    items = "".join(f"<item id='{name}' href='{name}' media-type='application/xhtml+xml'/>" for name in "ab")
    more = "<item id='d' href='b#top'/><item id='c' href='c' media-type='application/xhtml+xml' properties='nav'/>"
    opf = f"<package><manifest>{items}{more}</manifest><spine><itemref idref='d'/></spine></package>"
    chapters = {"a": page("One"), "b": page("Two").encode("utf-16")}
    assert words(book(opf, chapters, "a.opf")) == "Two\n\nOne"


def test_a_picture_that_is_a_chapter_is_named() -> None:
    pages = {"a": ("media-type='image/png'", "\x89PNG"), "b": ("", page("Words"))}
    first, picture = texts_in(book_of(pages), "book", Budget())
    assert first.text == "Words" and picture.name == "book/OPS/a" and isinstance(picture.text, DocumentRefused)


def test_an_encrypted_chapter_is_named_and_not_read() -> None:
    named = "<encryption><CipherReference URI='OPS/b%201'/><CipherReference URI='OPS/font'/></encryption>"
    pages = {"a": ("", page("Words")), "b 1": ("", page("no"))}
    first, locked = texts_in(book_of(pages, {"META-INF/encryption.xml": named}), "book", Budget())
    assert first.text == "Words" and locked.name == "book/OPS/b 1" and "locked" in str(locked.text)


def test_parts_of_an_office_document_are_known_by_their_types_whatever_their_names_are() -> None:
    types = {"a": "header", "b": "footnotes", "c 1": "diagramData", "d": "document.main", "no": "comments"}
    said = "".join(
        f"<Override PartName='/word/{name.replace(' ', '%20')}' ContentType='application/x.{kind}+xml'/>"
        for name, kind in types.items()
    )
    made: dict[str, str | bytes] = {f"word/{name}": f"<a><p><t>{name}</t></p></a>" for name in types}
    made |= {"[Content_Types].xml": f"<Types>{said}</Types>", "word/e/f.docx": docx("f")}
    assert words(packed(made)) == "d\n\nc 1\n\nb\n\na\n\nf"


def test_a_broken_document_in_a_document_is_named() -> None:
    data = with_part(docx("Words"), "word/embeddings/a.docx", docx("Words")[:-9])
    first, inner = texts_in(data, "letter", Budget())
    assert first.text == "Words" and inner.name == "letter/word/embeddings/a.docx"


def test_a_book_with_a_missing_chapter_and_a_doctype_is_read_and_the_gap_named() -> None:
    doctype = "<!DOCTYPE package PUBLIC '+//ISBN 0-9673008-1-9//DTD OEB 1.2 Package//EN' 'http://example.org/a.dtd'>"
    items = "".join(f"<item id='{name}' href='{name}.xhtml'/>" for name in "ab")
    spine = "".join(f"<itemref idref='{name}'/>" for name in "abc")
    opf = f"<?xml version='1.0'?>{doctype}<package><manifest>{items}</manifest><spine>{spine}</spine></package>"
    first, *gaps = texts_in(book(opf, {"OPS/b.xhtml": page("Words")}), "book", Budget())
    assert first.text == "Words" and sorted(gap.name for gap in gaps) == ["book/OPS/a.xhtml", "book/c"]
    assert all(isinstance(gap.text, DocumentRefused) for gap in gaps)


def test_a_file_between_the_words_of_a_mail_is_read() -> None:
    told, data = "See the file.\n\nbegin is a word\n", docx(LETTER)
    rows = [binascii.b2a_uu(data[start : start + 45]).decode() for start in range(0, len(data), 45)]
    assert words(mail(f"{told}begin 644 letter.docx\n{''.join(rows)}`\nend\n")) == f"{told.strip()}\n\n{LETTER}"
    assert words(mail(f"{told}begin 644 a file\nsmall letters\nend")).endswith("small letters\nend")


def test_lines_of_a_flowed_mail_are_joined() -> None:
    data = (
        mail("x")
        .replace(b'charset="utf-8"', b'charset="utf-8"; format=flowed')
        .replace(b"\nx\n", b"\nOne \ntwo\nThree\n")
    )
    assert words(data) == "One two\nThree"
    assert words(data.replace(b"flowed", b"Flowed")) == "One two\nThree"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "a picture"),
        (b"\xff\xd8\xff\xe0" + bytes(50), "a picture"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(50), "an older Office document"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(50), "a 7z or RAR archive"),
        (b"ID3\x04" + bytes(50), "a recording"),
        (office({"xl/workbook.bin": ""}), "a binary Excel table"),
        (b"-----BEGIN PGP MESSAGE-----\n\nhQEMA", "a PGP message"),
        (b"<mxfile host='a'><diagram name='b'>" + b"7Vpb" * 20 + b"</diagram></mxfile>", "a packed drawing of draw.io"),
        (b"WARC/1.0\r\nWARC-Type: response\r\n", "a WARC archive"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n(words) show", "PostScript"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "a Git LFS pointer"),
    ],
)
def test_a_container_that_is_not_opened_is_named(
    data: bytes, named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "letter").write_bytes(data)
    assert main([*LIGHT, str(tmp_path / "letter")]) == 2
    told = capsys.readouterr()
    assert "not-opened" in told.err and named in told.err and "which is not opened here; " in told.err
    assert "watermark" not in told.out


def test_an_address_is_no_file_and_no_text(tmp_path: Path) -> None:
    told = "it is a link to a page, which is not opened here; open it in a browser, and save or copy its words"
    with pytest.raises(NotOpened, match=told):
        texts_of("https://example.org/letter.html")
    plist = (
        "<?xml version='1.0'?>\n<!DOCTYPE plist PUBLIC '-//a//DTD PLIST 1.0//EN' 'http://a/b.dtd'>\n<plist>\n<dict>\n"
    )
    links = [
        "https://example.org/letter.html\n",
        "[InternetShortcut]\r\nURL=https://a.b\r\n",
        "[{000214A0-0000-0000-C000-000000000046}]\r\nProp3=19,11\r\n[InternetShortcut]\r\nURL=https://a.b\r\n",
        "[Desktop Entry]\nIcon=a\nType=Link\nURL=https://a.b\n",
        f"{plist}\t<key>URL</key>\n\t<string>https://a.b</string>\n</dict>\n</plist>",
        '{"":"WARNING! DO NOT EDIT THIS FILE!","doc_id":"1AbC","resource_key":"","email":"ann@example.org"}',
        '{"url": "https://docs.google.com/open?id=1", "doc_id": "1", "email": "ann@example.org"}\n',
    ]
    for number, link in enumerate(links):
        (tmp_path / str(number)).write_text(link)
        (found,) = texts_of(str(tmp_path / str(number)))
        assert isinstance(found.text, NotOpened) and told in str(found.text)


RECORD = '{"role": "user", "text": "Hi"}\n'
PLAIN: list[str] = json.loads((web_folder() / "test" / "plain.json").read_text(encoding="utf-8"))
"""Texts that people wrote, which look like files; the JavaScript reader is tested by them too."""


@pytest.mark.parametrize(
    "text",
    [
        *PLAIN,
        TEXTS[0],
        f"Title: Talk\nDate: today\nAnn: A question.\nBot: {TEXTS[0]}\n\nFrom Monday on\nAnn: Thanks.",
        f"[![a](b)](c)\n{TEXTS[0]}\n{RECORD}",
        f"[10:00] a {RECORD}{TEXTS[0]}",
        f"{RECORD}{TEXTS[0]}\n{RECORD}",
        f"Lines:\ndata: {RECORD}data: {RECORD}{TEXTS[0]}",
    ],
)
def test_plain_text_is_no_container(text: str) -> None:
    assert kind_of(text.encode()) is None or words(text.encode()) == text
    assert hides_words(text) is None


def test_a_mail_that_passed_many_servers_is_one() -> None:
    passed = f"X-Passed: {'far ' * 400}\n" * 20
    long = passed.encode() + KINDS["base64.eml"]
    assert words(long) == words(KINDS["base64.eml"]) and hides_words(long.decode())


SENT = KINDS["base64.eml"].replace(b"\r\n", b"\n")


@pytest.mark.parametrize(
    "written",
    [
        b"\xef\xbb\xbf" + SENT,
        b"\n\n" + SENT,
        b"X-Spam_score: 1\nX-A.b: 2\n" + SENT,
        b"X" * 200 + b": 1\n" + SENT,
        b"%d      \n%s<?xml version='1.0'?><plist/>" % (len(SENT), SENT),
        b"\xef\xbb\xbfFrom ann Thu Nov 26\n" + SENT,
        SENT.replace(b"\n", b"\r"),
        SENT.replace(b"\n", b"\r\r\n"),
        b"Content-Transfer-Encoding: base64\n" + SENT[SENT.index(b"\n\n") + 1 :],
        b"In parts.\n--=_x\nContent-Transfer-Encoding: base64\n" + SENT[SENT.index(b"\n\n") + 1 :] + b"\n--=_x--\n",
    ],
)
def test_a_mail_is_one_whatever_stands_around_it_and_whatever_its_headers_and_line_ends_are(written: bytes) -> None:
    assert words(written) == words(SENT) == words(KINDS["letter.eml"])


def test_a_line_of_a_mail_that_begins_as_one_before_a_mail_begins_none() -> None:
    body = "First words.\n\nFrom Monday on we meet.\nPlace: Room 1"
    for head in ("From: a@b\n", "From a@b Mon Nov 2\n"):
        assert words(f"{head}Date: Mon, 2 Nov 2026 10:00:00 +0000\n\n{body}".encode()) == body


def test_a_series_of_patches_is_read_with_its_messages_and_lines() -> None:
    head = "From 1a2b Mon Sep 17 00:00:00 2001\nFrom: Ann <a@b.c>\nDate: Thu, 26 Nov 2026 10:00:00 +0000\n"
    series = f"{head}Subject: [PATCH] A\n\nWhy.\n---\n+new\n{head}Subject: [PATCH] B\n\nThen.\n"
    assert [each.text for each in texts_in(series.encode(), "a.patch", Budget())] == ["Why.\n---\n+new", "Then."]


def test_of_alternatives_the_words_are_chosen_and_what_is_attached_in_any_is_read() -> None:
    parts = [
        "\nThe letter is attached.",
        "Content-Type: text/x-amp-html\n\nThe letter is attached.",
        "Content-Type: text/calendar\n\nBEGIN:VCALENDAR",
        'Content-Type: multipart/mixed; boundary="c"\n\n'
        "--c\nContent-Type: text/html\n\n<p>The letter is attached.</p>\n"
        f'--c\nContent-Disposition: attachment; filename="a.txt"\n\n{TEXTS[0]}\n--c--',
    ]
    data = 'Date: x\nContent-Type: multipart/alternative; boundary="b"\n\n--b\n' + "\n--b\n".join(parts) + "\n--b--\n"
    found = [(each.name, each.text) for each in texts_in(data.encode(), "mail", Budget())]
    assert found == [
        ("mail", "The letter is attached."),
        ("mail/text/calendar", "BEGIN:VCALENDAR"),
        ("mail/a.txt", TEXTS[0]),
    ]


def test_a_text_in_which_no_words_can_be_read_is_no_text() -> None:
    hidden = [KINDS[name].decode() for name in ("letter.b64", "quoted.txt", "base64.eml", "letter.rtf")]
    hidden += ["%PDF-1.7\n1 0 obj", KINDS["letter.docx"].decode("latin-1"), "https://example.org/a"]
    assert [kind.called for kind in map(hides_words, hidden) if kind] == [
        "base64", "quoted-printable text", "a mail", "RTF", "a PDF", "a zip archive", "a link to a page"
    ]  # fmt: skip
    assert hides_words(mail(LETTER).decode()) is None and hides_words(page(LETTER)) is None


@pytest.mark.usefixtures("here")
def test_of_several_texts_each_gets_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text(TEXTS[1], encoding="utf-8")
    (tmp_path / "b.zip").write_bytes(
        packed({"c.txt": TEXTS[2], "d.txt": "A short one.", "e.png": b"\x89PNG\r\n\x1a\n"})
    )
    assert main([*LIGHT, str(tmp_path)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert [line.removeprefix(f"{tmp_path}/").split(":")[:2] for line in told[:4]] == [
        ["a.txt", f" {say('found-whole')}"],
        ["b.zip/c.txt", f" {say('found-whole')}"],
        ["b.zip/d.txt", f" {say('short').partition(':')[0]}"],
        ["b.zip/e.png", " not read"],
    ]
    assert told[4] == "4 texts: 2 with a watermark, 1 too short, 1 not read."
    with pytest.raises(NotOpened, match="has 2 texts, and one is asked for"):
        read_text(str(tmp_path / "b.zip"))


@pytest.mark.usefixtures("here")
def test_a_mail_is_reported_in_full_attachments_in_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = letter()
    found.set_content(LETTER, cte="base64")
    found.add_attachment(b"\x89PNG\r\n\x1a\n", maintype="image", subtype="png", filename="logo.png")
    path, shown = tmp_path / "letter.eml", tmp_path / "report.html"
    path.write_bytes(bytes(found))
    assert main([*LIGHT, "--html", str(shown), str(path)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith(f"{say('found-whole')}: ") and any(line.startswith("p-value") for line in told)
    assert told[-1].startswith(f"{path}/logo.png: not read: it is a picture") and shown.exists()
    assert main([*LIGHT, "--json", str(path)]) == 0
    assert [each["name"] for each in json.loads(capsys.readouterr().out)] == [str(path), f"{path}/logo.png"]


def test_the_exit_status_tells_unread_files_from_unmarked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    human = tmp_path / "human.txt"
    human.write_text("No model wrote this short text.", encoding="utf-8")
    assert main([*LIGHT, "--json", str(human), str(human)]) == 1
    reports = json.loads(capsys.readouterr().out)
    assert [each["report"]["outcome"] for each in reports] == ["too-short"] * 2
    assert main([*LIGHT, "--json", str(human), str(tmp_path / "missing")]) == 2
    assert json.loads(capsys.readouterr().out)[1]["error"]["code"] == "input-unreadable"


_PLACES = st.floats(-1e4, 1e4)
_GLYPHS = st.builds(Glyph, st.sampled_from("ab.-\u4e00 \n\r\xad"), _PLACES, _PLACES, _PLACES, _PLACES)


@given(st.lists(st.lists(_GLYPHS, max_size=30), max_size=3))
def test_no_letter_is_lost_wherever_it_stands(pages: list[list[Glyph]]) -> None:
    letters = [glyph.text for page in pages for glyph in page if glyph.text in "ab.\u4e00"]
    assert sorted(letter for letter in text_of_pages(pages) if letter in "ab.\u4e00") == sorted(letters)


@given(st.sampled_from(sorted(KINDS | RARER)), st.integers(0, 10_000), st.binary(max_size=4), st.booleans())
def test_a_damaged_file_is_read_or_refused(name: str, place: int, put: bytes, cut: bool) -> None:
    data = (KINDS | RARER)[name]
    place %= len(data)
    damaged = data[:place] + put + (b"" if cut else data[place + len(put) :])
    with suppress(DecoderError, ValueError, RecursionError):  # the process that opens files makes refusals of these
        assert all(isinstance(each.text, (str, DecoderError)) for each in texts_in(damaged, "file", Budget()))


def test_what_is_opened_is_read_as_given(decoder: Decoder) -> None:
    assert [name for name, _ in variants_of(words(pdf(LETTER)))] == ["as given"]

"""Files of the kinds that people have: their words are read as if the text stood alone."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
import recorded_texts
from document_files import DOCUMENTS, FILES, docx, letter, mail, packed, packed_letters, page, pdf_of, sheet
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
from ctwl_decoder.words import english, said, say
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
PACKED = packed_letters(LETTER)
WHY = {said(key): key.removeprefix("reason-") for key in english() if key.startswith("reason-")}
WHY |= {str(kinds.refusal(kind)): kind.name for kind in kinds.KINDS if "advice" in kind.row}
"""By what is said of a file that is not read, why it is not, as documents.json has it."""


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


def test_there_is_a_file_of_each_kind() -> None:
    assert {kind_of(data) for data in FILES.values()} - {None} == set(kinds.KINDS)
    read = [FILES[name] for name, row in DOCUMENTS.items() if "words" in row]
    opened = {kind_of(data) for data in [*read, *PACKED.values(), pdf("One")]} - {None}
    assert opened == {kind for kind in kinds.KINDS if kind.opened} == set(map(kinds.Kind, OPENERS))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_words_of_a_file_are_read_and_those_beside_them_are_texts_of_their_own(name: str) -> None:
    """The reader in JavaScript is tested by the same files."""
    row = DOCUMENTS[name]
    found = [
        (each.name.removeprefix("file/"), each.text if isinstance(each.text, str) else {"refused": WHY[str(each.text)]})
        for each in texts_in(FILES[name], "file", Budget())
    ]
    if "refused" in row:
        assert found == [("file", {"refused": row["refused"]})]
        return
    beside = {part: text for part, text in found if part in row.get("beside", {})}
    assert beside == row.get("beside", {})
    assert "\n\n".join(text for part, text in found if part not in beside) == row["words"]


@pytest.mark.parametrize("name", PACKED)
def test_a_letter_is_the_same_however_it_is_packed(name: str) -> None:
    assert words(PACKED[name]) == LETTER


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


PAGES: dict[str, str] = json.loads((web_folder() / "test" / "pages.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_the_words_that_a_browser_shows(page: str) -> None:
    """The reader in JavaScript is tested by the same pages."""
    assert html.words_of(f"<!doctype html>{page}") == PAGES[page]


def test_a_page_of_many_scripts_is_refused() -> None:
    (found,) = texts_in(b"<!doctype html>" + b"<script>" * (1 << 18), "page.html", Budget())
    assert WHY[str(found.text)] == "script"


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


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", ["a PNG picture", "a link of Linux"])
def test_a_container_that_is_not_opened_is_named(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "letter").write_bytes(FILES[name])
    assert main([*LIGHT, str(tmp_path / "letter")]) == 2
    told = capsys.readouterr()
    assert "not-opened" in told.err and str(kinds.refusal(kinds.Kind(DOCUMENTS[name]["refused"]))) in told.err
    assert "watermark" not in told.out


def test_an_address_is_no_file() -> None:
    with pytest.raises(NotOpened, match="it is a link to a page, which is not opened here; open it in a browser"):
        texts_of("https://example.org/letter.html")


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
    long = passed.encode() + PACKED["base64.eml"]
    assert words(long) == LETTER and hides_words(long.decode())


def test_a_text_in_which_no_words_can_be_read_is_no_text() -> None:
    hidden = [FILES[name].decode() for name in ("letter.b64", "quoted.txt", "base64.eml", "letter.rtf")]
    hidden += ["%PDF-1.7\n1 0 obj", FILES["letter.docx"].decode("latin-1"), "https://example.org/a"]
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


@given(st.sampled_from(sorted(FILES | PACKED)), st.integers(0, 10_000), st.binary(max_size=4), st.booleans())
def test_a_damaged_file_is_read_or_refused(name: str, place: int, put: bytes, cut: bool) -> None:
    data = (FILES | PACKED)[name]
    place %= len(data)
    damaged = data[:place] + put + (b"" if cut else data[place + len(put) :])
    with suppress(DecoderError, ValueError, RecursionError):  # the process that opens files makes refusals of these
        assert all(isinstance(each.text, (str, DecoderError)) for each in texts_in(damaged, "file", Budget()))


def test_what_is_opened_is_read_as_given(decoder: Decoder) -> None:
    assert [name for name, _ in variants_of(words(pdf(LETTER)))] == ["as given"]

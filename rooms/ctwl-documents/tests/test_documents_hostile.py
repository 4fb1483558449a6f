"""Documents that somebody made to do harm: each is refused in a line, within bounds of time and memory."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import os
import struct
import subprocess
import sys
import tarfile
import warnings
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from zipfile import ZipFile

import pytest
from document_files import book, office, packed, pdf_of, sheet

from ctwl_decoder.command import main
from ctwl_decoder.errors import DecoderError, DocumentRefused, InputTooLarge
from ctwl_decoder.kinds import outer_kind
from ctwl_decoder.several import Verdict
from ctwl_decoder.words import say
from ctwl_documents import child, limits
from ctwl_documents.budget import Budget
from ctwl_documents.isolated import open_isolated
from ctwl_documents.opening import texts_in

_PARTS = "From: a@example.org\nMIME-Version: 1.0\nDate: x\n"
_CATALOG = b"<</Type/Catalog/Pages 2 0 R>>"
_CONTAINER = "META-INF/container.xml"
_SAID = {"document-refused", "not-opened", "input-too-large", "not-text"}


def document(xml: str | bytes) -> bytes:
    return office({"word/document.xml": xml})


def entities() -> str:
    named = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
    return f'<!DOCTYPE a [<!ENTITY a0 "lol">{named}]><document><p><t>&a11;</t></p></document>'


def zips_in_zips() -> bytes:
    data = b"a" * 1000
    for _ in range(limits.DEPTH + 2):
        data = packed({"a.zip": data})
    return data


def declares(size: int) -> bytes:
    """A zip whose directory says that a member has so many bytes; it has more than the archive holds."""
    data = bytearray(packed({"a.txt": b"hello " * 1000}))
    place = data.index(b"PK\x01\x02")
    data[place + 24 : place + 28] = data[22:26] = size.to_bytes(4, "little")
    data[place + 20 : place + 24] = size.to_bytes(4, "little")
    return bytes(data)


def tar_of(size: int) -> bytes:
    member = tarfile.TarInfo("a.txt")
    member.size = size
    return member.tobuf() + b"hello"


def tar(files: Mapping[str, bytes | tuple[bytes, str]]) -> bytes:
    """A tar file of files, and of links of some kinds to places."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, file in files.items():
            member = tarfile.TarInfo(name)
            if isinstance(file, tuple):
                member.type, member.linkname = file
                archive.addfile(member)
            else:
                member.size = len(file)
                archive.addfile(member, io.BytesIO(file))
    return data.getvalue()


def tar_of_links() -> bytes:
    kinds = {"a": tarfile.SYMTYPE, "b": tarfile.LNKTYPE, "c": tarfile.FIFOTYPE}
    return tar({name: (kind, "/etc/passwd") for name, kind in kinds.items()})


def deep_mail() -> bytes:
    parts = (f'--b{i}\nContent-Type: multipart/mixed; boundary="b{i + 1}"\n\n' for i in range(5000))
    return f'{_PARTS}Content-Type: multipart/mixed; boundary="b0"\n\n{"".join(parts)}'.encode()


def wide_mail() -> bytes:
    parts = "--b\n\nhi\n" * 500_000
    return f'{_PARTS}Content-Type: multipart/mixed; boundary="b"\n\n{parts}'.encode()


def mail_in_mail() -> bytes:
    return f"{_PARTS}Content-Type: message/rfc822\n\n".encode() * 3000 + b"From: a@example.org\n\nhi\n"


def part_many_times() -> bytes:
    """A zip whose directory names one part a thousand times."""
    data = packed({"a.txt": bytes(200_000)})
    start, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    entry = data[start:end]
    size = len(entry) * 1000
    return data[:start] + entry * 1000 + struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 1000, 1000, size, start, 0)


def zip_of_64_bits() -> bytes:
    """A zip whose directory says, in its fields of 64 bits, that a part has 2^60 bytes."""
    name, size = b"a.txt", (1 << 32) - 1
    local = struct.pack("<4s5H3I2H", b"PK\x03\x04", 45, 0, 0, 0, 0, 0, 5, 5, len(name), 0) + name + b"hello"
    more = struct.pack("<2H2Q", 1, 16, 1 << 60, 1 << 60)
    entry = struct.pack("<4s6H3I5H2I", b"PK\x01\x02", 45, 45, 0, 0, 0, 0, 0, size, size, 5, len(more), 0, 0, 0, 0, 0)
    entry += name + more
    return local + entry + struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 1, 1, len(entry), len(local), 0)


def dictionary() -> bytes:
    """A file of xz that wants a dictionary of 4 GB."""
    data = bytearray(lzma.compress(b"hello " * 100))
    end = 12 + 4 * (data[12] + 1)
    data[data.index(b"\x21\x01", 12) + 2] = 40
    data[end - 4 : end] = zlib.crc32(data[12 : end - 4]).to_bytes(4, "little")
    return bytes(data)


def elements(element: str) -> str:
    """Millions of elements that are no bomb by their ratio."""
    return "".join(element.format(os.urandom(4).hex()) for _ in range(4096)) * 400


def long_book() -> bytes:
    spine = elements("<itemref idref='a' a='{}'/>")
    package = f"<package><manifest><item id='a' href='a.html'/></manifest><spine>{spine}</spine></package>"
    return book(package, {"OPS/a.html": "<p>hello"})


def pdf(stream: bytes, *, filters: bytes = b"/FlateDecode", pages: int = 1, kid: bytes = b"3 0 R ") -> bytes:
    return pdf_of(
        [
            _CATALOG,
            b"<</Type/Pages/Count %d/Kids[%s]>>" % (pages, kid * pages),
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 5 0 R>>>>/Contents 4 0 R>>",
            b"<</Filter%s/Length %d>>stream\n%s\nendstream" % (filters, len(stream), stream),
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        ]
    )


def deep_pages() -> bytes:
    kids = [b"<</Type/Pages/Count 1/Kids[%d 0 R]>>" % number for number in range(3, 20_003)]
    return pdf_of([_CATALOG, *kids, b"<</Type/Page/MediaBox[0 0 9 9]>>"])


def forms_in_forms() -> bytes:
    """Each form draws the next one a hundred times, ten deep."""
    form = b"<</Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X %d 0 R>>>>/Length 600>>stream\n%s\nendstream"
    forms = [form % (number, b"/X Do " * 100) for number in range(7, 17)]
    last = b"<</Subtype/Form/BBox[0 0 9 9]/Length 0>>stream\n\nendstream"
    return sheet(b"/X Do " * 100, *forms, last, resources=b"/XObject<</X 6 0 R>>")


def pictured(filters: bytes, data: bytes) -> bytes:
    """A PDF with two words and a picture of four thousand millions of points."""
    picture = b"<</Subtype/Image/Width 65535/Height 65535/ColorSpace/DeviceRGB/BitsPerComponent 8/Filter%s/Length %d>>"
    words = b"q 9 0 0 9 0 0 cm /I Do Q BT /F 12 Tf 9 99 Td (hello world) Tj ET"
    stream = picture % (filters, len(data)) + b"stream\n%s\nendstream" % data
    return sheet(words, stream, resources=b"/XObject<</I 6 0 R>>")


def text_of(words: bytes) -> bytes:
    return zlib.compress(b"BT /F 12 Tf " + words + b" ET")


HOSTILE: dict[str, Callable[[], bytes]] = {
    "zip bomb": lambda: packed({"a.txt": bytes(1 << 28)}),
    "zips in zips": zips_in_zips,
    "many parts": lambda: packed(dict.fromkeys(map(str, range(20_000)), b"")),
    "DOCX bomb": lambda: document(b"<a>" + b" " * (1 << 27) + b"</a>"),
    "entities": lambda: document(entities()),
    "a file of the system": lambda: document('<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]><t>&a;</t>'),
    "deep XML": lambda: document("<p a='" + os.urandom(4000).hex() + "'>" + "<p>" * 100_000),
    "broken zip": lambda: packed({"a.txt": "hello " * 1000})[:-30],
    "1 GB declared": lambda: declares(1 << 30),
    "tar that declares 1 GB": lambda: tar_of(1 << 30),
    "tar that declares 4 EB": lambda: tar_of(1 << 62),
    "gzip bomb": lambda: gzip.compress(bytes(1 << 28)),
    "gzip bomb twice": lambda: gzip.compress(gzip.compress(bytes(1 << 28))),
    "xz bomb": lambda: lzma.compress(bytes(1 << 27)),
    "bzip2 bomb": lambda: bz2.compress(bytes(1 << 27)),
    "base64 of a bomb": lambda: base64.encodebytes(gzip.compress(bytes(1 << 28))),
    "deep JSON": lambda: b"[" * 5_000_000,
    "deep chat": lambda: b'{"role": "assistant", "content": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "wide JSON": lambda: b"[" + b",".join([b"{}"] * 10_000_000) + b"]",
    "deep mail": deep_mail,
    "wide mail": wide_mail,
    "comments without an end": lambda: b"<html>" + b"<!--" * 5_000_000,
    "tags without an end": lambda: b"<html>" + b"<a " * 5_000_000,
    "deep RTF": lambda: b"{\\rtf1" + b"{" * 10_000_000,
    "PDF bomb": lambda: pdf(zlib.compress(bytes(1 << 28))),
    "PDF bomb twice": lambda: pdf(zlib.compress(zlib.compress(bytes(1 << 29))), filters=b"[/FlateDecode/FlateDecode]"),
    "PDF of many glyphs": lambda: pdf(text_of(b"(aaaaaaaaaaaaaaaaaaaaaaaa) Tj " * 1_000_000)),
    "PDF of many pages": lambda: pdf(text_of(b"(hello) Tj"), pages=100_000),
    "PDF with a loop": lambda: pdf(b"", kid=b"2 0 R "),
    "broken PDF": lambda: b"%PDF-1.7\n" + b"garbage" * 1000,
    "EPUB with a loop": lambda: packed({_CONTAINER: f"<a><rootfile full-path='{_CONTAINER}'/></a>"}),
    "a part many times": part_many_times,
    "zip of 64 bits": zip_of_64_bits,
    "4 GB of a dictionary": dictionary,
    "tar of links": tar_of_links,
    "many packed in a row": lambda: gzip.compress(b"") * 3_000_000,
    "mail in mail": mail_in_mail,
    "a mail that seems to begin often": lambda: b"From a@b\nDate: 2 Nov 10:00:00 GMT\n\n" + b"From Thu " * 1_000_000,
    "many mails": lambda: b"From a Thu\nFrom: a@example.org\nDate: 2 Nov 10:00:00 GMT\n\nhi\n\n" * 100_000,
    "DOCX of elements": lambda: document("<a>" + elements("<p a='{}'/>") + "</a>"),
    "ODT of entities": lambda: packed({"mimetype": "", "content.xml": entities()}),
    "deep flat ODT": lambda: b"<office:document>" + b"<text:p>" * 1_000_000,
    "EPUB with a long spine": long_book,
    "RTF of orders": lambda: b"{\\rtf1" + b"\\b" * 10_000_000,
    "RTF of hidden groups": lambda: b"{\\rtf1" + b"{\\v{\\footnote" * 700_000,
    "deep HTML": lambda: b"<html>" + b"<div>" * 1_000_000,
    "HTML of signs": lambda: b"<html>" + b"<" * 10_000_000,
    "deep notebook": lambda: b'{"nbformat":4,"cells":[{"source":' + b"[" * 200_000 + b"]" * 200_000 + b"}]}",
    "deep PDF": lambda: pdf_of([_CATALOG[:-2] + b"/X " + b"[" * 3_000_000]),
    "PDF of deep pages": deep_pages,
    "PDF of forms in forms": forms_in_forms,
    "picture with another name": lambda: b"GIF89a" + bytes(1000),
}

QUICK = ("entities", "broken zip", "1 GB declared", "zips in zips", "deep JSON", "broken PDF", "tar of links")


def refused(name: str) -> DecoderError:
    (found,) = open_isolated(HOSTILE[name](), "letter")
    assert isinstance(found.text, DecoderError)
    return found.text


@pytest.mark.usefixtures("here")
def test_an_error_keeps_its_kind_on_the_way_from_the_process_that_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise InputTooLarge("it is long")

    monkeypatch.setattr(child, "texts_in", refuse)
    (found,) = open_isolated(b"words", "letter")
    assert isinstance(found.text, InputTooLarge) and str(found.text) == "it is long"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", QUICK)
def test_a_hostile_document_is_refused_in_a_line(name: str) -> None:
    error = refused(name)
    assert error.code in _SAID and len(str(error)) < 200 and str(error).isprintable()


_COMMAND = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (500 << 20, 500 << 20))
from ctwl_decoder.command import main
sys.exit(main(["--light", "--profile", "org.ctwl.smollm2-135m.1", sys.argv[1]]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="bounds of memory as Linux has them")
@pytest.mark.parametrize("name", HOSTILE)
def test_the_command_refuses_hostile_documents_within_500_mb(name: str, tmp_path: Path) -> None:
    """The bound is each process's. It takes five seconds at most on a machine that does nothing else; three
    minutes say that it hangs."""
    (tmp_path / "letter").write_bytes(HOSTILE[name]())
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", _COMMAND, str(tmp_path / "letter")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180, env=alone)
    assert done.returncode == 2 and done.stdout == "", done
    assert done.stderr.count("\n") == 1 and any(f"ctwl-decode: {code}: " in done.stderr for code in _SAID), done


def test_a_bound_holds_over_all_that_a_file_holds() -> None:
    """Many small bombs are one."""
    data = packed({f"{number}.txt": "hello " * 100 for number in range(3)})
    assert len(list(texts_in(data, "letter", Budget(unpacked=1800)))) == 3
    with pytest.raises(DocumentRefused, match="too much is packed in it"):
        list(texts_in(data, "letter", Budget(unpacked=1799)))


def test_too_many_other_texts_do_not_hide_what_a_model_wrote() -> None:
    chat = [{"role": "assistant", "content": "An answer."}, {"x": "word " * 1000}]
    first, others = texts_in(json.dumps(chat).encode(), "chat", Budget(words=4000))
    assert first.text == "An answer." and isinstance(others.text, DocumentRefused)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "odd",
    [
        {"b.pdf": b"%PDF-1.7\n"},
        {"b.ipynb": '{"nbformat": 4, "cells": 1}'},
        {"b.rtf": "{\\rtf1 \\u99999999999?}"},
        {"b.json": "[" * 100_000},
        {"b.eml": "Date: a\nMime-Version: 1.0\nContent-Disposition: inline;a*\n\nwords\n"},
    ],
)
def test_a_part_at_which_a_parser_fails_does_not_hide_the_sound_ones(odd: dict[str, str | bytes]) -> None:
    first, *_, last = found = open_isolated(packed({"a.txt": "One", **odd, "c.txt": "Two"}), "letter.zip")
    assert [each.name for each in found] == [
        "letter.zip/a.txt",
        *(f"letter.zip/{name}" for name in odd),
        "letter.zip/c.txt",
    ]
    assert (first.text, last.text) == ("One", "Two")


@pytest.mark.usefixtures("here")
def test_a_mail_at_which_a_parser_fails_does_not_hide_the_others() -> None:
    head = "From a@b Mon Nov 2\nDate: a\nMime-Version: 1.0\n"
    box = f"{head}\nOne\n\n{head}Content-Disposition: inline;a*\n\nspam\n\n{head}\nTwo\n"
    found = {each.name: each.text for each in open_isolated(box.encode(), "box")}
    assert (found["box/mail 1"], found["box/mail 3"]) == ("One", "Two")


@pytest.mark.usefixtures("here")
def test_an_archive_that_ends_early_is_read_so_far(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tar(dict.fromkeys(("a.txt", "b.txt"), b"words " * 150))
    (tmp_path / "cut.tar").write_bytes(data[:2200])
    assert main(["--light", "--profile", "org.ctwl.smollm2-135m.1", str(tmp_path / "cut.tar")]) == 2
    said = capsys.readouterr().out
    assert f"cut.tar/a.txt: {say('short')}" in said and "cut.tar: not read: it is broken" in said


@pytest.mark.usefixtures("here")
def test_two_members_of_one_name_are_two() -> None:
    data = io.BytesIO()
    with warnings.catch_warnings(), ZipFile(data, "w") as archive:
        warnings.simplefilter("ignore")
        for words in ("One", "Two"):
            archive.writestr("../a.txt", words)
    assert [each.text for each in open_isolated(data.getvalue(), "x")] == ["One", "Two"]


def test_no_module_comes_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There may lie what a stranger packed beside the document."""
    for name in ("json", "zipfile", "striprtf", "re"):
        (tmp_path / f"{name}.py").write_text("from pathlib import Path\nPath('owned').touch()\n")
    monkeypatch.chdir(tmp_path)
    (found,) = open_isolated(packed({"a.txt": "One"}), "letter.zip")
    assert found.text == "One" and not (tmp_path / "owned").exists()


@pytest.mark.usefixtures("here")
def test_a_broken_archive_in_a_mail_does_not_hide_the_mail() -> None:
    part = '--b\nContent-Type: application/zip; name="a.zip"\nContent-Disposition: attachment\n\nPK\x03\x04 broken\n'
    mail = f'{_PARTS}Content-Type: multipart/mixed; boundary="b"\n\n--b\n\nHello.\n{part}--b--\n'
    body, broken = open_isolated(mail.encode(), "x.eml")
    assert (body.text, broken.name) == ("Hello.", "x.eml/a.zip") and isinstance(broken.text, DecoderError)


@pytest.mark.usefixtures("here")
def test_the_name_of_a_part_steers_no_terminal_and_breaks_no_line() -> None:
    names = ["a\x1b]0;owned\x07.txt", f"\nletter.zip/b: {say('found-whole')}", "\u202egnp.txt", "c" * 60_000]
    found = open_isolated(packed(dict.fromkeys(names, b"\x89PNG\r\n\x1a\n")), "letter.zip")
    told = [str(Verdict(each.name, each.text)) for each in found if isinstance(each.text, DecoderError)]
    assert len(told) == 4 and all(line.isprintable() and len(line) < 500 for line in told), told


@pytest.mark.parametrize("filters", [b"/JBIG2Decode", b"/JPXDecode", b"/DCTDecode", b"/FlateDecode"])
def test_pictures_in_a_pdf_are_not_unpacked(filters: bytes) -> None:
    (found,) = texts_in(pictured(filters, zlib.compress(bytes(1 << 20))), "letter", Budget())
    assert found.text == "hello world"


@pytest.mark.usefixtures("here")
def test_hidden_files_of_an_archive_are_no_texts() -> None:
    files = dict.fromkeys(("a.txt", "__MACOSX/a.txt", ".git/b.txt"), b"One")
    data = tar({**files, "link": (tarfile.SYMTYPE, "/etc/passwd")})
    assert [each.name for each in open_isolated(data, "x")] == ["x/a.txt"]


@pytest.mark.parametrize(
    "lines",
    [
        b"Name: value\r\n",
        b"Name: value\r\n more\r\n",
        b"A" * 99 + b" \r\n",
        b" \r\n",
        b"<!-- -->\r\n",
        b"1\n\n\n\n",
        b"\r",
        b"--a\n",
        b"X" * 998,
        b"From Mon Mon\n",
        b'{"a"\n',
        b"a data: [\n",
        b"[",
        b"12",
        b"}} {",
    ],
)
def test_what_a_file_is_takes_no_time_to_tell(lines: bytes) -> None:
    """A pattern that can match a line in two ways would take longer than any test."""
    assert outer_kind(lines * 4000 + b"x") is None

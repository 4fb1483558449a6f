"""Files with a text in each: those that documents.json has, and what is built of any text."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import quopri
import tarfile
import zipfile
from collections.abc import Mapping
from email.message import EmailMessage
from html import escape
from typing import Any, Literal

from ctwl_services.page.bundle import web_folder

_TYPES = "<?xml version='1.0'?><Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'/>"
_WORD = "<w:p><w:r><w:t xml:space='preserve'>{}</w:t></w:r></w:p>"


def packed(files: Mapping[str, str | bytes]) -> bytes:
    """A zip file."""
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return found.getvalue()


def office(parts: Mapping[str, str | bytes]) -> bytes:
    """A document of Office of some parts."""
    return packed({"[Content_Types].xml": _TYPES, **parts})


def docx(text: str) -> bytes:
    said = "".join(_WORD.format(escape(line)) for line in text.split("\n"))
    return office({"word/document.xml": f"<w:document xmlns:w='w'><w:body>{said}</w:body></w:document>"})


def page(text: str) -> str:
    words = "".join(f"<p class='a'>{escape(line)}</p>\n" for line in text.split("\n") if line)
    head = "<head><title>News</title><style>p { color: red }</style><script>alert('<p>')</script></head>"
    return f"<!DOCTYPE html><html>{head}<body><nav hidden>Home | About</nav>{words}</body></html>"


def book(package: str, files: Mapping[str, str | bytes]) -> bytes:
    """A book of some files, which its package names."""
    container = "<container><rootfiles><rootfile full-path='OPS/a.opf'/></rootfiles></container>"
    return packed({"META-INF/container.xml": container, "OPS/a.opf": package, **files})


def letter() -> EmailMessage:
    """A mail without words."""
    found = EmailMessage()
    found["From"], found["Date"] = "ann@example.org", "Thu, 26 Nov 2026 10:00:00 +0000"
    return found


def mail(text: str, encoding: str = "8bit") -> bytes:
    found = letter()
    found["To"], found["Subject"] = "bob@example.org", "News"
    found.set_content(text, cte=encoding)
    return bytes(found)


def tar(text: str, mode: Literal["w:", "w:gz"] = "w:gz") -> bytes:
    found, data = io.BytesIO(), docx(text)
    with tarfile.open(fileobj=found, mode=mode) as archive:
        member = tarfile.TarInfo("letters/letter.docx")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return found.getvalue()


def pdf_of(bodies: list[bytes]) -> bytes:
    """A PDF of objects, the first of which is its catalog."""
    found, places = b"%PDF-1.7\n", []
    for number, body in enumerate(bodies, 1):
        places.append(len(found))
        found += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    ends = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(bodies) + 1, len(found))
    return found + b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1) + table + ends


def sheet(
    words: bytes,
    *others: bytes,
    more: bytes = b"",
    resources: bytes = b"",
    catalog: bytes = b"",
    font: bytes = b"/Type1",
) -> bytes:
    """A PDF of a page of some words, with more in it, and of other objects from the sixth on."""
    resources = b"/Resources<</Font<</F 5 0 R>>%s>>" % resources
    return pdf_of(
        [
            b"<</Type/Catalog/Pages 2 0 R%s>>" % catalog,
            b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R%s%s>>" % (resources, more),
            b"<</Length %d>>stream\n%s\nendstream" % (len(words), words),
            b"<</Type/Font/Subtype%s/BaseFont/Helvetica>>" % font,
            *others,
        ]
    )


def made(file: str | dict[str, Any]) -> bytes:
    """The bytes of a file as documents.json has it: a text, a text in another charset, or a zip of such files."""
    if isinstance(file, str):
        return file.encode()
    ((form, held),) = file.items()
    return packed({name: made(each) for name, each in held.items()}) if form == "zip" else held.encode(form)


_ROWS = (web_folder() / "test" / "documents.json").read_text(encoding="utf-8")
DOCUMENTS: dict[str, dict[str, Any]] = json.loads(_ROWS)
"""Files of all kinds by their names, and what is read of them; the reader in JavaScript is tested by them too."""

FILES = {name: made(row["file"]) for name, row in DOCUMENTS.items()}
"""Their bytes."""


def packed_letters(text: str) -> dict[str, bytes]:
    """A text in the forms that packers, mails and other charsets give it."""
    data = text.encode()
    return {
        "widest.txt": text.encode("utf-32"),
        "letter.docx": docx(text),
        "letter.html": page(text).encode(),
        "letter.eml": mail(text),
        "quoted.eml": mail(text, "quoted-printable"),
        "base64.eml": mail(text, "base64"),
        "quoted.txt": quopri.encodestring(data),
        "letter.b64": base64.encodebytes(data),
        "letter.zip": packed({"a/letter.txt": data}),
        "letters.tgz": tar(text),
        "letters.tar": tar(text, "w:"),
        "letter.txt.gz": gzip.compress(data),
        "letter.txt.bz2": bz2.compress(data),
        "letter.txt.xz": lzma.compress(data),
    }

"""The page and the command take the same words out of a file, and say the same of a file that they do not read."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from typing import Any

import document_files
import pytest
from docs_site import ROOT

from ctwl_decoder import errors, kinds
from ctwl_documents import budget, opening
from ctwl_services.page.build import read_words

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no Node on this machine")

MADE = """
import { files } from "./test/made.js";
import { openDocument } from "./src/documents/open.js";
const text = "Caf\\u00e9 \\u201cone\\u201d & <b> of the words it has.\\n\\nA second paragraph of it.";
const found = [];
for (const [name, file] of Object.entries(files(text))) {
  const bytes = typeof file === "string" ? new TextEncoder().encode(file) : file;
  found.push([name, Buffer.from(bytes).toString("base64"), (await openDocument(bytes)).text]);
}
console.log(JSON.stringify(found));
"""
OPENED = """
import { readFileSync } from "node:fs";
import { openDocument } from "./src/documents/open.js";
const found = {};
for (const [name, data] of Object.entries(JSON.parse(readFileSync(0)).files)) {
  const opened = openDocument(Buffer.from(data, "base64"));
  found[name] = await opened.then(({ text, left }) => ({ text, left }), ({ kind }) => ({ kind }));
}
console.log(JSON.stringify(found));
"""
REFUSED = """
import { readFileSync } from "node:fs";
import { refusal } from "./page/result.js";
import { speaker } from "./page/words.js";
import { openDocument } from "./src/documents/open.js";
const { words, files } = JSON.parse(readFileSync(0));
const found = {};
for (const [name, data] of Object.entries(files)) {
  let [status, why] = ["document-refused", "words"]; // where nothing is refused there are none
  try {
    await openDocument(Buffer.from(data, "base64"));
  } catch (error) {
    [status, why] = [error.status, error.kind ?? error.reason];
  }
  found[name] = refusal(status, { most: 9, why, say: speaker(words), language: "en" });
}
console.log(JSON.stringify(found));
"""
"""What the page says of files that it refuses."""

LINK = b"https://example.org/letter.html"


def locked() -> bytes:
    """A zip of which a part says that it is locked."""
    data = bytearray(document_files.docx("One"))
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.rindex(mark) + place] |= 1
    return bytes(data)


def office(xml: str | bytes) -> bytes:
    """A DOCX of some XML."""
    return bytes(document_files.packed({"[Content_Types].xml": "", "word/document.xml": xml}))


NOT_READ = {
    **{
        kind.name: magic.rjust(place + len(magic), b"-") + b"\0words"
        for magic, place, kind in kinds._MAGIC
        if not kind.opened
    },
    **{kind.name: sign + b"\nwords" for sign, kind in kinds._SIGNS if not kind.opened},
    "binary-sheet": document_files.packed({"[Content_Types].xml": "", "xl/workbook.bin": ""}),
    "link": LINK,
    "postscript": b"%!PS-Adobe-3.0\nwords",
    "broken": document_files.docx("One")[:-30],
    "locked": locked(),
    "bomb": office(bytes(1 << 24)),
    "nested": office("<p>" * 9999),
    "dtd": office("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"),
    "words": document_files.docx(""),
    "script": b"<html><script src='a.js'></script></html>",
    "no text": b"a\0b",
    "no letters": b"\x80abc",
    "half of UTF-16": b"\xff\xfea\0b",
}


def in_node(script: str, files: dict[str, bytes], **more: object) -> Any:
    """What a module prints, which is given some files."""
    encoded = {name: base64.b64encode(data).decode() for name, data in files.items()}
    given, command = json.dumps({"files": encoded, **more}).encode(), ["node", "--input-type=module", "-e", script]
    ran = subprocess.run(command, cwd=ROOT / "packages" / "ctwl-web", input=given, capture_output=True, check=True)
    return json.loads(ran.stdout)


def same(text: str) -> str:
    """Words without the form of their line ends."""
    return text.replace("\r\n", "\n").strip()


def test_a_file_that_is_not_read_gets_one_sentence_and_one_code() -> None:
    """Of text that is not UTF-8 the command also says which byte is not."""
    for name, said in in_node(REFUSED, NOT_READ, words=read_words()).items():
        try:
            (found,) = opening.texts_in(NOT_READ[name], name, budget.Budget())
            error = found.text
        except errors.DecoderError as refused:
            error = refused
        assert isinstance(error, errors.DecoderError), name
        told = re.sub(r" \(byte[^)]*\)", "", str(error))
        assert f"{told[0].upper()}{told[1:]}. ({error.code})" == said, name


def test_the_words_of_files_are_the_same() -> None:
    for name, data, text in in_node(MADE, {}):
        found = list(opening.texts_in(base64.b64decode(data), name, budget.Budget()))
        words = "\n\n".join(str(each.text) for each in found)
        assert same(words) == same(text), name


def test_the_page_opens_a_file_of_each_kind_as_the_command_does_or_names_it() -> None:
    text = "Caf\u00e9 \u201cone\u201d & <b> of the words it has.\n\nA second paragraph, which is longer than the first."
    files = document_files.of_all_kinds(text) | document_files.of_rarer_forms(text)
    files |= document_files.with_a_text_beside(f"The text is long: {'word ' * 30}one.")
    files |= document_files.with_an_object(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500))
    del files["widest.txt"]  # browsers know no UTF-32
    for name, opened in in_node(OPENED, files).items():
        if "text" in opened:
            words = [str(each.text) for each in opening.texts_in(files[name], name, budget.Budget())]
            assert len(words) == 1 + len(opened["left"]), name  # the page leaves what is attached to a mail
            assert same(opened["text"]) == same(words[0]), name
        else:
            kind = opening.kind_of(files[name])
            assert kind is not None and "advice" in kind.row and opened == {"kind": kind.name}, name

"""The page and the command say the same of a file that they do not read."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess

import pytest
from document_files import DOCUMENTS, FILES, docx, office

from ctwl_decoder import errors
from ctwl_documents import budget, opening
from ctwl_services.page.build import read_words
from ctwl_services.page.bundle import web_folder

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no Node on this machine")

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


def locked() -> bytes:
    """A zip of which a part says that it is locked."""
    data = bytearray(docx("One"))
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.rindex(mark) + place] |= 1
    return bytes(data)


def document(xml: str | bytes) -> bytes:
    """A DOCX of some XML."""
    return bytes(office({"word/document.xml": xml}))


NOT_READ = {
    **{name: FILES[name] for name, row in DOCUMENTS.items() if "refused" in row and "page" not in row},
    "broken": docx("One")[:-30],
    "locked": locked(),
    "bomb": document(bytes(1 << 24)),
    "nested": document("<p>" * 9999),
    "words": docx(""),
    "no text": b"a\0b",
    "no letters": b"\x80abc",
    "half of UTF-16": b"\xff\xfea\0b",
}


def test_a_file_that_is_not_read_gets_one_sentence_and_one_code() -> None:
    """Of text that is not UTF-8 the command also says which byte is not."""
    files = {name: base64.b64encode(data).decode() for name, data in NOT_READ.items()}
    given, command = json.dumps({"words": read_words(), "files": files}), ["node", "--input-type=module", "-e", REFUSED]
    ran = subprocess.run(command, cwd=web_folder(), input=given.encode(), capture_output=True, check=True)
    for name, said in json.loads(ran.stdout).items():
        try:
            (found,) = opening.texts_in(NOT_READ[name], name, budget.Budget())
            error = found.text
        except errors.DecoderError as refused:
            error = refused
        assert isinstance(error, errors.DecoderError), name
        told = re.sub(r" \(byte[^)]*\)", "", str(error))
        assert f"{told[0].upper()}{told[1:]}. ({error.code})" == said, name

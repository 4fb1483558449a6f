"""The page and the command take the same words out of a file, and call a file that they do not open the same."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess

import pytest
from docs_site import ROOT

from ctwl_decoder.apps.page.build import read_words

kinds = pytest.importorskip("ctwl_decoder.documents.kinds", reason="needs the decoder's documents")
opening = pytest.importorskip("ctwl_decoder.documents.opening", reason="needs the decoder's documents")
budget = pytest.importorskip("ctwl_decoder.documents.budget", reason="needs the decoder's documents")

SCRIPT = """
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
MAGIC = {"picture": b"\x89PNG\r\n\x1a\n", "recording": b"ID3\x04"}


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node on this machine")
def test_the_words_of_files_are_the_same() -> None:
    command = ["node", "--input-type=module", "-e", SCRIPT]
    made = subprocess.run(command, cwd=ROOT / "packages" / "ctwl-web", capture_output=True, check=True).stdout
    for name, data, text in json.loads(made):
        found = list(opening.texts_in(base64.b64decode(data), name, budget.Budget()))
        words = "\n\n".join(str(each.text) for each in found)
        assert words.replace("\r\n", "\n").strip() == text.replace("\r\n", "\n").strip(), name


@pytest.mark.parametrize("kind", MAGIC)
def test_a_kind_that_neither_opens_has_one_name_and_one_advice(kind: str) -> None:
    words, found = read_words(), kinds.kind_of(MAGIC[kind])
    assert (found.called, found.advice) == (words[f"kind-{kind}"], words[f"advice-{kind}"])

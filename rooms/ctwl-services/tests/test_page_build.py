"""The page that needs no server, as it is built: one file, in any language."""

import json
import re
from pathlib import Path

import pytest

from ctwl_decoder.command import main
from ctwl_decoder.errors import InputUnreadable
from ctwl_services.page.build import policy_of, read_words
from ctwl_services.page.bundle import bundle


def test_the_page_is_one_file_of_less_than_two_megabytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["page", "--out", str(tmp_path / "new")]) == 0
    (page,) = (tmp_path / "new").iterdir()
    assert page.name == "index.html"
    assert page.stat().st_size < 2_000_000
    assert f"{page.stat().st_size:,} bytes" in capsys.readouterr().out
    text = page.read_text("utf-8")
    assert "default-src 'none'" in text
    assert re.findall(r"unsafe-?[\w-]*", policy_of(text).replace("'wasm-unsafe-eval'", "")) == []


def test_words_in_another_language_are_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["page", "--print-words"]) == 0
    words = json.loads(capsys.readouterr().out)
    (tmp_path / "words.json").write_text(json.dumps(words | {"read": "Wasserzeichen suchen", "language": "de"}))
    assert main(["page", "--out", str(tmp_path), "--words", str(tmp_path / "words.json")]) == 0
    page = (tmp_path / "index.html").read_text("utf-8")
    assert '<html lang="de">' in page
    assert "Wasserzeichen suchen</button>" in page


def test_the_page_takes_its_profile_from_the_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTWL_PROFILE", "org.nobody.1")
    assert main(["page", "--out", str(tmp_path)]) == 2
    assert "profile-unknown" in capsys.readouterr().err


def test_a_profile_without_a_shipped_tokenizer_has_no_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["page", "--out", str(tmp_path), "--profile", "org.ctwl.toy.1"]) == 2
    assert "org.ctwl.toy.1" in capsys.readouterr().err


def test_modules_become_one_script_or_are_refused(tmp_path: Path) -> None:
    (tmp_path / "one.js").write_text('import { b as c } from "./two.js";\nexport const a = c + 1;\n')
    (tmp_path / "two.js").write_text("const b = 1;\nexport { b };\n")
    script = bundle(tmp_path / "one.js")
    assert script.index("const b") < script.index("const a")
    assert not re.search(r"^(import|export)", script, re.M)
    (tmp_path / "two.js").write_text('import N from "./n.json" with { type: "json" };\nexport const b = N.value;\n')
    (tmp_path / "n.json").write_text('{"value": 1}')
    assert 'const N = {"value": 1};' in bundle(tmp_path / "one.js")
    (tmp_path / "two.js").write_text("export default 1;\n")
    with pytest.raises(ValueError, match=r"two\.js"):
        bundle(tmp_path / "one.js")


def test_a_translation_that_lacks_words_is_refused_by_their_names(tmp_path: Path) -> None:
    words = tmp_path / "words.json"
    for given, said in (("{", "cannot read words"), ("[]", "no JSON object"), ('{"title": 1}', "has no words for")):
        words.write_text(given)
        with pytest.raises(InputUnreadable, match=said) as refused:
            read_words(words)
    assert all(name in str(refused.value) for name in read_words())

"""What other packages add: commands, and what opens documents. The core does without them, and says what to install."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import ctwl_decoder.command
import ctwl_encoder.command
import ctwl_protocol.registry.command
from ctwl_decoder.errors import ExtraMissing
from ctwl_decoder.files import read_text
from ctwl_protocol.additions import Additions

ROOT = Path(__file__).parents[3]
PROGRAMS = {
    each.ADDITIONS: each for each in (ctwl_decoder.command, ctwl_encoder.command, ctwl_protocol.registry.command)
}
HTML = "<!doctype html><p>The council said on Tuesday that the bridge would be closed.</p>"


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other package is installed."""
    monkeypatch.setattr(metadata, "entry_points", lambda **_: ())


@pytest.mark.parametrize("additions", PROGRAMS, ids=lambda each: each.program)
def test_each_command_is_in_the_package_that_the_core_names(additions: Additions) -> None:
    brought = {}
    for file in ROOT.glob("rooms/*/pyproject.toml"):
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        brought |= dict.fromkeys(project.get("entry-points", {}).get(additions.group, ()), project["name"])
    assert brought == {each.name: each.package.partition("[")[0] for each in additions.known}


@pytest.mark.parametrize("additions", PROGRAMS, ids=lambda each: each.program)
def test_a_missing_command_is_told(additions: Additions, alone: None, capsys: pytest.CaptureFixture[str]) -> None:
    for each in additions.known:
        assert PROGRAMS[additions].main([each.name]) == 2
        told = capsys.readouterr().err
        assert told.count("\n") == 1 and told.startswith(f"{additions.program}: extra-missing: ")
        assert told.endswith(f"pip install {each.package}\n")


@pytest.mark.parametrize("additions", PROGRAMS, ids=lambda each: each.program)
def test_help_has_what_is_installed_and_what_each_package_would_bring(
    additions: Additions, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def helped() -> str:
        with pytest.raises(SystemExit):
            PROGRAMS[additions].main(["--help"])
        return capsys.readouterr().out

    installed = helped()
    assert all(
        f"  {additions.program} {each.usage}" in installed and each.what in installed for each in additions.known
    )
    assert "pip install" not in installed.partition("other commands")[2]
    monkeypatch.setattr(metadata, "entry_points", lambda **_: ())
    without = helped()
    for package in {each.package for each in additions.known}:
        names = [each.name for each in additions.known if each.package == package]
        assert f"  pip install {package} brings: {', '.join(names)}\n" in without


def test_a_stranger_s_command_is_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    theirs = metadata.EntryPoint("translate", "builtins:len", "ctwl_decode.commands")
    monkeypatch.setattr(metadata, "entry_points", lambda **_: (theirs,))
    assert ctwl_decoder.command.main(["translate", "one", "two"]) == 2  # what it returns is the status
    assert "  ctwl-decode translate" in ctwl_decoder.command.ADDITIONS.help()


def test_a_document_names_what_opens_it_and_text_needs_nothing(alone: None, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Plain words.", encoding="utf-8")
    assert read_text(str(tmp_path / "letter.txt")) == "Plain words."
    (tmp_path / "letter.html").write_text(HTML, encoding="utf-8")
    with pytest.raises(ExtraMissing, match=r'an HTML page; to open it, pip install "ctwl-decoder\[documents\]"$'):
        read_text(str(tmp_path / "letter.html"))
    (tmp_path / "letter.docx").write_bytes(b"PK\x03\x04" + bytes(26))
    with pytest.raises(ExtraMissing, match="a zip archive, as many documents are; to open it, pip"):
        read_text(str(tmp_path / "letter.docx"))


@pytest.mark.parametrize("arguments", [["--help"], ["--light", "-"]])
def test_no_package_is_imported_before_it_is_needed(arguments: list[str]) -> None:
    code = (
        "import sys; from ctwl_decoder.command import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print([name for name in sys.modules if name.startswith(('ctwl_documents', 'ctwl_services', "
        "'ctwl_corpora', 'ctwl_operations'))], file=sys.stderr)"
    )
    done: Any = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        input="Plain words.", capture_output=True, text=True, check=False, env=os.environ,
    )  # fmt: skip
    assert done.stderr == "[]\n"

"""The page of who conforms: its files, what it keeps, and what a stranger can put into it."""

import json
from pathlib import Path

import conformance_page
import pytest
from conformance_page import DID_NOT_RUN, IMPLEMENTATIONS, Implementation, changed, page, rows

FILES = sorted(IMPLEMENTATIONS.glob("*.toml"))
STRANGER = Implementation("A <b>reader</b> | in Rust", "https://reader.example", ("decoder",), "reader", "cargo build")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_names_a_program_that_is_here(file: Path) -> None:
    told = Implementation.read(file)
    program = told.command.split()[1]
    assert program == "adapter" or (conformance_page.ROOT / program).is_file()
    assert told.page.startswith("https://")


@pytest.mark.parametrize("wrong", ["name = 'x'", "roles = ['decoder']\nnope = 1", "@roles = []", "@roles = ['reader']"])
def test_a_file_that_says_something_else_is_refused(wrong: str, tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(wrong.replace("@", "name = 'x'\npage = 'y'\ncommand = 'z'\n"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"one\.toml"):
        Implementation.read(file)


def test_each_side_gets_the_partner_that_it_lacks() -> None:
    assert STRANGER.arguments() == ["--decoder", "reader", "--encoder", "ctwl-conformance adapter toy"]
    both = Implementation("x", "y", ("decoder", "encoder"), "one")
    assert both.arguments() == ["--decoder", "one", "--encoder", "one"]
    assert Implementation("x", "y", ("registry-client",), "one").arguments() == ["--registry-client", "one"]


def report(folder: Path, verdict: str, version: str = "1") -> None:
    folder.mkdir(exist_ok=True)
    told = {"label": "odd", "command": "reader", "told": {"version": version}}
    other = {"label": "toy", "command": "ctwl-conformance adapter toy", "told": {"version": "1"}}
    counts = {"passed": 7, "failed": 0}
    verdicts = [
        {"implementation": "odd", "conformance_class": "basic-reader", "verdict": verdict, "counts": counts},
        {"implementation": "toy", "conformance_class": "encoder", "verdict": "conforms", "counts": {}},
    ]
    text = json.dumps({"implementations": [other, told], "verdicts": verdicts})
    (folder / "report.json").write_text(text, encoding="utf-8")


def test_the_history_has_what_changed_and_no_more(tmp_path: Path) -> None:
    history: list[dict[str, str]] = []
    for day, verdict in [("2027-01-01", "conforms"), ("2027-01-02", "conforms"), ("2027-01-03", "does not conform")]:
        report(tmp_path, verdict)
        now = rows(STRANGER, tmp_path)
        history = changed(history, now, day)
    assert [(each["date"], each["verdict"]) for each in history] == [
        ("2027-01-01", "conforms"), ("2027-01-03", "does not conform")]  # fmt: skip
    shown = page(now, history, "2027-01-03")
    assert "| basic-reader | does not conform | 7 passed | 2027-01-03 |" in shown
    assert "encoder" not in shown and "<b>" not in shown


def test_one_that_does_not_run_is_on_the_page(tmp_path: Path) -> None:
    conformance_page.run(Implementation("x", "y", ("decoder",), "none", "exit 3"), tmp_path / "none")
    (row,) = rows(STRANGER, tmp_path / "none")
    assert row["verdict"] == DID_NOT_RUN
    assert DID_NOT_RUN in page([row], changed([], [row], "2027-01-01"), "2027-01-01")

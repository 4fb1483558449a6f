"""The page of compliance: every figure stands where it says, and what is not measured remains open."""

from __future__ import annotations

import hashlib
import html
import json
import re
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctwl_encoder.command import main
from ctwl_encoder.core.expected_evidence import Evidence
from ctwl_engines.log import TextLog, began, finished, unmarked
from ctwl_engines.policy import Policy
from ctwl_operations.compliance.figures import plain as as_plain
from ctwl_operations.compliance.page import as_html

ROOT = Path(__file__).parents[3]
PROFILE = "org.ctwl.smollm2-135m.1"


def log_of(path: Path, *, marked: int = 3, plain: int = 1, strategy: str = "race") -> Path:
    """A log as a server writes it."""
    decided = Policy(provider=42, version=3, profile=PROFILE, log=str(path), strategy=strategy)
    log = TextLog(decided, wait=True)
    for number in range(marked):
        request = decided.request(None, 0.7)
        assert request is not None
        begun = began(decided, f"chatcmpl-{number}", request, request.payload(number))
        line = log.write([begun])
        places, chance = Counter({None: 90, "no place to mark": 10}), 0.95 if number else 0.01
        log.write([finished(begun, line, places, chance, Evidence(90.0, 10.0, 50.0))])
    for number in range(plain):
        log.write([unmarked(decided, f"plain-{number}", "fixed form")])
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return log_of(tmp_path / "ctwl.log")


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """A plan as ``ctwl-encode plan --json`` prints it: a measured one, but of what the log shows, found less often."""
    run = json.loads((ROOT / "evaluation" / "results" / "plan.json").read_text())["runs"][0]
    taken = next(row for row in run["rows"] if row["name"] == "race 0.8")
    taken["effect"]["found"]["successes"] = taken["effect"]["found"]["trials"] // 2
    run["recommendation"]["place"] = 0  # it is no row of what the log shows
    (tmp_path / "plan.json").write_text(json.dumps(run))
    return tmp_path / "plan.json"


def written(capsys: pytest.CaptureFixture[str], log: Path, plan: Path, *more: str) -> str:
    assert main(["compliance", "--log", str(log), "--plan", str(plan), *more]) == 0
    return capsys.readouterr().out


def rows(page: str, heading: str) -> list[list[str]]:
    part = page.split(f"## {heading}\n")[1].partition("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def at(data: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        data = data[int(part)] if isinstance(data, list) else data[part]
    return data


def plain(cell: str) -> str:
    return re.sub(r"\\(.)", r"\1", cell)


def test_every_figure_stands_in_its_file(log: Path, plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = written(capsys, log, plan)
    assert main(["audit", "--json", str(log)]) == 0
    numbers = ROOT / "spec" / "numbers.json"
    sources = {str(log): json.loads(capsys.readouterr().out), str(plan): json.loads(plan.read_text(encoding="utf-8"))}
    sources["spec/numbers.json"] = json.loads(numbers.read_text())
    figures = [[plain(cell) for cell in row] for row in rows(page, "Where each figure stands")]
    assert len(figures) > 20
    for number, value, source, pointer in figures:
        assert json.loads(value) == at(sources[source], pointer) and page.count(f"[{number}]") >= 1
    named = {int(found) for found in re.findall(r"\[(\d+)\]", page)}
    assert named == {int(number) for number, *_ in figures}
    digests = {plain(row[0]): row[2] for row in rows(page, "The files")}
    for name, file in ((str(log), log), (str(plan), plan), ("spec/numbers.json", numbers)):
        assert digests[name] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_no_number_stands_without_its_place(log: Path, plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _, _, shows, _ in rows(written(capsys, log, plan), "Measure by measure"):
        left = re.sub(r"\S*\d\S* \[\d+\]", "", shows.replace("95 % interval", ""))
        assert not re.search(r"\d", left), shows


def test_what_was_found_is_said_and_what_is_open_too(log: Path, plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    decided = Policy(provider=42, version=3, profile=PROFILE, log=str(log))  # by another strategy, and without an end
    request = decided.request(None, 0.0)
    assert request is not None
    TextLog(decided, wait=True).write([began(decided, "one more", request, request.payload(0))])
    page = written(capsys, log, plan)
    told = {name.split(" (")[0]: cells for name, *cells in rows(page, "Measure by measure")}
    state, shows, remains = told["An imperceptible watermark in free-form text of more than 200 tokens"]
    assert state == "partly" and re.match(
        r"Texts that were to be marked: 4 \[\d+\] \(1 \[\d+\] by delta 2 \[\d+\], 3 \[\d+\] by race 0.8 \[\d+\]\)",
        shows,
    )
    assert re.search(r"Texts that were not: 1 \[\d+\] \(1 \[\d+\] fixed form\)", shows) and "exempt" in remains
    state, shows, remains = told["Effective: the mark is found"]
    assert re.search(r"Of 3 \[\d+\] texts that ended, a reader is expected to find 2 \[\d+\]", shows)
    assert re.search(r"1 \[\d+\] have no end in the log", shows)
    assert told["Information about provenance"][1].count("provider 42") == 1
    measured = json.loads(plan.read_text(encoding="utf-8"))
    effect = next(row for row in measured["rows"] if row["name"] == "race 0.8")["effect"]
    found, edited = effect["found"], dict(effect["edited"])[0.1]
    counted = rf"found in {found['successes']} \[\d+\] of {found['trials']} \[\d+\] texts of up to 200 \[\d+\] tokens"
    assert found["successes"] < 0.9 * found["trials"] and re.search(counted, shows)
    assert state == "partly" and "Fewer than nine in ten" in remains
    state, shows, _ = told["Robust against common changes"]
    after = rf"after 10% \[\d+\] of the words were replaced in {edited['successes']} \[\d+\] of {edited['trials']} "
    assert state == "partly" and re.search(after, shows)
    assert told["Logging"][0] == "shown" and told["Metadata that is digitally signed"][0] == "open"
    gaps = [name for name, _ in rows(page, "Gap analysis")]
    assert len(gaps) > 5 and not any(name.startswith("Logging") for name in gaps)
    assert "not legal advice" in page


def test_an_unmeasured_strategy_remains_open(tmp_path: Path, plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = written(capsys, log_of(tmp_path / "other.log", strategy="delta", plain=0), plan)
    assert "The plan did not measure delta 2, as most texts are marked." in page


def test_lines_that_are_missing_are_said(log: Path, plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:2] + lines[3:]))
    assert "Lines are missing, broken or repeated" in written(capsys, log, plan)


def test_names_are_no_markup(log: Path, plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(plan.read_text(encoding="utf-8"))
    told["settings"]["model"] = name = "<script>alert(1)</script>|[x](http://a) `b` \x1b[2J"
    plan.write_text(json.dumps(told), encoding="utf-8")
    assert written(capsys, log, plan, "--html", str(tmp_path / "page.html")) == ""
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert html.escape(name.replace("\x1b", " ")) in page and "<script" not in page
    markdown = written(capsys, log, plan)
    assert r"\<script\>" in markdown and r"[x\](http" in markdown and "\x1b" not in markdown


class Read(HTMLParser):
    """The elements of a page, and the text of its cells of data."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements, self.cells = set[str](), list[str]()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.add(tag)
        if tag == "td":
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


@given(st.text() | st.text("\\`*_<>|&~[]()!#;:/\"'-+=.x1 \n"))
@example("<script>alert(1)</script>")
@example("\\|x")
@example("![x](http://a.example)[1]: http://a.example")
@example("https://a.example <https://a.example> &amp; &#60;")
def test_any_value_is_a_cell_of_plain_text_on_the_page(value: str) -> None:
    found = Read(as_html(f"| value | next |\n| --- | --- |\n| {as_plain(value)} | next |\n"))
    frame = {"html", "head", "meta", "title", "style", "body"}
    assert found.elements - frame == {"table", "thead", "tbody", "tr", "th", "td"}
    printed = "".join(each if each.isprintable() else " " for each in value)
    assert [cell.strip() for cell in found.cells] == [printed.strip(), "next"]


def test_a_log_without_marked_texts_leaves_the_watermark_open(
    tmp_path: Path, plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = written(capsys, log_of(tmp_path / "none.log", marked=0, plain=2), plan)
    told = {name.split(" (")[0]: cells for name, *cells in rows(page, "Measure by measure")}
    state, shows, remains = told["An imperceptible watermark in free-form text of more than 200 tokens"]
    assert re.fullmatch(r"Texts that were to be marked: 0 \[\d+\]\. Texts that were not: 2 \[.*\(2 \[.*\)\.", shows)
    assert state == "open" and remains.endswith("No marked text is in the log.")
    assert [told[name][0] for name in ("Robust against common changes", "Information about provenance")] == ["open"] * 2


def test_without_what_makes_pages_the_command_says_what_to_install(
    log: Path, plan: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    monkeypatch.delitem(sys.modules, "ctwl_operations.compliance.page")
    assert main(["compliance", "--log", str(log), "--plan", str(plan)]) == 2
    assert "pip install 'ctwl-encoder[plan]'" in capsys.readouterr().err


@pytest.mark.parametrize("given", [b"", b"{", b"[]", b"{}", b'{"rows": []}', b'{"rows": [{"name": "race"}]}'])
def test_what_is_no_plan_fails(given: bytes, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plan.json").write_bytes(given)
    assert main(["compliance", "--log", str(log), "--plan", str(tmp_path / "plan.json")]) == 2
    assert "option-out-of-range" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("place", "value"),
    [("/rows/{}/name", ""), ("/settings/sampling", 7), ("/rows/{}/effect/found/successes", "5"),
     ("/rows/{}/effect/found/trials", None)],
)  # fmt: skip
def test_a_plan_with_a_value_of_another_kind_fails(
    place: str, value: Any, log: Path, plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = json.loads(plan.read_text(encoding="utf-8"))
    taken = [row["name"] for row in changed["rows"]].index("race 0.8")
    inside, _, name = place.format(taken).rpartition("/")
    at(changed, inside)[name] = value
    plan.write_text(json.dumps(changed), encoding="utf-8")
    status, said = main(["compliance", "--log", str(log), "--plan", str(plan)]), capsys.readouterr()
    assert "Traceback" not in said.err
    assert (status, said.err.count("option-out-of-range")) in ((0, 0), (2, 1))


def test_unreadable_files_are_errors(log: Path, plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["--log", str(tmp_path / "none"), "--plan", str(plan)],
        ["--log", str(plan), "--plan", str(plan)],
        ["--log", "-", "--plan", str(plan)],
        ["--log", str(log), "--plan", str(tmp_path / "none")],
        ["--log", str(log), "--plan", str(plan), "--html", str(tmp_path / "no" / "page.html")],
    ):
        assert main(["compliance", *words]) == 2
        assert "ctwl-encode compliance: " in capsys.readouterr().err

"""The pages show what the results say, and every experiment that they name is there."""

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from evaluation import report
from evaluation.__main__ import QUESTIONS
from evaluation.plots import draw_all
from evaluation.reading.kinds import LEVELS
from evaluation.report import PAGES, OtherLevel, filled, rendered
from evaluation.shared.experiment import ROOT
from evaluation.shared.outcomes import LEVEL


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_figures_are_those_of_the_results(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert rendered(text) == text


def test_results_of_another_level_are_refused_and_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another default needs the experiments anew; times do not depend on it."""
    other = 2 * report.FIRST_LEVEL
    for name, settings in {"models": {}, "plan": {"level": other}, "gpu": {}}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"settings": settings}))
    monkeypatch.setattr(report, "LEVEL", other)
    with pytest.raises(OtherLevel, match=rf"another one: models at {report.FIRST_LEVEL:g}\. .*make evaluation"):
        filled("kinds", tmp_path)
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    assert report.main(["--check"]) == 1


def test_every_template_has_a_page() -> None:
    shown = {name for page in PAGES for name in re.findall(r"<!-- end ([\w-]+) -->", page.read_text(encoding="utf-8"))}
    assert shown == {file.name.removesuffix(".md.j2") for file in (ROOT / "evaluation" / "pages").glob("*.md.j2")}


def test_a_page_of_no_results_has_no_sections(tmp_path: Path) -> None:
    assert "".join(filled(f"results-{question}", tmp_path) for question in QUESTIONS).strip() == ""
    assert draw_all(tmp_path) == []


def test_kinds_are_counted_and_those_with_small_p_values_named(tmp_path: Path) -> None:
    assert "python -m evaluation.reading.kinds" in filled("kinds", tmp_path)
    levels = [f"{level:g}" for level in LEVELS]

    def row(kind: str, p: float) -> dict[str, object]:
        return {"kind": kind, "beacon": [742, 6], "p": [p] * 40} | {f"found at {level}": 3 for level in levels}

    total = {level: {"p": 12, "found": 3, "kinds with one found": 1} for level in levels}
    rows = [row("whole numbers", 1e-5), row("letters", 0.5)]
    found = {
        "settings": {"fitted": 8, "date": "2026-11-27", "level": LEVEL},
        "kinds": 2,
        "readings": [{"way": "light", "tokens": 2000, "kinds": 30, "texts": 1200, "totals": total, "rows": rows}],
    }
    (tmp_path / "kinds.json").write_text(json.dumps(found))
    by_chance = f"12.0; 1.2; {1200 * LEVEL:.1f}"
    assert f"| ranks | 2,000 | 30 | 1,200 | {by_chance} | 12; 12; 12 | 3; 3; 3 | 1; 1; 1 |" in filled("kinds", tmp_path)
    section = filled("results-reading", tmp_path)
    assert "| ranks | 2,000 | whole numbers (742:6): 40, 3 |" in section


def test_every_experiment_that_a_file_cites_is_there() -> None:
    files = [*ROOT.glob("*.md"), ROOT / "Makefile", ROOT / "mkdocs.yml"]
    for folder in ("docs", "spec", "tools", "packages", "rooms", "evaluation"):
        files += [file for kind in ("md", "py", "j2") for file in (ROOT / folder).rglob(f"*.{kind}")]
    for file in (file for file in files if not {"kept", "node_modules"} & set(file.parts)):
        text = file.read_text(encoding="utf-8")
        for cited in re.findall(r"evaluation/[\w/]+\.\w+", text):
            assert (ROOT / cited).exists() or "/results/" in cited, (file, cited)
        for module in re.findall(r"python -m (evaluation(?:\.\w+)*)", text):
            assert find_spec(module), (file, module)

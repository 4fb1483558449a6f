"""The pages show what the results say, and every experiment that they name is there."""

import re
from pathlib import Path

import pytest
from plots import draw_all
from report import PAGES, ROOT, filled, rendered


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_figures_are_those_of_the_results(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert rendered(text) == text


def test_every_template_has_a_page() -> None:
    shown = {name for page in PAGES for name in re.findall(r"<!-- end ([\w-]+) -->", page.read_text(encoding="utf-8"))}
    assert shown == {file.name.removesuffix(".md.j2") for file in (ROOT / "evaluation" / "pages").glob("*.md.j2")}


def test_a_page_of_no_results_has_no_sections(tmp_path: Path) -> None:
    assert filled("results", tmp_path).strip() == ""
    assert draw_all(tmp_path) == []


def test_every_experiment_that_a_file_cites_is_there() -> None:
    files = [*ROOT.glob("*.md"), *ROOT.glob("*/README.md"), *ROOT.glob("packages/*/README.md"), ROOT / "Makefile"]
    files += ROOT.glob("docs/**/*.md")
    for file in [*files, *ROOT.glob("packages/*/src/**/*.py"), *ROOT.glob("evaluation/*.py"), *ROOT.glob("tools/*.py")]:
        for command in re.findall(r"evaluation/\w+\.py", file.read_text(encoding="utf-8")):
            assert (ROOT / command).exists(), (file, command)

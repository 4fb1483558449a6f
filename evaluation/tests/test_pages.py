"""The pages show what the results say, and every link in them leads somewhere."""

import re
from pathlib import Path

import pytest
from report import PAGES, ROOT, rendered


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_figures_are_those_of_the_results(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert rendered(text) == text


def test_relative_links_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("*/README.md"), *ROOT.glob("packages/*/README.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), (page, target)

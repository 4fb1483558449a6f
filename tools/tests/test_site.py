"""The documentation: its pages, links, figures and tables. Nothing here needs MkDocs; ``make site`` builds the site."""

import json
import re
from pathlib import Path

import diagrams
import docs_site
import figures
import help_page
import pytest
import yaml
from distributions import SOURCES
from docs_site import DOCS, FORGE, ROOT, pages, rewritten, slug

from ctwl_decoder.words import say
from ctwl_protocol.numbers import NUMBERS

MARKDOWN = [page for page in sorted(ROOT.rglob("*.md")) if not re.search(r"/(\.venv|node_modules|site/)", str(page))]
PAGES = [ROOT / page for page in pages()]
FACT = r"<!-- (fact )?([\w-]+) -->.*?<!-- end( \2)? -->"
FENCE = re.compile(r"^( *)(```+).*?^\1\2 *$", re.M | re.S)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


class Loader(yaml.SafeLoader):  # type: ignore[misc]  # yaml has no types
    """Reads mkdocs.yml, which names functions of Python, without loading them."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)


CONFIG = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)


def navigation() -> list[str]:
    """Every page that the navigation names, as a path in the repository."""
    return [docs_site.in_repository(leaf) for leaf in docs_site._leaves(docs_site.with_folders(CONFIG["nav"]))]


def anchors(page: Path) -> set[str]:
    found = set[str]()
    for _, heading in re.findall(r"^(#+) +(.+?) *#*$", FENCE.sub("", page.read_text(encoding="utf-8")), re.M):
        name = slug(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading))
        found.add(name if name not in found else f"{name}-1")
    return found


def test_every_page_is_in_the_navigation_once() -> None:
    assert sorted(navigation()) == sorted(pages())


@pytest.mark.parametrize("page", MARKDOWN, ids=name_of)
def test_links_and_anchors_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), target


def test_links_are_rewritten_to_pages_or_to_the_forge() -> None:
    text = rewritten("[a](../spec/README.md#14-conformance) [b](../tools/fuzz.py) [d](../spec)", f"{DOCS}index.md")
    assert text == f"[a](spec/README.md#14-conformance) [b]({FORGE}/blob/main/tools/fuzz.py) [d](spec/README.md)"
    assert rewritten("[e](docs/limits.md#edits)", "GLOSSARY.md") == "[e](limits.md#edits)"
    assert rewritten("[f](../conformance-tests)", "spec/README.md") == "[f](../conformance-tests/README.md)"
    code = "```\n[g](../tools/fuzz.py)\n```\n"
    assert rewritten(code, f"{DOCS}index.md") == code


MEASURED = re.compile(r"\b\d[\d,]* of \d|\d(?:\.\d+)? ?%|\d[\d.]*e-\d|\b\d+\.\d+ (?:s|ms|nats)\b|\b\d+ (?:MB|MiB|ms)\b")
LEVEL = f"{NUMBERS.search.level:.0e}".replace("e-0", "e-")
STATED = re.compile(rf"p <= {LEVEL}|540 MB|alpha` \({LEVEL}\)|95 %|\b1e-9\b")
"""A level, a kind of interval, or the size of a file is no measurement."""


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted((ROOT / DOCS).rglob("*.md"))], ids=name_of)
def test_a_measured_number_stands_in_a_block_that_a_command_writes(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    text = re.sub(r"<!-- ([\w-]+) -->\n.*?<!-- end \1 -->", "", text, flags=re.S)
    assert MEASURED.findall(STATED.sub("", text)) == []


def test_every_environment_variable_is_in_the_table() -> None:
    table = (ROOT / DOCS / "reference" / "environment.md").read_text(encoding="utf-8")
    sources = [*(file for each in SOURCES for file in each.rglob("*.py")), *ROOT.glob("packages/*/test/*.js")]
    read = {name for file in sources for name in re.findall(r"\bCTWL_[A-Z]+\b", file.read_text(encoding="utf-8"))}
    assert read
    assert {name for name in read if f"`{name}`" not in table} == set()


def test_no_page_quotes_a_verdict_by_hand() -> None:
    for page in PAGES:
        text = re.sub(FACT, "", page.read_text(encoding="utf-8"), flags=re.S)
        assert not any(say(verdict) in text for verdict in ("found-whole", "none", "short", "forgeable")), page


def words(text: str) -> list[str]:
    """The words of a page of help, without its usage lines: versions of Python break lines in other places."""
    return re.sub(r"usage: .*?\n\n", "", text, flags=re.S).split()


def test_the_page_of_commands_is_what_they_print() -> None:
    assert words(help_page.PAGE.read_text(encoding="utf-8")) == words(help_page.page())


def test_the_figures_are_drawn_from_the_example(tmp_path: Path) -> None:
    example = json.loads(figures.EXAMPLE.read_text(encoding="utf-8"))
    figures.draw(example, tmp_path)
    diagrams.draw(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {file.name for file in figures.FIGURES.iterdir()}
    for drawn in tmp_path.iterdir():
        kept = (figures.FIGURES / drawn.name).read_text(encoding="utf-8")
        seen = [re.findall(r">([^<>]+)</text>", text) for text in (kept, drawn.read_text(encoding="utf-8"))]
        assert seen[0] == seen[1], drawn.name
        assert drawn.stem not in diagrams.DIAGRAMS or kept == drawn.read_text(encoding="utf-8"), drawn.name
    assert "".join(token["text"] for token in example["tokens"]) == example["text"]


def test_figures_load_nothing_from_elsewhere() -> None:
    for file in figures.FIGURES.iterdir():
        text = file.read_text(encoding="utf-8")
        assert not re.findall(r"(?:href|src)=.https?:|url\(.?https?:|@import", text), file.name


def test_a_page_of_the_site_loads_nothing_from_elsewhere() -> None:
    """The theme would fetch fonts, the script that draws diagrams, and the numbers of a repository that it knows."""
    assert CONFIG["theme"]["font"] is False and "repo_url" not in CONFIG
    assert [name_of(page) for page in PAGES if "```mermaid" in page.read_text(encoding="utf-8")] == []

"""The documentation site: which files of the repository are its pages, and how links between them are rewritten.

MkDocs loads this module as a hook (``mkdocs.yml``). The pages of the site are the files of ``docs/`` and some Markdown
files that stay where forges and package indexes look for them. All of them link to each other as files of the
repository, so the links work on a forge too. A link to a file that is no page of the site leads to the forge.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = "docs/"
FORGE = "https://github.com/ctwl-protocol/ctwl"
ELSEWHERE = (
    "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "GLOSSARY.md", "SECURITY.md", "conformance-tests/README.md",
    "conformance-tests/ADAPTERS.md", "conformance-tests/independent/README.md", "evaluation/README.md",
    "evaluation/RESULTS.md",
)  # fmt: skip
"""Pages of the site outside ``docs/``, beside those of the specification."""

SPEC = "spec/"
SPEC_ORDER = (
    "README",
    "core",
    "reader",
    "profiles",
    "encoder",
    "records",
    "registry",
    "private",
    "asking",
    "rationale",
)
"""The parts of the specification in the order of the navigation; a part that is not named here comes last."""

_FENCE = re.compile(r"^( *)(```+|~~~+).*?^\1\2 *$", re.M | re.S)
_ROLE = re.compile(r":(?:attr|class|data|exc|func|meth|mod):<code>")
_LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)\s#]+)")


def spec_parts() -> list[str]:
    """The parts of the specification that are there, as paths in the repository."""
    names = [file.stem for file in (ROOT / SPEC).glob("*.md")]
    known = [name for name in SPEC_ORDER if name in names]
    return [f"{SPEC}{name}.md" for name in [*known, *sorted(set(names) - set(known))]]


def included() -> list[str]:
    """All files outside ``docs/`` that the site has: pages, and the figures that they show."""
    figures = (ROOT / "evaluation" / "figures").glob("*.svg")
    return [*spec_parts(), *ELSEWHERE, *(file.relative_to(ROOT).as_posix() for file in sorted(figures))]


def pages() -> list[str]:
    """Every page of the site, as a path in the repository."""
    own = (file.relative_to(ROOT).as_posix() for file in sorted((ROOT / DOCS).rglob("*.md")))
    return [*own, *(file for file in included() if file.endswith(".md"))]


def slug(heading: str, _separator: str = "-") -> str:
    """The anchor of a heading, as GitHub makes it, so that a link holds on the site and on the forge."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def outside_code(markdown: str, change: Callable[[str], str]) -> str:
    """Change a page's text, but not its fenced code."""
    parts, end = list[str](), 0
    for fence in _FENCE.finditer(markdown):
        parts += [change(markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(markdown[end:])])


def rewritten(markdown: str, page: str) -> str:
    """A page whose links lead to pages of the site, and to the forge where the site has none.

    Args:
        markdown: the page.
        page: its path in the repository.
    """
    known = {*pages(), *included()}

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), found[2]))
        if (readme := f"{target}/README.md") in known:
            target = readme
        if target in known or target.startswith(DOCS):
            return found[1] + posixpath.relpath(_in_site(target), posixpath.dirname(_in_site(page)) or ".")
        kind = "tree" if (ROOT / target).is_dir() else "blob"
        return f"{found[1]}{FORGE}/{kind}/main/{target}" if (ROOT / target).exists() else found[0]

    return outside_code(markdown, lambda text: _LINK.sub(link, text))


def _in_site(path: str) -> str:
    return path.removeprefix(DOCS)


def in_repository(uri: str) -> str:
    """The path in the repository of a page that MkDocs knows by this name."""
    return uri if uri in included() else DOCS + uri


def with_folders(nav: list[Any]) -> list[Any]:
    """The navigation, with pages in place of a folder: the specification's parts, or what else the folder has."""
    named = set(_leaves(nav))

    def pages_of(folder: str) -> list[str]:
        if folder == SPEC:
            return spec_parts()
        found = (_in_site(page) for page in pages())
        return [page for page in found if posixpath.dirname(page) == folder.rstrip("/") and page not in named]

    def expanded(entry: Any) -> list[Any]:
        if isinstance(entry, dict):
            return [{name: with_pages(value) if isinstance(value, list) else value for name, value in entry.items()}]
        return pages_of(entry) if entry.endswith("/") else [entry]

    def with_pages(entries: list[Any]) -> list[Any]:
        return [page for entry in entries for page in expanded(entry)]

    return with_pages(nav)


def _leaves(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for each in nav.values() if isinstance(nav, dict) else nav:
            yield from _leaves(each)


def on_config(config: Any) -> Any:
    """MkDocs: put the pages of folders into the navigation, and make anchors as the forge does."""
    config.nav = with_folders(config.nav)
    config.mdx_configs.setdefault("toc", {})["slugify"] = slug
    return config


def on_files(files: Any, config: Any) -> Any:
    """MkDocs: add the pages outside ``docs/``."""
    from mkdocs.structure.files import File

    for path in included():
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """MkDocs: rewrite a page's links."""
    return rewritten(markdown, in_repository(page.file.src_uri))


def on_page_content(html: str, **_: Any) -> str:
    """MkDocs: docstrings name other objects by Sphinx's roles, of which Markdown knows nothing."""
    return _ROLE.sub("<code>", html)

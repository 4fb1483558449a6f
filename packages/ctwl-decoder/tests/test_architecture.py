"""What ARCHITECTURE.md says of the imports, and of where things are."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from distributions import SOURCES

PAGE = Path(__file__).parents[3] / "ARCHITECTURE.md"
PACKAGES = ("ctwl_protocol", "ctwl_encoder", "ctwl_decoder", "ctwl_conformance")
ROOMS = [source.name for source in SOURCES if source.name not in PACKAGES]


def modules() -> dict[str, Path]:
    """The modules of the installed packages, by name."""
    found = {}
    for package in (*PACKAGES, *ROOMS):
        spec = importlib.util.find_spec(package)
        assert spec is not None and spec.submodule_search_locations
        root = Path(spec.submodule_search_locations[0])
        for path in root.rglob("*.py"):
            parts = path.relative_to(root.parent).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules of ours that a module imports anywhere, for types too."""
    base = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            above = base[: len(base) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                if inner in known:
                    yield inner
                elif module in known and module != name:
                    yield module


def test_no_two_modules_import_each_other() -> None:
    known = modules()
    graph = {name: set(imports(name, path, known)) for name, path in known.items()}
    assert len(graph) > 100 and sum(map(len, graph.values())) > 400
    for package in (*PACKAGES, *ROOMS):  # an __init__ re-exports its modules, which name it for its version
        graph[package] = set()
    tuple(TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_depend_on_the_protocol_and_not_on_each_other(package: str) -> None:
    allowed = {
        "ctwl_protocol": {"ctwl_protocol"},
        "ctwl_encoder": {"ctwl_protocol", "ctwl_encoder", "ctwl_decoder"},  # relays and plan read texts
        "ctwl_decoder": {"ctwl_protocol", "ctwl_decoder"},
        "ctwl_conformance": {*PACKAGES, "ctwl_operations"},  # proofs
    }[package]
    known = modules()
    used = {
        other.split(".")[0]
        for name, path in known.items()
        if name.split(".")[0] == package
        for other in imports(name, path, known)
    }
    assert used <= allowed


@pytest.mark.skipif(not PAGE.exists(), reason="the page is in the repository, not in the wheel")
def test_every_file_that_the_page_names_is_there() -> None:
    page = PAGE.read_text(encoding="utf-8")
    named = {name for name in re.findall(r"`([\w./-]+(?:\.(?:py|js|json|md|toml)|/))`", page) if "NAME" not in name}
    folders = ("packages", "rooms", "spec", "conformance-tests", "evaluation", "docs", "tools")
    known = {f"/{path.name}" for path in PAGE.parent.glob("*")} | {
        f"/{path.relative_to(PAGE.parent)}" for folder in folders for path in (PAGE.parent / folder).rglob("*")
    }
    assert len(named) > 30
    assert [name for name in named if not any(path.endswith(f"/{name.rstrip('/')}") for path in known)] == []

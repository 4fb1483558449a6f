"""The core does without the rooms, and the rooms with the core's public names."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from types import ModuleType

import pytest
from distributions import ROOT, SOURCES

PUBLIC = {
    "ctwl_protocol": ["asking", "bridge", "canonical", "command", "environment", "errors", "files", "numbers",
                      "profile", "profile.document", "profile.private", "proxy", "records", "registry", "schema",
                      "text.splitting"],
    "ctwl_encoder": ["arguments", "errors", "options"],
    "ctwl_decoder": ["errors", "files", "kinds", "options", "report", "report.html", "words"],
    "ctwl_documents": ["html"],
    "ctwl_engines": ["engine"],
}  # fmt: skip
"""The public modules of each package, beside the package itself: what is built on it may import their names."""

ROOMS = [source for source in SOURCES if source.is_relative_to(ROOT / "rooms")]


def imports(package: Path) -> Iterator[tuple[str, str, str]]:
    """What the modules of a package import of other packages of ours: the file, the module, the name."""
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found = [(alias.name, "") for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found = [(str(node.module), alias.name) for alias in node.names]
            else:
                continue
            where = path.relative_to(ROOT).as_posix()
            for module, name in found:
                if module.startswith("ctwl_") and module.partition(".")[0] != package.name:
                    yield where, module, name


def is_public(module: str, name: str) -> bool:
    """Whether a module has a name for others, which is no private module."""
    package, _, inner = module.partition(".")
    if f"{inner}.{name}".lstrip(".") in PUBLIC[package]:
        return True
    if inner and inner not in PUBLIC[package]:
        return False
    there = importlib.import_module(module)
    if hasattr(there, "__all__"):
        return name in (*there.__all__, "__version__")
    return not name.startswith("_") and not isinstance(getattr(there, name or "__name__"), ModuleType)


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_room_imports_public_names_alone(room: Path) -> None:
    private = [(where, module, name) for where, module, name in imports(room) if not is_public(module, name)]
    assert private == []


def test_the_core_imports_no_room() -> None:
    rooms = {room.name for room in ROOMS}
    core = [source for source in SOURCES if source.is_relative_to(ROOT / "packages")]
    assert len(rooms) >= 4 and len(core) >= 3
    assert [found for package in core for found in imports(package) if found[1].partition(".")[0] in rooms] == []


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_room_requires_what_it_imports(room: Path) -> None:
    project = tomllib.loads((room.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *chain(*project.get("optional-dependencies", {}).values())]
    required = {re.split(r"[\[=<>]", each)[0].replace("-", "_") for each in wanted}
    imported = {module.partition(".")[0] for _, module, _ in imports(room)}
    assert imported - {"ctwl_protocol"} <= required

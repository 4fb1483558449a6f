"""The way of the imports: the folder of a question imports itself and what all share, which imports no question."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluation.__main__ import QUESTIONS
from evaluation.shared.experiment import RESULTS

FOLDERS = {folder: RESULTS.parent / folder for folder in (*QUESTIONS, "shared")}


def imported(module: Path) -> Iterator[str]:
    """The modules of ours that a module imports, as paths in the package."""
    parts = module.relative_to(RESULTS.parent).parent.parts
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        assert not isinstance(node, ast.Import) or all(not each.name.startswith("evaluation") for each in node.names)
        if isinstance(node, ast.ImportFrom) and node.level:
            base = parts[: len(parts) - node.level + 1]
            yield "/".join([*base, *(node.module or "").split(".")])


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_imports_itself_and_what_all_share(folder: str) -> None:
    modules = sorted(FOLDERS[folder].glob("*.py"))
    assert len(modules) > 3
    for module in modules:
        assert {path.split("/")[0] for path in imported(module)} <= {folder, "shared"}, module

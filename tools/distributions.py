"""The distributions of the repository: the core in packages/, what is built on it in rooms/, and the suite.

python tools/distributions.py           # what pip takes to install all of them from here
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_PROJECTS = ("packages/*/pyproject.toml", "rooms/*/pyproject.toml", "conformance-tests/pyproject.toml")
FOLDERS = sorted(file.parent for pattern in _PROJECTS for file in ROOT.glob(pattern))
"""Their folders."""

SOURCES = sorted(package for folder in FOLDERS for package in folder.glob("src/ctwl_*") if package.is_dir())
"""The folders of their modules, each called like the package that is imported."""

if __name__ == "__main__":
    print(" ".join(f"-e ./{folder.relative_to(ROOT).as_posix()}" for folder in FOLDERS))

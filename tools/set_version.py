"""Give all packages another version: ``python tools/set_version.py 1.2.0rc1``.

The home of the version is ``ctwl_protocol.__version__``. Packages for Python take it from there when they are built.
This writes it where it cannot be taken: where packages pin each other, in the packages for Node, and on the page that
names a wheel's file.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from distributions import FOLDERS, ROOT

from ctwl_protocol import __version__

PYTHON = [
    "packages/ctwl-protocol/src/ctwl_protocol/__init__.py", "docs/verify.md",
    *(f"{folder.relative_to(ROOT)}/pyproject.toml" for folder in FOLDERS if folder.name != "ctwl-protocol"),
]  # fmt: skip
"""Files that have the version as Python writes it."""

NODE = (
    "packages/ctwl-web/package.json", "conformance-tests/independent/package.json",
    "conformance-tests/independent/adapter.js",
)  # fmt: skip
"""Files that have it as npm writes it."""

_FORM = re.compile(r"(\d+\.\d+\.\d+)(?:(a|b|rc)(\d+))?")


def for_node(version: str) -> str:
    """A version as npm writes it: ``1.2.0rc1`` is ``1.2.0-rc.1``.

    Raises:
        ValueError: it is no version of three numbers, or has more behind them than ``a``, ``b`` or ``rc`` and a number.
    """
    found = _FORM.fullmatch(version)
    if not found:
        raise ValueError(f"{version} is no version such as 1.2.0 or 1.2.0rc1")
    return f"{found[1]}-{found[2]}.{found[3]}" if found[2] else found[1]


def changed(old: str, new: str) -> dict[Path, str]:
    """The files with the new version, by their paths.

    Raises:
        ValueError: see :func:`for_node`, or a file does not have the old version.
    """
    found = {}
    for names, before, after in ((PYTHON, old, new), (NODE, for_node(old), for_node(new))):
        for name in names:
            text = (ROOT / name).read_text(encoding="utf-8")
            if before not in text:
                raise ValueError(f"{name} does not have {before}")
            found[ROOT / name] = text.replace(before, after)
    return found


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for file, text in changed(__version__, sys.argv[1]).items():
        file.write_text(text, encoding="utf-8", newline="\n")

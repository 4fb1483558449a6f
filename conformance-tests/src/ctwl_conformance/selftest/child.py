"""A process of a changed reference, run as a script: it imports nothing of the reference before the change is in place.

``python child.py JSON``: ``{"mutation": {"module", "start", "end", "new"} or null, "task": "serve" or "check", ...}``.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tempfile
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any


def main(told: dict[str, Any]) -> int:
    """Put the change in place, then do the task."""
    if told["mutation"] is not None:
        _change(**told["mutation"])
    # Compiled kernels are cached by their own source: what they take from a changed module must not be kept.
    with tempfile.TemporaryDirectory(prefix="ctwl-selftest-") as folder:
        if told["isolated"]:
            os.environ["NUMBA_CACHE_DIR"] = folder
        return _work(told)


def _change(module: str, start: int, end: int, new: str) -> None:
    """From now on a module is imported with one place of its source replaced, whatever Python has in its cache."""
    unchanged = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
        if fullname != module:
            return unchanged(loader, fullname)
        source = importlib.util.decode_source(loader.get_data(loader.path))
        return loader.source_to_code((source[:start] + new + source[end:]).encode(), loader.path)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]


def _work(told: dict[str, Any]) -> int:
    if told["task"] == "serve":
        from ctwl_conformance.selftest.faults import serve_faulty

        return serve_faulty(told["role"], told["fault"])
    from ctwl_conformance.selftest.constants import first_difference

    print(json.dumps(first_difference(json.load(sys.stdin))))
    return 0


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))

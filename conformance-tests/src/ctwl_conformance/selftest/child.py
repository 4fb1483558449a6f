"""A process of a changed reference: run as a script, so that nothing of it is imported before the change is in place.

``python child.py JSON``: ``{"mutation": {"module", "start", "end", "new"} or null, "task": "serve" or "check", ...}``.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any


class _Changed(SourceFileLoader):
    """Loads a module with one place of its source replaced."""

    def __init__(self, fullname: str, path: str, mutation: dict[str, Any]) -> None:
        super().__init__(fullname, path)
        self._mutation = mutation

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        source = importlib.util.decode_source(self.get_data(self.path))
        start, end, new = (self._mutation[name] for name in ("start", "end", "new"))
        return self.source_to_code((source[:start] + new + source[end:]).encode(), self.path)


class _Finder(MetaPathFinder):
    def __init__(self, mutation: dict[str, Any]) -> None:
        self._mutation = mutation

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._mutation["module"]:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None:
            return None
        spec.loader = _Changed(fullname, spec.origin, self._mutation)
        spec.cached = None
        return spec


def main(told: dict[str, Any]) -> int:
    """Put the change in place, then do the task."""
    if told["mutation"] is not None:
        sys.meta_path.insert(0, _Finder(told["mutation"]))
        sys.dont_write_bytecode = True
    if not told["isolated"]:
        return work(told)
    # Compiled kernels are cached by their own source: what they take from a changed module must not be kept.
    with tempfile.TemporaryDirectory(prefix="ctwl-selftest-") as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        return work(told)


def work(told: dict[str, Any]) -> int:
    """The task."""
    if told["task"] == "serve":
        from ctwl_conformance.selftest.faults import serve_faulty

        return serve_faulty(told["role"], told["fault"])
    from ctwl_conformance.selftest.mutations import first_difference

    print(json.dumps(first_difference(json.load(sys.stdin))))
    return 0


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))

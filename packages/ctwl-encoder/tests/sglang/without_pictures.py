"""Stands in for torchvision, which prepares pictures: SGLang imports it, and there is no build for a CPU's torch."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from typing import Any


class _Pictures(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules of torchvision; each has whatever is asked for, and nothing works."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        own = name.split(".", maxsplit=1)[0] == "torchvision"
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if own else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


class _Module(types.ModuleType):
    __version__ = "0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__getattr__": lambda *_: None})


if importlib.util.find_spec("torchvision") is None:
    sys.meta_path.append(_Pictures())

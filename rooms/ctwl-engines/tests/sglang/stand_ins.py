"""Stands in for what SGLang's modules import and these tests do not use.

That is torchvision, which prepares pictures and has no build for a CPU's torch; and on a GPU, where SGLang asks for
them, kernels that are compiled for one release of torch. What is installed is imported as it is.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from typing import Any

import torch

KERNELS = (
    "cuda_mathdx", "cutlass", "deep_ep", "deep_gemm", "flash_attn", "flash_attn_4", "flash_mla", "flashinfer",
    "humming", "kernels", "quack", "sgl_deep_gemm", "sgl_kernel", "tilelang", "torch_memory_saver",
)  # fmt: skip
"""What a GPU's SGLang asks for."""


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of what is absent; each has whatever is asked for, and nothing works."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._absent = [name for name in names if importlib.util.find_spec(name) is None]

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        own = name.partition(".")[0] in self._absent
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if own else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


class _Anything(type):
    """A class that has whatever is asked for, and stands in a union of types."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything(name, (), {})

    def __or__(cls, other: Any) -> Any:
        return cls

    __ror__ = __or__


class _Module(types.ModuleType):
    __version__ = "0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything(name, (), {"__getattr__": lambda *_: None})


sys.meta_path.append(_Finder(("torchvision", *(KERNELS if torch.cuda.is_available() else ()))))

"""A broken reference: what is wrong with it is in place before anything takes a name from another module.

``python broken.py FAULT`` is an adapter with a fault, ``python broken.py "no fault" ROLE`` one without.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Mapping
from functools import reduce
from importlib.machinery import SourceFileLoader
from inspect import getattr_static
from types import ModuleType
from typing import Any

from faults import FAULTS


def put_in_place(changes: Mapping[str, Callable[[Any], Any]]) -> None:
    """From now on, names are replaced as soon as their module was loaded.

    Args:
        changes: from ``module:name`` or ``module:Class.name`` to what makes the new of the old.
    """
    load = SourceFileLoader.exec_module

    def exec_module(loader: SourceFileLoader, module: ModuleType) -> None:
        load(loader, module)
        for place, change in changes.items():
            where, _, name = place.partition(":")
            if where == module.__name__:
                replace(module, name, change)

    SourceFileLoader.exec_module = exec_module  # type: ignore[method-assign]


def replace(module: ModuleType, name: str, change: Callable[[Any], Any]) -> None:
    """Replace one name of a module, or of a class in it."""
    *parents, last = name.split(".")
    owner = reduce(getattr, parents, module)
    new = change(getattr(owner, last, getattr(builtins, last, None)))
    bound = isinstance(getattr_static(owner, last, None), classmethod)
    setattr(owner, last, staticmethod(new) if bound else new)


def main(name: str, role: str = "") -> int:
    """Serve the reference with a fault."""
    if name in FAULTS:
        put_in_place(FAULTS[name].places)
        role = FAULTS[name].role
    from ctwl_conformance.adapter.reference import ReferenceDecoder, ReferenceRegistryClient, ToyEncoder
    from ctwl_conformance.adapter.serving import serve

    return serve(
        {"decoder": ReferenceDecoder, "encoder": ToyEncoder, "registry-client": ReferenceRegistryClient}[role]()
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""What opens each kind of file: a module for each family, each of which names its kinds by :func:`opens`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import TypeAlias, TypeVar

from ..budget import Budget
from ..found import Member

Opened: TypeAlias = str | tuple[str, list[Member]] | Iterator[Member]
"""The words in a file; or these, and files that are a part of them or missing in them, and texts of their own; or the
files in it."""

Opener: TypeAlias = Callable[[bytes, Budget], Opened]

OPENERS: dict[str, Opener] = {}
"""What opens a kind, by the kind's name."""


_Opener = TypeVar("_Opener", bound=Opener)


def opens(name: str) -> Callable[[_Opener], _Opener]:
    """Say of a function that it opens the kind of this name."""

    def named(opener: _Opener) -> _Opener:
        OPENERS[name] = opener
        return opener

    return named


for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

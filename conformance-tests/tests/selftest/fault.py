"""What a fault is: names of the reference that stand for something else, and the cases that must see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["BOTH", "Change", "Fault", "after", "instead"]

Change = Callable[[Any], Any]
"""From what a name stands for to what it stands for instead."""

BOTH = "decode{,-light}/"
"""Texts that are read by the weights, and by the ranks alone."""

_PACKAGES = {"p": "ctwl_protocol", "d": "ctwl_decoder", "c": "ctwl_conformance"}


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with an implementation.

    Attributes:
        name: a few words.
        seen_by: ``family`` or ``family/vector`` with wildcards, or ``=id`` for other cases. Each must see it by itself.
        changes: what is replaced, by module and name, such as ``p.hashing:GOLDEN``.
        role: what it is driven as.
        leads_to: what becomes of the cases.
    """

    name: str
    seen_by: str
    changes: Mapping[str, Change]
    role: str = "decoder"
    leads_to: str = "failed"

    @property
    def patterns(self) -> list[str]:
        """Patterns of the ids of cases."""
        words = [
            word.replace("{,-light}", light)
            for word in self.seen_by.split()
            for light in ([""] if "{" not in word else ["", "-light"])
        ]
        return [word[1:] if word[0] == "=" else f"vector/{word}{'' if '/' in word else '/*'}/*" for word in words]

    @property
    def places(self) -> dict[str, Change]:
        """What is replaced, by the full name of a module and a name in it."""
        return {_PACKAGES[place[0]] + place[1:]: change for place, change in self.changes.items()}


def instead(value: Any) -> Change:
    """Something else."""
    return lambda _: value


def after(change: Callable[..., Any]) -> Change:
    """What comes back is changed, in view of what was given."""
    return lambda f: lambda *given, **named: change(f(*given, **named), *given, **named)

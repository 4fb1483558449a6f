"""Strategies: how a model's distribution is changed so that tokens of ``V`` are preferred (spec section 8).

A strategy is a name here and a folder with its row of traits; in it ``reference`` is in NumPy, ``plain`` in torch, and
``kernel``, where there is one, in Triton for GPUs. Tests hold the three equal. ``expected`` has a function ``nats``,
which says how much evidence the marks are. The decoder is the same for all.

Where a strategy keeps the distribution, ``reference`` has a function ``gained``, and ``plain`` and ``kernel`` have a
function ``mark``. Where it does not, ``plain`` has a class ``Mark`` instead, made once for each marker: it asks the
proxy LM, and remembers what it said.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .traits import Traits


class Strategy(StrEnum):
    """The strategies by name; their traits say what each does."""

    RACE = "race"
    DELTA = "delta"

    @property
    def traits(self) -> Traits:
        """What tells it from other strategies."""
        return _TRAITS[self]

    @property
    def keeps_distribution(self) -> bool:
        """Whether it keeps the model's own distribution on average."""
        return self.traits.keeps_distribution


_TRAITS: dict[Strategy, Traits] = {strategy: import_module(f".{strategy}", __package__).TRAITS for strategy in Strategy}


@cache
def module_of(strategy: Strategy, *forms: str) -> Any:
    """The module of the first of these forms that a strategy has, such as ``reference`` or ``kernel``."""
    there = (f"{__package__}.{strategy}.{form}" for form in forms)
    return import_module(next(name for name in there if find_spec(name) is not None))

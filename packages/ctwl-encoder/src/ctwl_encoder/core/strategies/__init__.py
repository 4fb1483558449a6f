"""Strategies: how a model's distribution is changed so that tokens of ``V`` are preferred (spec section 8).

A strategy is a name here and a folder with its row of traits; in it ``reference`` is in NumPy, ``plain`` in torch, and
``kernel``, where there is one, in Triton for GPUs. Tests hold the three equal. The decoder is the same for all.

Where a strategy keeps the distribution, its traits have the factors of NumPy, and ``plain`` and ``kernel`` a function
``mark``. Where it adds to logits, ``reference`` and ``plain`` have a class ``Mark`` instead, made once for each marker:
it asks the proxy LM, and remembers what it said.
"""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module

from ctwl_protocol import Profile

from ...errors import StrategyUnsuitable
from .traits import Traits

__all__ = ["Decoding", "Strategy", "check_sigma"]


class Strategy(StrEnum):
    """The strategies by name; their traits say what each does."""

    UNBIASED = "unbiased"
    GUMBEL = "gumbel"
    DELTA = "delta"

    @property
    def traits(self) -> Traits:
        """What tells it from other strategies."""
        return _TRAITS[self]

    @property
    def keeps_distribution(self) -> bool:
        """Whether it keeps the model's own distribution on average; see :attr:`.traits.Traits.factors`."""
        return self.traits.factors is not None


_TRAITS: dict[Strategy, Traits] = {strategy: import_module(f".{strategy}", __package__).TRAITS for strategy in Strategy}


class Decoding(StrEnum):
    """How the next token is chosen from the marked distribution; where this is known, ``delta`` asks the proxy less."""

    ANY = "any"
    """Beams, or not known: the proxy is asked at each position that is marked."""

    SAMPLED = "sampled"
    """One token for each row, drawn from exactly this distribution. The proxy is not asked for draws that do not depend
    on it; the distribution is the same."""

    GREEDY = "greedy"
    """The likeliest token. The proxy is not asked where its answer cannot change which one that is."""


def check_sigma(strategy: Strategy, profile: Profile) -> None:
    """Refuse a profile whose sigma does not suit the strategy: StrategyUnsuitable."""
    needed = strategy.traits.sigma
    if needed not in (None, profile.sigma):
        raise StrategyUnsuitable(f"{strategy} needs sigma {needed}; {profile.name} has {profile.sigma}. Use delta")

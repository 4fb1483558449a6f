"""What is tried: ways of marking, the gentlest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ctwl_encoder import Strategy
from ctwl_encoder.options import MarkingOptions, strategy_for


@dataclass(frozen=True)
class Marking:
    """A way of marking.

    Attributes:
        options: fields of :class:`ctwl_encoder.options.MarkingOptions`, as they go into a config; none for plain
            sampling.
    """

    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def strategy(self) -> Strategy | None:
        """The strategy; None for plain sampling."""
        return Strategy(self.options["strategy"]) if self.options else None

    @property
    def name(self) -> str:
        """For people: "race 0.5", "delta 2"."""
        if self.strategy is None:
            return "plain"
        return " ".join(f"{value:g}" if isinstance(value, float) else value for value in self.options.values())


PLAIN = Marking()
"""The model's own sampling, beside which all else is put."""


def default_marking(temperature: float) -> Marking:
    """What the encoder takes by itself at a temperature; 0 for greedy decoding."""
    strategy = strategy_for(None, temperature)
    return _marking(strategy, MarkingOptions().strength_of(strategy, temperature))


def _marking(strategy: Strategy, strength: float) -> Marking:
    return Marking({"strategy": str(strategy), strategy.traits.strength.name: strength})


def markings(temperature: float, named: Mapping[str, Sequence[float]] | None = None) -> tuple[Marking, ...]:
    """What is tried, the gentlest first: what keeps the distribution, if tokens are drawn, then what changes it.

    Args:
        temperature: of sampling; 0 for greedy decoding.
        named: strengths that the caller asks for, by the option that sets them, in place of the usual ones.
    """
    found = list[Marking]()
    for strategy in sorted(Strategy, key=lambda strategy: not strategy.keeps_distribution):
        asked = sorted(set((named or {}).get(strategy.traits.strength.name, ())))
        if temperature or not strategy.keeps_distribution:
            found += [_marking(strategy, strength) for strength in asked or usual_strengths(strategy, temperature)]
    return tuple(found)


def usual_strengths(strategy: Strategy, temperature: float) -> list[float]:
    """The strengths to try where none is named: the default, a step less, and if quality allows a step more."""
    strength = strategy.traits.strength
    usual = strength.usual(temperature)
    if strategy.keeps_distribution:
        more = min(usual + strength.step, strength.bounds["le"])
        return [strength.rounded(each) for each in (usual - strength.step, usual, more)]
    return [] if temperature else [usual - strength.step, usual]

"""What is tried: ways of marking, the gentlest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ctwl_encoder import Strategy, share_for
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

STEP = 0.2
"""Where tokens are sampled, the default share is tried, and so much less and more. Chosen by hand."""

MOST = 0.95
"""The largest share that is tried. Chosen by hand: with more, texts of one nonce are nearly one text."""

GREEDY_DELTAS = (1.0, 2.0)
"""What is tried where nothing is drawn, in nats: the encoder's default, and half of it. Chosen by hand: the caller may
name others."""


def default_marking(temperature: float) -> Marking:
    """What the encoder takes by itself at a temperature; 0 for greedy decoding."""
    strategy = strategy_for(None, temperature)
    return _marking(strategy, MarkingOptions().strength_of(strategy, temperature))


def _marking(strategy: Strategy, strength: float) -> Marking:
    return Marking({"strategy": str(strategy), strategy.traits.strength: strength})


def markings(temperature: float, deltas: Sequence[float] = ()) -> tuple[Marking, ...]:
    """What is tried, the gentlest first: what keeps the distribution, if tokens are drawn, then what changes it.

    Args:
        temperature: of sampling; 0 for greedy decoding.
        deltas: strengths that the caller asks for, in nats, of strategies that change the distribution.
    """
    nats = sorted(set(deltas)) or ([] if temperature else GREEDY_DELTAS)
    usual = share_for(temperature)
    shares = [round(share, 2) for share in (usual - STEP, usual, min(usual + STEP, MOST))]
    ways = sorted(Strategy, key=lambda strategy: not strategy.keeps_distribution)
    return tuple(
        _marking(strategy, strength)
        for strategy in ways
        if temperature or not strategy.keeps_distribution
        for strength in (shares if strategy.traits.strength == "share" else nats)
    )

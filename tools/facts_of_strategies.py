"""What pages say of the strategies."""

from __future__ import annotations

from collections.abc import Callable

from in_markdown import table

from ctwl_encoder import Strategy
from ctwl_encoder.core.expected_evidence import needed_tokens
from ctwl_encoder.options import MarkingOptions
from ctwl_protocol import get_profile
from ctwl_protocol.profile import OFFLINE


def _meaning(option: str) -> str:
    """What an option is, by the first sentence of its help, without the strategies that it is for."""
    told = str(MarkingOptions.model_fields[option].description)
    return told.partition(". ")[0].partition(": ")[2]


FACTS: dict[str, Callable[[], str]] = {
    "strategies": lambda: table(
        ("you decode", "strategy", "what it does", "its number", "you pay"),
        *(
            (
                "by sampling" if one.keeps_distribution else "greedily, or by beam search",
                f"`{one}`",
                one.traits.summary,
                f"`{one.traits.strength}`: {_meaning(one.traits.strength)}",
                one.traits.price,
            )
            for one in Strategy
        ),
    ),
    "tokens-delta": lambda: str(needed_tokens(get_profile(OFFLINE), Strategy.DELTA, temperature=0.0)),
    "tokens-cool": lambda: str(needed_tokens(get_profile(OFFLINE), Strategy.RACE, temperature=0.5)),
    "strategy-names": lambda: ", ".join(f"`{one}`" for one in Strategy),
}
"""By name, as in :data:`facts.FACTS`."""

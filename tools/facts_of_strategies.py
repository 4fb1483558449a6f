"""What pages say of the strategies."""

from __future__ import annotations

from collections.abc import Callable

from in_markdown import table

from ctwl_encoder import Strategy
from ctwl_encoder.core.expected_evidence import needed_tokens
from ctwl_protocol import get_profile
from ctwl_protocol.profile import OFFLINE

FACTS: dict[str, Callable[[], str]] = {
    "strategies": lambda: table(
        ("you decode", "strategy", "what it does", "its number", "you pay"),
        *(
            (
                "by sampling" if one.keeps_distribution else "greedily, or by beam search",
                f"`{one}`",
                one.traits.summary,
                f"`{one.traits.strength.name}`: {one.traits.strength.meaning.partition('. ')[0]}",
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

"""What may be asked of an encoder: its strategies, bounds and checks. Nothing here needs torch."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TypeVar

from ctwl_protocol import Profile
from ctwl_protocol.records.beacon import BEACON_BITS

from .errors import OptionOutOfRange, StrategyUnsuitable

__all__ = [
    "MAX_DELTA", "Decoding", "Strategy", "check_beacon", "check_delta", "check_options", "check_strategy", "named",
    "strategy_for",
]  # fmt: skip

T = TypeVar("T", bound=StrEnum)

MAX_DELTA = 100.0
"""Largest ``delta``, in nats: beyond it only members of ``V`` are ever written."""


class Strategy(StrEnum):
    """The strategies by name."""

    DELTA = "delta"
    """Add a constant to the logits of ``V`` (Wang et al. 2024, equation 7). For any way of decoding."""

    UNBIASED = "unbiased"
    """Keep the first half of the model's own mass in rank order. For sampling; needs no proxy while encoding."""

    GUMBEL = "gumbel"
    """Write the token that comes first in a race between all of them, by rank and probability (Aaronson 2022). For
    sampling; the clearest, for short or predictable texts; it takes most of the choice that sampling has."""

    VANILLA = "vanilla"
    """``delta`` over a random half of the vocabulary: the paper's baseline (its section 4.2)."""

    @property
    def keeps_distribution(self) -> bool:
        """Whether it keeps the model's own distribution on average.

        Such a one acts on what is sampled from, behind temperature, top-p and the like; it asks no proxy.
        """
        return self in (Strategy.UNBIASED, Strategy.GUMBEL)


class Decoding(StrEnum):
    """How the next token is chosen from the distribution that was marked; where it is known, ``delta`` asks less."""

    ANY = "any"
    """Beams, or nobody knows: the proxy is asked at each place that is marked."""

    SAMPLED = "sampled"
    """One token for each row, drawn from exactly this distribution. What would be drawn whatever the colours needs no
    proxy; the distribution is the same."""

    GREEDY = "greedy"
    """The likeliest. Where it is the likeliest whatever the colours, it needs no proxy."""


def strategy_for(strategy: str | None, *, sample: bool) -> Strategy:
    """A strategy by name; where there is none, the one for the way of decoding.

    Raises:
        OptionOutOfRange: there is no such strategy.
        StrategyUnsuitable: ``unbiased`` or ``gumbel`` without sampling.
    """
    chosen = named(Strategy, strategy) if strategy else Strategy.UNBIASED if sample else Strategy.DELTA
    if chosen.keeps_distribution and not sample:
        raise StrategyUnsuitable(
            f"{chosen} chooses by chance, as sampling does; use delta for greedy decoding and beam search"
        )
    return chosen


def named(kind: type[T], name: str) -> T:
    """A strategy or a way of decoding by name; OptionOutOfRange where there is none."""
    if name not in list(kind):
        raise OptionOutOfRange(f"{kind.__name__.lower()} is {name!r}; choose one of {', '.join(kind)}")
    return kind(name)


def check_delta(delta: float) -> None:
    """Refuse a delta that is not above 0 and at most :data:`MAX_DELTA`: OptionOutOfRange."""
    if not 0 < delta <= MAX_DELTA:
        raise OptionOutOfRange(f"delta is {delta}; it must be above 0 and at most {MAX_DELTA:g}")


def check_strategy(strategy: str, profile: Profile) -> None:
    """Refuse ``unbiased`` with a sigma other than 1/2, where the split no longer averages out: StrategyUnsuitable."""
    if strategy == Strategy.UNBIASED and profile.sigma != (1, 2):
        raise StrategyUnsuitable(f"unbiased needs sigma = 1/2; {profile.name} has {profile.sigma}. Use delta")


def check_beacon(profile: Profile) -> None:
    """Refuse a profile whose codes are no beacons: StrategyUnsuitable."""
    if profile.code_bits != BEACON_BITS:
        raise StrategyUnsuitable(
            f"a beacon has {BEACON_BITS} bits, the codes of {profile.name} have {profile.code_bits}; "
            "use CTWLWatermarkingConfig with codes of your own"
        )


def _is_text(text: str) -> bool:
    """Whether a string can be written as UTF-8: no lone surrogates, as undecodable arguments bring."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_options(
    prompts: Sequence[str],
    *,
    tokens: int,
    least: int,
    temperature: float,
    top_p: float,
    beams: int,
    penalty: float,
    delta: float,
    seed: int | None,
) -> None:
    """Refuse options of :meth:`ctwl_encoder.Encoder.generate` outside their ranges: OptionOutOfRange."""
    if not all(isinstance(prompt, str) for prompt in prompts):
        raise OptionOutOfRange("prompts are strings")
    checks = [
        (bool(prompts) and all(prompt.strip() for prompt in prompts), "the prompt is empty; give at least a word"),
        (all(_is_text(prompt) for prompt in prompts), "the prompt is no Unicode text (lone surrogates); give UTF-8"),
        (tokens >= 1, f"max-new-tokens is {tokens}; it must be at least 1"),
        (0 <= least <= tokens, f"min-new-tokens is {least}; it must be from 0 to max-new-tokens, {tokens}"),
        (
            temperature == 0 or 0.001 <= temperature <= 1000,
            f"temperature is {temperature}; it must be 0 (greedy) or from 0.001 to 1000",
        ),
        (0 < top_p <= 1, f"top-p is {top_p}; it must be above 0 and at most 1"),
        (beams >= 1, f"num-beams is {beams}; it must be at least 1"),
        (
            beams == 1 or (temperature in (0, 1) and top_p == 1),
            "beam search draws nothing, so temperature and top-p have no effect on it; leave them out",
        ),
        (0 < penalty < float("inf"), f"repetition-penalty is {penalty}; it must be above 0 (1 for none)"),
        (seed is None or 0 <= seed < 1 << 63, f"seed is {seed}; it must be at least 0 and below 2^63"),
    ]
    for good, message in checks:
        if not good:
            raise OptionOutOfRange(message)
    check_delta(delta)

"""What may be asked of an encoder: its strategies, bounds and checks. Nothing here needs torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from ctwl_protocol import Profile
from ctwl_protocol.records.beacon import BEACON_BITS

from .errors import OptionOutOfRange, StrategyUnsuitable

__all__ = [
    "MAX_DELTA",
    "Decoding",
    "GenerationOptions",
    "Strategy",
    "check_beacon",
    "check_delta",
    "check_prompts",
    "check_strategy",
    "named",
    "strategy_for",
]

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
    """Write the token with the least exponential time, by rank and probability (Aaronson 2022: the Gumbel-max trick).
    For sampling; the clearest, for short or predictable texts; it takes most of the choice that sampling has."""

    VANILLA = "vanilla"
    """``delta`` over a random half of the vocabulary: the paper's baseline (its section 4.2)."""

    @property
    def keeps_distribution(self) -> bool:
        """Whether it keeps the model's own distribution on average.

        Such a strategy needs sampling, acts after temperature, top-p and the like, and asks no proxy.
        """
        return self in (Strategy.UNBIASED, Strategy.GUMBEL)


class Decoding(StrEnum):
    """How the next token is chosen from the marked distribution; where this is known, ``delta`` asks the proxy less."""

    ANY = "any"
    """Beams, or not known: the proxy is asked at each position that is marked."""

    SAMPLED = "sampled"
    """One token for each row, drawn from exactly this distribution. The proxy is not asked for draws that do not depend
    on it; the distribution is the same."""

    GREEDY = "greedy"
    """The likeliest token. The proxy is not asked where its answer cannot change which one that is."""


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


@dataclass(frozen=True)
class GenerationOptions:
    """How :meth:`ctwl_encoder.Encoder.generate` chooses tokens, and how many; its arguments of these names."""

    delta: float = 2.0
    max_new_tokens: int = 200
    min_new_tokens: int = 0
    temperature: float = 1.0
    top_p: float = 1.0
    num_beams: int = 1
    repetition_penalty: float = 1.0
    seed: int | None = None

    @property
    def decoding(self) -> Decoding:
        """How tokens are chosen."""
        if self.num_beams > 1:
            return Decoding.ANY
        return Decoding.SAMPLED if self.temperature > 0 else Decoding.GREEDY

    def for_transformers(self) -> dict[str, Any]:
        """The arguments of ``model.generate``; delta and the seed are none of them."""
        names = ("max_new_tokens", "min_new_tokens", "num_beams", "repetition_penalty")
        sampling = {"do_sample": True, "temperature": self.temperature, "top_p": self.top_p, "top_k": 0}
        chosen = sampling if self.decoding is Decoding.SAMPLED else {"do_sample": False}
        return {name: getattr(self, name) for name in names} | chosen

    def check(self) -> None:
        """Refuse values outside their ranges.

        Raises:
            OptionOutOfRange: a value that is refused.
        """
        tokens, least, temperature, beams = self.max_new_tokens, self.min_new_tokens, self.temperature, self.num_beams
        checks = [
            (tokens >= 1, f"max-new-tokens is {tokens}; it must be at least 1"),
            (0 <= least <= tokens, f"min-new-tokens is {least}; it must be from 0 to max-new-tokens, {tokens}"),
            (
                temperature == 0 or 0.001 <= temperature <= 1000,
                f"temperature is {temperature}; it must be 0 (greedy) or from 0.001 to 1000",
            ),
            (0 < self.top_p <= 1, f"top-p is {self.top_p}; it must be above 0 and at most 1"),
            (beams >= 1, f"num-beams is {beams}; it must be at least 1"),
            (
                beams == 1 or (temperature in (0, 1) and self.top_p == 1),
                "beam search draws nothing, so temperature and top-p have no effect on it; leave them out",
            ),
            (
                0 < self.repetition_penalty < float("inf"),
                f"repetition-penalty is {self.repetition_penalty}; it must be above 0 (1 for none)",
            ),
            (
                self.seed is None or 0 <= self.seed < 1 << 63,
                f"seed is {self.seed}; it must be at least 0 and below 2^63",
            ),
        ]
        for good, message in checks:
            if not good:
                raise OptionOutOfRange(message)
        check_delta(self.delta)


def check_prompts(prompts: Sequence[str]) -> None:
    """Refuse prompts that are empty or no Unicode text, and an empty list of them: OptionOutOfRange."""
    if not all(isinstance(prompt, str) for prompt in prompts):
        raise OptionOutOfRange("prompts are strings")
    if not prompts or not all(prompt.strip() for prompt in prompts):
        raise OptionOutOfRange("the prompt is empty; give at least a word")
    try:
        "".join(prompts).encode()
    except UnicodeEncodeError as error:  # as arguments of a command bring that are not UTF-8
        raise OptionOutOfRange("the prompt is no Unicode text (lone surrogates); give UTF-8") from error

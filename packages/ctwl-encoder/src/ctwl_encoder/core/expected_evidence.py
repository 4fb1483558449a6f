"""The evidence that a text may be expected to carry, while it is being written.

The decoder's p-value is exact, but needs the proxy. The encoder knows its own probabilities: they say how much a reader
who knew them would see, by the likelihood ratio of what is written. A reader who weighs by the proxy LM sees a share of
that, which was measured.
"""

from __future__ import annotations

import math
import warnings
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import Profile
from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.records.layouts import LAYOUTS

from ..errors import ShortText
from .shares import share_for
from .strategies import Strategy
from .texts import Log

READERS_LEVEL = NUMBERS.search.level
"""The decoder's default level."""

READER_SHARE = 0.37, 0.8
"""Share of the evidence of ``race`` that a reader gets who has the proxy LM and not the model's distribution: of a
model with a vocabulary of its own, and of one with the proxy's, most likely its relative. A part of the loss is the
price of the decoder's other tests. Fitted by hand, the first to 96 news items of Qwen2.5-Coder-0.5B-Instruct at T = 1
and 0.7, the second to 64 answers of SmolLM2-135M; evaluation/reading/models.py measures on other texts what comes of
it."""

DELTA_SHARE = 0.77
"""The same for ``delta``, whose halves are the proxy's own. Fitted by hand to 64 answers of SmolLM2-135M."""

_LEAST = 2**-12.5
"""Below this probability a token's rank shows no more."""

SEVERAL = 12
"""Bits that a record of several codes needs beyond a single one, if one layout has so many codes: for the ways that are
tested, and because one sum over all slots is tested (evaluation/reading/records.py)."""

COOLING = 4.5
"""Below temperature 1, with top-p 0.95, the evidence of a token falls as this power of the temperature. Fitted by hand
to texts of SmolLM2 at 0.7 (evaluation/reading/models.py)."""

COLDEST = 0.3
"""Below this temperature nothing was measured. Chosen by hand: the evidence is next to none there."""


_TYPICAL = np.array([0.1])
"""The probability of a token by which shares are compared. Chosen by hand: at probabilities from 0.01 to 0.5 a share of
0.3 gives 0.57 to 0.69 of what 0.5 gives."""

STEEPNESS = 5.0
"""How fast the chance grows with the evidence, see :func:`chance_found`. Fitted by hand to answers of three models in a
chat; evaluation/reading/models.py measures on other texts whether it holds."""


def needed_bits(profile: Profile, codes: int = 1, alpha: float = READERS_LEVEL) -> float:
    """Bits of evidence that tell a record from all others at a reader's level.

    Args:
        profile: the profile that reads it.
        codes: of the record; a reader is to find all of them.
        alpha: the reader's level.
    """
    layouts = sum(layout.codes == codes for layout in LAYOUTS)
    beyond = SEVERAL + math.log2(max(1, layouts)) if codes > 1 else 0
    return codes * profile.code_bits - math.log2(alpha) + beyond


def chance_found(evidence: float, needed: float) -> float:
    """How likely a reader finds a text at the decoder's default level: 0 to 1, a half where just enough is expected.

    Over many texts the mean is the share that is found (evaluation/reading/models.py).

    Args:
        evidence: bits to expect, at least 0, see :func:`expected_evidence`.
        needed: bits, more than 0, see :func:`needed_bits`.
    """
    reached: float = evidence**STEEPNESS
    chance: float = reached / (reached + needed**STEEPNESS)
    return chance


def expected_race_nats(chances: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """The expected log-likelihood ratios, in nats, of tokens that ``race`` wrote: float64 (n,).

    All other tokens of the race are as one: a sum of stable variables is one again. The ratio of two positive stable
    variables of index ``alpha``, to the power of ``alpha``, has the density ``sin(pi alpha) / (pi alpha (r^2 + 2 r
    cos(pi alpha) + 1))`` (Lamperti 1958). Where it is ``r``, the token wins with the probability ``1 / (1 + ((1 - p) /
    (p r))^(1 / alpha))``, see :func:`.strategies.race.reference.gained`.

    Args:
        chances: float64 (n,), the tokens' probabilities.
        share: the part of the race that the code decides.
    """
    logs, told = _race_table(share)
    found: NDArray[np.float64] = np.interp(np.log(np.maximum(chances, _LEAST)), logs, told)
    return found


@lru_cache(maxsize=64)
def _race_table(share: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Logarithms of probabilities, and what tokens of these are expected to say: float64 (129,) each."""
    alpha, log_p, log_r = 1 - share, np.linspace(math.log(_LEAST), -1e-9, 129), np.linspace(-30, 30, 1201)
    r = np.exp(log_r)
    density = math.sin(math.pi * alpha) / (math.pi * alpha * (r + 2 * math.cos(math.pi * alpha) + 1 / r))
    log_odds = (log_p - np.log(-np.expm1(log_p)))[:, None] + log_r
    log_won = -np.logaddexp(0, -log_odds / alpha)
    gained = log_won - log_p[:, None]
    return log_p, (np.exp(gained) * gained) @ density * (log_r[1] - log_r[0])


def expected_half_nats(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """The expected log-likelihood ratios, in nats, of tokens that a half of the mass prefers: float64 (n,).

    A token of chance ``p`` begins at a place ``b`` that is uniform on [0, 1 - p] in the order of ranks, and is twice as
    likely as usual as far as it lies in the half (the factor of spec section 8.3). Both averages have a closed form.

    Args:
        chances: float64 (n,), the tokens' probabilities.
    """
    p = np.clip(chances, 1e-9, 1 - 1e-9)
    whole = np.maximum(0.5 - p, 0) * 2 * math.log(2)

    def part(ratio: NDArray[np.float64]) -> NDArray[np.float64]:
        value: NDArray[np.float64] = ratio**2 / 2 * np.log(np.maximum(ratio, 1e-300)) - ratio**2 / 4
        return value

    across = part(np.minimum(2.0, 1 / p)) - part(np.maximum((p - 0.5) * 2 / p, 0))
    nats: NDArray[np.float64] = (whole + p / 2 * across) / (1 - p)
    return nats


def null_hits(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """How often random permutations put tokens of these probabilities, float64 (n,), into ``V``: float64 (n,).

    The mass ranked before a token is nearly uniform on [0, 1 - chance], and the token is in if that is below 1/2.
    """
    found: NDArray[np.float64] = 0.5 / np.maximum(1 - chances, 0.5)
    return found


class Evidence(NamedTuple):
    """The evidence of a text, in nats.

    Attributes:
        decided: what the mark decides at the places that a reader scores.
        repeats: of that, what stands in pairs of context and token that came before. Like the decoder this counts a
            pair once in a slot: a loop brings no evidence.
        reader: of the rest, what a reader does not see who has the proxy LM.
    """

    decided: float
    repeats: float
    reader: float

    @property
    def read(self) -> float:
        """What a reader may expect to see; at least 0."""
        return max(0.0, self.decided - self.repeats - self.reader)


def expected_evidence(written: Log, strategy: Strategy, strength: float, *, own: bool = False) -> Evidence:
    """The evidence of a text that may be expected.

    Args:
        written: the text's positions.
        strategy: how the text was marked.
        strength: how strongly; the nats of ``delta`` change nothing here.
        own: whether the model has the proxy's own vocabulary.
    """
    first = np.unique(written.pairs, return_index=True)[1]
    nats = _decided(written, strategy, strength)
    decided, once = float(nats.sum()), float(nats[first].sum())
    seen = READER_SHARE[own] if strategy.keeps_distribution else DELTA_SHARE
    return Evidence(decided, decided - once, (1 - seen) * once)


def _decided(written: Log, strategy: Strategy, strength: float) -> NDArray[np.float64]:
    """What the mark decides at each position, float64 (positions,), nats; 0 where it was not marked."""
    marked = ~np.isnan(written.chance)
    chances = np.where(marked, written.chance, 1).astype(np.float64)
    if strategy.keeps_distribution:
        return np.where(marked, expected_race_nats(chances, strength), 0)
    null = np.minimum(null_hits(chances), 1 - 1e-9)
    return np.where(marked, expected_half_nats(chances) * np.clip((written.hit - null) / (1 - null), -1, 1), 0)


def needed_tokens(
    profile: Profile,
    strategy: Strategy,
    codes: int = 1,
    alpha: float = READERS_LEVEL,
    *,
    temperature: float = 1.0,
    share: float | None = None,
) -> int:
    """Tokens of news-like text that a reader needs to find all codes, in about nine texts of ten.

    Answers in a chat need more, lists and code most of all.

    Args:
        profile: the profile that reads it.
        strategy: how it is marked.
        codes: of its record.
        alpha: the reader's level.
        temperature: of sampling; 0 for greedy decoding and beam search.
        share: of ``race``; None for the default at this temperature, which the figures here are of.
    """
    each = strategy.traits.bits_per_token
    if strategy.keeps_distribution:
        each *= min(1.0, max(temperature, COLDEST)) ** COOLING
        if share is not None:
            usual = share_for(temperature)
            asked, known = (float(expected_race_nats(_TYPICAL, of)[0]) for of in (share, usual))
            each *= asked / known
    return profile.prefix_length + math.ceil(needed_bits(profile, codes, alpha) / each)


def warn_of_short_text(
    profile: Profile,
    strategy: Strategy,
    codes: int,
    most: int,
    *,
    temperature: float,
    share: float | None = None,
    option: str = "max_new_tokens",
) -> None:
    """Warn where the longest text that is allowed may be too short for a reader to be sure of its record: ShortText.

    Args:
        profile: the profile that reads it.
        strategy: how it is marked.
        codes: of its record.
        most: tokens of the longest text.
        temperature: of sampling; 0 for greedy decoding and beam search.
        share: as for :func:`needed_tokens`.
        option: what its user calls this number.
    """
    needed = needed_tokens(profile, strategy, codes, temperature=temperature, share=share)
    if most < needed:
        how = f"at temperature {temperature:g}" if temperature else "without sampling"
        warnings.warn(
            f"{option} is {most}; a reader needs about {needed} tokens to find the whole record in news-like text by "
            f"{strategy} {how}, and more in answers of a chat",
            ShortText,
            stacklevel=3,
        )

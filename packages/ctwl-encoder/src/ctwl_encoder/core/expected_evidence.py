"""The evidence that a text may be expected to carry, while it is being written.

The decoder's p-value is exact, but needs the proxy. The encoder knows its own probabilities: they say how much a reader
who knew them would see, by the likelihood ratio of what is written. A reader who weighs by the proxy LM sees a share of
that, which was measured.
"""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import Profile
from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.records.layouts import LAYOUTS

from ..errors import ShortText
from .strategies import Strategy, module_of
from .texts import Log

READERS_LEVEL = NUMBERS.search.level
"""The decoder's default level."""

SEVERAL = 12
"""Bits that a record of several codes needs beyond a single one, if one layout has so many codes: for the ways that are
tested, and because one sum over all slots is tested (evaluation/reading/records.py)."""

COOLING = 4.5
"""Below temperature 1, with top-p 0.95, the evidence of a token falls as this power of the temperature. Chosen by hand:
at 0.7 it lies between SmolLM2, which needs fewer tokens (evaluation/reading/entropy.py), and larger models, which need
more (evaluation/reading/models.py)."""

COLDEST = 0.3
"""Below this temperature nothing was measured. Chosen by hand: the evidence is next to none there."""


_TYPICAL = np.array([0.1]), np.array([1.0], dtype=np.float32)
"""A token by which strengths are compared: its probability, and that it is in the half. Chosen by hand: at
probabilities from 0.01 to 0.5 a share of 0.3 gives 0.57 to 0.69 of what 0.5 gives."""

STEEPNESS = 5.0
"""How fast the chance grows with the evidence, see :func:`chance_found`. Fitted by hand to answers of three models in a
chat; evaluation/reading/models.py measures on other texts whether it holds."""


SPELLED = 1 / 3
"""A text of whose proxy tokens more than this part are single characters outside ASCII, or parts of one, is in a script
that the proxy LM spells and knows little of. Chosen by hand between Latin script and others; in the others, and in
Vietnamese, hardly any text is found (evaluation/reading/languages.py)."""


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


def expected_nats(
    strategy: Strategy, chances: NDArray[np.float64], hits: NDArray[np.float32], strength: float
) -> NDArray[np.float64]:
    """What a strategy's mark decides, by its module ``expected``: float64 (n,), nats.

    Args:
        strategy: how the tokens were marked.
        chances: float64 (n,), the tokens' probabilities.
        hits: float32 (n,), 1 for a member of the half, 0 for another token; NaN where nobody asked.
        strength: how strongly.
    """
    nats: NDArray[np.float64] = module_of(strategy, "expected").nats(chances, hits, strength)
    return nats


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


def expected_evidence(
    written: Log, strategy: Strategy, strength: float, *, own: bool, singles: NDArray[np.bool_]
) -> Evidence:
    """The evidence of a text that may be expected.

    Args:
        written: the text's positions.
        strategy: how the text was marked.
        strength: how strongly.
        own: whether the model has the proxy's own vocabulary.
        singles: bool (proxy tokens,), see :attr:`ctwl_protocol.Bridge.singles`.
    """
    first = np.unique(written.pairs, return_index=True)[1]
    marked = ~np.isnan(written.chance)
    chances = np.where(marked, written.chance, 1).astype(np.float64)
    nats = np.where(marked, expected_nats(strategy, chances, written.hit, strength), 0)
    decided, once = float(nats.sum()), float(nats[first].sum())
    spelled = len(written.token) > 0 and singles[written.token].mean() > SPELLED
    seen = 0.0 if spelled else strategy.traits.reader_share[own]
    return Evidence(decided, decided - once, (1 - seen) * once)


def needed_tokens(
    profile: Profile,
    strategy: Strategy,
    codes: int = 1,
    alpha: float = READERS_LEVEL,
    *,
    temperature: float = 1.0,
    strength: float | None = None,
) -> int:
    """Tokens of news-like text that a reader needs to find all codes, in about nine texts of ten.

    Answers in a chat need more, lists and code most of all.

    Args:
        profile: the profile that reads it.
        strategy: how it is marked.
        codes: of its record.
        alpha: the reader's level.
        temperature: of sampling; 0 for greedy decoding and beam search.
        strength: how strongly; None for the default at this temperature, which the figures here are of.
    """
    each = strategy.traits.bits_per_token
    if strategy.keeps_distribution:
        each *= min(1.0, max(temperature, COLDEST)) ** COOLING
    if strength is not None:
        usual = strategy.traits.strength.usual(temperature)
        asked, known = (float(expected_nats(strategy, *_TYPICAL, of)[0]) for of in (strength, usual))
        each *= asked / known
    return profile.prefix_length + math.ceil(needed_bits(profile, codes, alpha) / each)


def warn_of_short_text(
    profile: Profile,
    strategy: Strategy,
    codes: int,
    most: int,
    *,
    temperature: float,
    strength: float | None = None,
    option: str = "max_new_tokens",
) -> None:
    """Warn where the longest text that is allowed may be too short for a reader to be sure of its record: ShortText.

    Args:
        profile: the profile that reads it.
        strategy: how it is marked.
        codes: of its record.
        most: tokens of the longest text.
        temperature: of sampling; 0 for greedy decoding and beam search.
        strength: as for :func:`needed_tokens`.
        option: what its user calls this number.
    """
    needed = needed_tokens(profile, strategy, codes, temperature=temperature, strength=strength)
    if most < needed:
        how = f"at temperature {temperature:g}" if temperature else "without sampling"
        warnings.warn(
            f"{option} is {most}; a reader needs about {needed} tokens to find the whole record in news-like text by "
            f"{strategy} {how}, and more in answers of a chat",
            ShortText,
            stacklevel=3,
        )

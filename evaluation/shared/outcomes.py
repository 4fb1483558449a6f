"""What one test of a whole text says, over all codes, at several lengths: a text that is cut short says less."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ctwl_decoder.options import ALPHA
from ctwl_decoder.statistics.code_scores import code_space, score_all
from ctwl_decoder.statistics.e_value import log_e_value
from ctwl_decoder.statistics.null import null_of
from ctwl_decoder.statistics.scored_positions import ScoredPositions, ScoreTable
from ctwl_decoder.statistics.scores import Score
from ctwl_encoder import Generation, Strategy
from ctwl_protocol import Profile
from ctwl_protocol.proxy import Proxy

from .measures import rate, tokens_needed
from .readers import scored_positions
from .texts import Recipe, Text

LEVEL = ALPHA
"""The decoder's own."""


@dataclass(frozen=True)
class Outcome:
    """What was read of the first tokens of a text.

    Attributes:
        exact: whether the likeliest code is the one that was written.
        p_value: of the likeliest code in one test of the whole text over all codes.
        clear: whether its e-value is, see :func:`is_clear`.
    """

    exact: bool
    p_value: float
    clear: bool

    @property
    def found(self) -> bool:
        """Whether the right code passes the level."""
        return self.exact and self.clear and self.p_value <= LEVEL


def is_clear(table: ScoreTable, code: int) -> bool:
    """Whether a code's e-value by the proxy LM is high enough to be found at the level (spec section 12)."""
    return log_e_value(table.units(code)) >= -math.log(LEVEL)


def own_score(strategy: str) -> Score:
    """The score that was made for a strategy."""
    return Score(Strategy(strategy).traits.score)


def read(proxy: Proxy, recipe: Recipe, text: Text, lengths: Sequence[int]) -> list[Outcome]:
    """What the first so many tokens of a recipe's text say, each number on its own, as one code among all.

    The score is the one that was made for the recipe's method. A text is weighed once: what comes later in it changes
    nothing before.

    Args:
        proxy: the offline profile's.
        recipe: of the text.
        text: the text.
        lengths: in proxy tokens.
    """
    ids = proxy.tokenizer.encode(text.text)[: max(lengths)]
    scored, prefix = scored_positions(proxy, ids)[own_score(recipe.method)], proxy.profile.prefix_length
    return [read_whole(proxy.profile, scored[: max(0, length - prefix)], text.code) for length in lengths]


def rates(outcomes: Sequence[Sequence[Outcome]], lengths: Sequence[int]) -> dict[str, dict[str, Any]]:
    """How many texts were read at each length: exactly, and found at the level too."""
    at = {str(length): each for length, each in zip(lengths, zip(*outcomes, strict=True), strict=True)}
    return {
        "exact": {length: rate(sum(o.exact for o in each), len(each)) for length, each in at.items()},
        "found": {length: rate(sum(o.found for o in each), len(each)) for length, each in at.items()},
    }


def read_whole(profile: Profile, scored: ScoredPositions, code: int) -> Outcome:
    """What one test of all positions says over all codes, where ``code`` was written."""
    table, codes = ScoreTable.of(scored), code_space(profile)
    scores = score_all(table, codes)
    best, null = int(scores.argmax()), null_of(table.scores)
    return Outcome(best == code, null.p_value(int(scores[best]), len(codes)), is_clear(table, best))


def needed(proxy: Proxy, recipe: Recipe, texts: Sequence[Text], lengths: Sequence[int]) -> dict[str, Any]:
    """What texts cut to so many tokens say: how many are needed, and how many were read at each length."""
    outcomes = [read(proxy, recipe, text, lengths) for text in texts]
    exact = np.array([[outcome.exact for outcome in each] for each in outcomes])
    found = np.array([[outcome.found for outcome in each] for each in outcomes])
    rng = np.random.default_rng(recipe.seed)
    return {
        "tokens for 90 % exact": tokens_needed(exact, lengths, rng),
        "tokens for 90 % found": tokens_needed(found, lengths, rng),
        **rates(outcomes, lengths),
    }


def seen(proxy: Proxy, generation: Generation, tokens: int) -> dict[str, float]:
    """What its strategy's score finds in a text's first proxy tokens; a hit is likelier under the code than without."""
    scored = scored_positions(proxy, proxy.tokenizer.encode(generation.text)[:tokens])[own_score(generation.strategy)]
    scored, code = scored[scored.first_occurrences()], generation.beacon.code
    outcome = read_whole(proxy.profile, scored, code)
    return {
        "exact": outcome.exact,
        "p": outcome.p_value,
        "hits": float((scored.contributions(code) > 0).mean()),
        "wrong": float((scored.scores > 0).mean()),
    }

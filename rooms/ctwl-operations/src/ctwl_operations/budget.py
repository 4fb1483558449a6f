"""The budget of a text's evidence: where it goes, and what a reader needs. ``plan`` and ``audit`` print it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.records import BEACON_BITS


def needs(codes: int, share: float = 1.0) -> str:
    """The evidence that a reader needs to find one of some codes in a whole text: in nats, and what for.

    The level is shared with other tests (spec section 10.2): the scores, the numbers of codes, the windows.

    Args:
        codes: how many are searched.
        share: of the level, where these codes share it with others.
    """
    search = NUMBERS.search
    share *= search.score_shares["race"] * search.one_code * search.whole
    level, searched, tests = -math.log(search.level), math.log(codes), -math.log(share)
    return f"{level + searched + tests:.1f}: level {level:.1f}, codes {searched:.1f}, tests {tests:.1f}"


@dataclass(frozen=True)
class Budget:
    """Where the evidence of a text goes, in nats; of several texts the mean.

    Attributes:
        tokens: of the text.
        choice: the entropy of what its tokens were drawn from; None where that was not measured.
        first: what the mark would have decided in the first tokens, which it leaves alone.
        bridge: the same of tokens where it finds no place, and what it decides beyond the places that a reader scores.
        decided: what it decides at the places that a reader scores.
        repeats: of that, what stands in pairs of context and token that came before, which count once.
        reader: of the rest, what a reader does not see who has the proxy LM in place of the writer's model.
    """

    tokens: float
    choice: float | None
    first: float
    bridge: float
    decided: float
    repeats: float
    reader: float

    @property
    def read(self) -> float:
        """What a reader may expect to see."""
        return self.decided - self.repeats - self.reader

    @classmethod
    def of_counts(
        cls, texts: int, marked: int, first: int, elsewhere: int, *, decided: float, repeats: float, reader: float
    ) -> Budget:
        """The mean over texts of which the sums are known: an unmarked token would have had what a marked one has.

        Args:
            texts: how many; at least 1.
            marked: their tokens at marked places; at least 1.
            first: their first tokens, which are left alone.
            elsewhere: their other tokens without a mark.
            decided: as above, of all texts.
            repeats: the same.
            reader: the same.
        """
        each = decided / marked
        sums = (first * each, elsewhere * each, decided, repeats, reader)
        return cls((marked + first + elsewhere) / texts, None, *(each / texts for each in sums))


def in_words(budget: Budget, nonces: int) -> list[str]:
    """A budget in sentences.

    Args:
        budget: the budget.
        nonces: how many the texts have.
    """
    choice = "" if budget.choice is None else f"choice {budget.choice:.1f}, "
    return [
        f"Evidence of a text of {budget.tokens:.0f} tokens, in nats: {choice}decided by the mark {budget.decided:.1f}; "
        f"a reader is expected to see {budget.read:.1f} of it.",
        f"Lost before: first tokens {budget.first:.1f}, bridge {budget.bridge:.1f}. Lost after: repeats "
        f"{budget.repeats:.1f}, reader {budget.reader:.1f}. A reader whose model is more like yours loses less.",
        f"A reader of all codes needs {needs(1 << BEACON_BITS, 1 - NUMBERS.search.registered_share)}.",
        f"A reader of the {nonces} codes of one model version needs {needs(nonces)}.",
    ]

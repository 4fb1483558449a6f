"""The state of one text that is being marked: what a reader sees of it so far, and which positions were marked."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from .continuations import Path
from .expected_evidence import MarkedPosition, marked_positions
from .offers import Offer
from .payload import Payload
from .reading import Reading, Step

__all__ = ["TextState"]

_SlotAndContext: TypeAlias = tuple[int, tuple[int, ...]]
"""What decides a position's colours: its slot, and the context that is hashed there."""


@dataclass(slots=True)
class TextState:
    """A text so far.

    Attributes:
        payload: what it is to carry.
        delta: nats, where its strategy adds them.
        reading: the reader's tokens.
        last: the last marked position.
        ended: whether its last token became no text, as a token that ends a text.
        offers: the places that were marked for the next token, by their paths.
        fresh: under ``gumbel``, share of the tokens whose lot is the text's own; else 0.
        skip_repeats: whether positions are left alone whose context has been marked in it.
    """

    payload: Payload
    delta: float
    reading: Reading
    last: MarkedPosition | None = None
    ended: bool = False
    offers: Mapping[Path, Offer] = field(default_factory=dict)
    fresh: float = 0.0
    skip_repeats: bool = False
    _seen: MutableMapping[_SlotAndContext, tuple[int, ...]] | None = None

    def seen(self) -> MutableMapping[_SlotAndContext, tuple[int, ...]]:
        """The tokens that were marked at each place. Do not keep it: the longer text takes it over and changes it."""
        if self._seen is None:
            self._seen = {}
            for mark in marked_positions(self.last):
                place = mark.slot, mark.context
                self._seen[place] = (*self._seen.get(place, ()), mark.token)
        return self._seen

    def fork(self) -> TextState:
        """The same text once more, without its offers: what is added to it leaves this one as it is.

        It is of use until something is added to this one.
        """
        return replace(self, offers={}, _seen=ChainMap({}, self.seen()))

    def shown(self, step: Step) -> Iterator[tuple[Offer, int]]:
        """The offers at whose places a step shows a token, the first place first, and that token."""
        for depth in range(step.same, len(step.now)):
            offer = self.offers.get(step.now[:depth])
            if offer is not None:
                yield offer, step.now[depth]

    def after(self, step: Step | None, token: int) -> TextState:
        """The text with one more token of the provider's; its marked positions follow what the reader sees now.

        Args:
            step: from the tail of the text's reading; None where the token becomes no text.
            token: of the provider's model.
        """
        last, seen = self.last, self.seen()
        self._seen = None
        if step is None:
            return replace(self, ended=True, offers={}, _seen=seen)
        count, same = self.reading.count, step.same
        while last is not None and last.position >= count + same:
            tokens = list(seen[last.slot, last.context])
            tokens.remove(last.token)
            seen[last.slot, last.context] = tuple(tokens)
            last = last.previous
        for offer, shown in self.shown(step):
            last = offer.mark(count + len(offer.place.path), shown, token, last)
            place = last.slot, last.context
            seen[place] = (*seen.get(place, ()), last.token)
        reading = self.reading.after(step)  # not by `replace`, which is slow: each row of a step passes here
        return TextState(self.payload, self.delta, reading, last, False, {}, self.fresh, self.skip_repeats, seen)

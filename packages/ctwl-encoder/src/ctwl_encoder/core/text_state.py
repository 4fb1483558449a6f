"""The state of one text that is being marked: what a reader sees of it so far, and which positions were marked.

What stands at which place follows from the text's tokens alone. So a text that is read anew, because its server went
back or put it off, is marked as it would have been.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, replace
from typing import Protocol

from ctwl_protocol.bridge import Path, Written
from ctwl_protocol.bridge.written import Step

from .expected_evidence import WrittenPosition, written_positions
from .payload import Payload, Place


class Offers(Protocol):
    """The places that are marked for the next token of a text."""

    def __len__(self) -> int:
        """How many."""

    def mark(
        self, path: Path, index: int, token: int, written: int, previous: WrittenPosition | None
    ) -> WrittenPosition | None:
        """The position, once the next token is written; None where it was not marked.

        Args:
            path: to the place.
            index: of the position in the reader's token sequence.
            token: the proxy token that the reader sees there.
            written: the provider's token.
            previous: the position before, None at the first.
        """


@dataclass(slots=True)
class TextState:
    """A text so far.

    Attributes:
        payload: what it is to carry.
        strength: how strongly it is marked: the share of ``race``, or the nats of ``delta``.
        written: the reader's tokens.
        last: the last position after a whole prefix, marked or not; the earlier ones hang on it.
        ended: whether its last token became no text, as a token that ends a text.
        offers: the places that were marked for the next token; None before it is marked.
    """

    payload: Payload
    strength: float
    written: Written
    last: WrittenPosition | None = None
    ended: bool = False
    offers: Offers | None = None
    _seen: MutableMapping[Place, tuple[int, ...]] | None = None

    def seen(self) -> MutableMapping[Place, tuple[int, ...]]:
        """The tokens at each place. Do not keep it: the longer text takes it over and changes it."""
        if self._seen is None:
            self._seen = {}
            for position in written_positions(self.last):
                self._seen[position.place] = (*self._seen.get(position.place, ()), position.token)
        return self._seen

    def fork(self) -> TextState:
        """The same text once more, without its offers: what is added to it leaves this one as it is.

        They share a dictionary. So once something is added to this one, the other one is wrong.
        """
        return replace(self, offers=None, _seen=ChainMap({}, self.seen()))

    def after(self, step: Step | None, token: int, place_at: Callable[[TextState, Path], Place | None]) -> TextState:
        """The text with one more token of the provider's; its positions follow what the reader sees now.

        Args:
            step: from the text's tail; None where the token becomes no text.
            token: of the provider's model.
            place_at: gives the place after a path, None where the text is too short to carry anything there.
        """
        last, seen = self.last, self.seen()
        self._seen = None
        if step is None:
            return replace(self, ended=True, offers=None, _seen=seen)
        count, same = self.written.count, step.same
        while last is not None and last.position >= count + same:
            tokens = list(seen[last.place])
            tokens.remove(last.token)
            seen[last.place] = tuple(tokens)
            last = last.previous
        offers = self.offers
        for path, shown in step.shown():
            position = None if offers is None else offers.mark(path, count + len(path), shown, token, last)
            if position is None and (place := place_at(self, path)) is not None:
                position = WrittenPosition.unmarked(count + len(path), place, shown, last)
            if position is not None:
                seen[position.place] = (*seen.get(position.place, ()), shown)
                last = position
        written = self.written.after(step)  # not by `replace`, which is slow: each row of a step passes here
        return TextState(self.payload, self.strength, written, last, False, None, seen)

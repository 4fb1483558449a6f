"""The state of one text that is being marked: what a reader sees of it so far, and which positions were marked."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import hashing

from .expected_evidence import HIT_RATE, MarkedPosition, expected_rank_nats, marked_positions, null_hit
from .payload import Payload
from .places import Place
from .reading import Reading, Step
from .strategies import Branch, Strategy

__all__ = ["Half", "HalfKey", "Offer", "TextState"]

HalfKey: TypeAlias = tuple[int, tuple[int, ...]]
"""What decides a half: the permutation's seed, and the prefix that the proxy reads."""

_SlotAndContext: TypeAlias = tuple[int, tuple[int, ...]]
"""What decides a position's colours: its slot, and the context that is hashed there."""


class Half(NamedTuple):
    """What the proxy says of a position: membership, bool (|V|,), and weights, uint32 (|V|,)."""

    inside: NDArray[np.bool_]
    weights: NDArray[np.uint32]


_ON_DEVICE = Branch((), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64))


class Offer(NamedTuple):
    """A place that is marked for the next token.

    Attributes:
        place: the place.
        strategy: how it is marked.
        fresh: share of the tokens whose lot is the text's own.
        branch: its candidates; empty where they stayed on a device.
        mass: the branch's probability; 0 where it stayed on a device.
        prefix: the proxy tokens that the proxy LM reads there; empty on a device.
        seed: of the permutation that the slot's code selects there, ``s(c, a)``; 0 on a device.
        half: what the proxy says of it; None where the proxy was not asked: ``unbiased`` and ``gumbel`` need none,
            ``delta`` not always. None on a device.
        chance: on a device, the probability of the provider's token that was written.
        hit: on a device under ``delta``, whether a proxy token is a member: 1 or 0.
    """

    place: Place
    strategy: Strategy
    fresh: float = 0.0
    branch: Branch = _ON_DEVICE
    mass: float = 0.0
    prefix: tuple[int, ...] = ()
    seed: int = 0
    half: Half | None = None
    chance: Callable[[int], float] | None = None
    hit: Callable[[int], float] | None = None

    @property
    def half_key(self) -> HalfKey:
        """What decides the half."""
        return self.seed, self.prefix

    def mark(self, index: int, token: int, written: int, previous: MarkedPosition | None) -> MarkedPosition:
        """The marked position, where the reader sees ``token`` there and the provider's token was ``written``."""
        if self.half is not None:
            chance = float(self.half.weights[token]) / max(float(self.half.weights.sum(dtype=np.uint64)), 1.0)
            hit = float(self.half.inside[token])
        elif self.chance is not None:
            chance, hit = self.chance(written), HIT_RATE if self.hit is None else self.hit(token)
        else:
            chance = self.branch.share(token)
            hit = HIT_RATE if self.strategy.keeps_distribution or self._leads(token) else 1 - HIT_RATE
        null, slot, context = null_hit(chance), self.place.slot, self.place.context
        rank_nats = expected_rank_nats(chance, self.fresh) if self.strategy.traits.ranks else 0.0
        return MarkedPosition(index, slot, context, token, null, hit + self.fresh * (null - hit), rank_nats, previous)

    def _leads(self, token: int) -> bool:
        """Whether a token would be a member if the proxy had the model's own distribution."""
        ranks = hashing.ranks_of(np.uint32(self.seed), np.append(token, self.branch.tokens))
        if self.strategy.traits.vanilla:
            return bool(ranks[0] < 1 << 31)
        return bool(self.branch.mass[ranks[1:] < ranks[0]].sum() < self.branch.mass.sum() / 2)


@dataclass(slots=True)
class TextState:
    """A text so far.

    Attributes:
        payload: what it is to carry.
        delta: nats, where its strategy adds them.
        reading: the reader's tokens.
        last: the last marked position.
        ended: whether its last token became no text, as a token that ends a text.
        offers: the places that were marked for the next token.
        fresh: under ``gumbel``, share of the tokens whose lot is the text's own; else 0.
        skip_repeats: whether positions are left alone whose context has been marked in it.
    """

    payload: Payload
    delta: float
    reading: Reading
    last: MarkedPosition | None = None
    ended: bool = False
    offers: list[Offer] = field(default_factory=list)
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
        return replace(self, offers=[], _seen=ChainMap({}, self.seen()))

    def shown(self, step: Step) -> Iterator[tuple[Offer, int]]:
        """The offers at whose places a step shows a token, the first place first, and that token."""
        for offer in sorted(self.offers, key=lambda offer: len(offer.place.path)) if self.offers[1:] else self.offers:
            path = offer.place.path
            if step.same <= len(path) < len(step.now) and step.now[: len(path)] == path:
                yield offer, step.now[len(path)]

    def after(self, step: Step | None, token: int) -> TextState:
        """The text with one more token of the provider's; its marked positions follow what the reader sees now.

        Args:
            step: from the tail of the text's reading; None where the token becomes no text.
            token: of the provider's model.
        """
        last, seen = self.last, self.seen()
        self._seen = None
        if step is None:
            return replace(self, ended=True, offers=[], _seen=seen)
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
        return TextState(self.payload, self.delta, reading, last, False, [], self.fresh, self.skip_repeats, seen)

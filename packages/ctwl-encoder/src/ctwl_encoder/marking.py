"""The marker: rows of a provider's distributions in, rows that prefer the code's halves out.

It knows neither transformers' ``generate`` nor any server: what serves text hands it, for each row, the text so far and
the logits of the next token. What has been read and marked is kept by a text's tokens, not by row, so beams
may reorder, rows may come and go, and a caller may go back.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import Profile, framing, hashing, kernel

from .bridge import MINOR, Branch, Bridge
from .expectation import HIT_RATE, Mark, null_hit, raced_nats, until
from .options import Strategy, check_delta, check_strategy
from .payload import Payload
from .reading import Reading, shared
from .strategies import add_delta, probabilities, race, split_mass

__all__ = ["Marker", "Text"]

_HALVES = 4
"""Halves of the vocabulary that are kept for each row: places come back while a word goes on."""

_WORTH = 0.2
"""Mass of a branch for which ``delta`` asks the proxy a second time at one step."""


class _Half(NamedTuple):
    """The proxy's word on a place: bool and uint32 (|V|,)."""

    inside: NDArray[np.bool_]
    weights: NDArray[np.uint32]


class _Offer(NamedTuple):
    """A branch that was marked, by a race or by preferring a half; the half is None where no proxy was asked."""

    branch: Branch
    slot: int
    context: tuple[int, ...]
    raced: bool
    half: _Half | None

    def mark(self, index: int, token: int, previous: Mark | None) -> Mark:
        """What marking is worth where the reader sees this token."""
        if self.half is None:
            chance, hit = self.branch.share(token), HIT_RATE
        else:
            chance = float(self.half.weights[token]) / max(float(self.half.weights.sum(dtype=np.uint64)), 1.0)
            hit = float(self.half.inside[token])
        raced = raced_nats(chance) if self.raced else 0.0
        return Mark(index, self.slot, self.context, token, null_hit(chance), hit, raced, previous)


Place = tuple[int, tuple[int, ...]]
"""A slot and the context that is hashed there: what decides a place's colours."""


@dataclass(slots=True)
class Text:
    """A text so far.

    Attributes:
        reading: what the reader will make of it.
        last: the last marked position.
        ended: whether its last token became no text, as what ends a text does.
        offers: what the marking of the next token left to choose from.
    """

    reading: Reading
    last: Mark | None
    ended: bool
    offers: list[_Offer]
    _seen: dict[Place, list[int]] | None = None

    def seen(self) -> dict[Place, list[int]]:
        """The tokens that were marked at each place; not for keeping, the text that goes on takes it over."""
        if self._seen is None:
            self._seen = {}
            for mark in until(self.last):
                self._seen.setdefault((mark.slot, mark.context), []).append(mark.token)
        return self._seen

    def after(self, reading: Reading, *, ended: bool) -> Text:
        """The text with one more token, its marks credited to the tokens that the reader sees now."""
        last, old, seen = self.last, self.reading, self.seen()
        self._seen = None
        if reading is old:
            return Text(reading, last, ended, [], seen)
        now = (*reading.settled, *reading.tokens)
        same = shared(old.tokens, now)
        while last is not None and last.index >= old.count + same:
            seen[last.slot, last.context].remove(last.token)
            last = last.previous
        for offer in sorted(self.offers, key=lambda offer: len(offer.branch.path)):
            path = offer.branch.path
            if same <= len(path) < len(now) and now[: len(path)] == path:
                last = offer.mark(old.count + len(path), now[len(path)], last)
                seen.setdefault((last.slot, last.context), []).append(last.token)
        return Text(reading, last, ended, [], seen)


class Marker:
    """Prefers, in each row, what carries the row's code.

    Attributes:
        bridge: from the model's vocabulary to the proxy's.
        profile: the profile that reads the text: the bridge's, or its vanilla twin.
    """

    def __init__(
        self,
        bridge: Bridge,
        *,
        strategy: Strategy | str = Strategy.UNBIASED,
        delta: float = 2.0,
        skip_repeats: bool = False,
    ) -> None:
        """Say how to mark.

        Args:
            bridge: from the model's vocabulary to the proxy's.
            strategy: see :class:`Strategy`.
            delta: nats, for ``delta`` and ``vanilla``.
            skip_repeats: leave positions alone whose context has been marked in this text; see the specification.

        Raises:
            StrategyUnsuitable: ``unbiased`` with a sigma other than 1/2.
            OptionOutOfRange: a delta that is not above 0 and at most 100.
        """
        self.strategy = Strategy(strategy)
        self.bridge = bridge
        self.delta = delta
        self.skip_repeats = skip_repeats
        self._proxy = bridge.proxy.vanilla() if self.strategy is Strategy.VANILLA else bridge.proxy
        self.profile: Profile = self._proxy.profile
        check_strategy(self.strategy, self.profile)
        check_delta(delta)
        self._offered: list[Text] = []
        self._seeds: dict[tuple[Payload, int, tuple[int, ...]], int] = {}
        self._words: dict[tuple[int, ...], int] = {}
        self._halves: OrderedDict[tuple[int, tuple[int, ...]], _Half] = OrderedDict()

    def start(self) -> Text:
        """An empty text."""
        return Text(self.bridge.start(), None, False, [])

    def extend(self, text: Text, token: int) -> Text:
        """A text with one more token of the provider's model."""
        return text.after(self.bridge.extend(text.reading, token), ended=not self.bridge.writes(token))

    def mark(
        self,
        texts: Sequence[Text],
        payloads: Sequence[Payload],
        logits: NDArray[np.float32],
        deltas: Sequence[float] | None = None,
    ) -> dict[int, NDArray[np.float32]]:
        """Mark the next token of each row.

        Args:
            texts: one for each row; what is offered to each is noted in it.
            payloads: one for each row.
            logits: float32 (rows, size), after temperature, top-p and the like where the strategy keeps the
                distribution.
            deltas: one for each row; the marker's own where None.

        Returns:
            The rows that were changed: float32 (size,) each, minus infinity for tokens that were cut.

        Raises:
            ModelFailed: a row has no finite maximum.
        """
        for text in self._offered:
            text.offers = []  # large, and of use for one step only
        self._offered = list(texts)
        length = self.profile.prefix_length
        rows = [i for i, text in enumerate(texts) if not text.ended and len(text.reading) >= length]
        if not rows:
            return {}
        likely = probabilities(logits[rows])
        offers = [self._offers(texts[i], payloads[i], chances) for chances, i in zip(likely, rows, strict=True)]
        if not self.strategy.keeps_distribution:
            return self._add(rows, texts, payloads, logits, offers, deltas or [self.delta] * len(texts))
        change = race if self.strategy is Strategy.GUMBEL else split_mass
        marked = {i: logits[i].copy() for i in rows}
        for i, offered in zip(rows, offers, strict=True):
            texts[i].offers = offered
            for offer in offered:
                change(marked[i], offer.branch, self._seed(payloads[i], offer))
        return marked

    def _offers(self, text: Text, payload: Payload, likely: NDArray[np.float32]) -> list[_Offer]:
        """The branches worth marking, the one with most mass first.

        A token that a slot has behind the same context already brings no evidence again, and its colours are the
        same: preferring it once more would only make the text repeat itself. So it keeps the probability it has.
        """
        reading, profile, seen = text.reading, self.profile, text.seen()
        found = []
        for branch in self.bridge.branches(reading, likely):
            if reading.count + len(branch.path) < profile.prefix_length:
                continue
            context = reading.before(branch.path, profile.context_length)
            place = self._slot(payload, reading, branch.path), context
            marked = seen.get(place)
            if self.skip_repeats and marked:
                continue
            fresh = branch.without(marked) if marked else branch
            if len(fresh.candidates):
                found.append(_Offer(fresh, *place, self.strategy is Strategy.GUMBEL, None))
        return sorted(found, key=lambda offer: -float(offer.branch.mass.sum()))

    def _add(
        self,
        rows: list[int],
        texts: Sequence[Text],
        payloads: Sequence[Payload],
        logits: NDArray[np.float32],
        offers: list[list[_Offer]],
        deltas: Sequence[float],
    ) -> dict[int, NDArray[np.float32]]:
        asked: list[tuple[int, _Offer, tuple[int, tuple[int, ...]]]] = []
        missing: dict[tuple[int, ...], list[int]] = {}
        for i, offered in zip(rows, offers, strict=True):
            for k, offer in enumerate(offered):
                window = texts[i].reading.before(offer.branch.path, self.profile.prefix_length)
                key = self._seed(payloads[i], offer), window
                if key not in self._halves:
                    mass = float(offer.branch.mass.sum())
                    if mass < (_WORTH if k else MINOR):
                        continue
                    missing.setdefault(window, []).append(key[0])
                asked.append((i, offer, key))
        self._ask(missing)
        marked = {i: logits[i].copy() for i in rows}
        found: dict[int, list[_Offer]] = {i: [] for i in rows}
        for i, offer, key in asked:
            half = self._halves[key]
            self._halves.move_to_end(key)
            add_delta(marked[i], offer.branch, half.inside, deltas[i])
            found[i].append(offer._replace(half=half))
        for i in rows:
            texts[i].offers = found[i]
        while len(self._halves) > _HALVES * len(rows):
            self._halves.popitem(last=False)
        return marked

    def _ask(self, missing: dict[tuple[int, ...], list[int]]) -> None:
        """Memberships at windows that the proxy has not seen lately."""
        windows = np.array(list(missing), dtype=np.int64).reshape(-1, self.profile.prefix_length)
        wanted = list(missing.values())
        for rows, weights in self._proxy.batches(windows):
            pairs = [(i, seed) for i, seeds in enumerate(wanted[rows]) for seed in sorted(set(seeds))]
            inside = kernel.members(
                weights[[i for i, _ in pairs]], np.array([s for _, s in pairs], dtype=np.uint32), self.profile.sigma
            )
            for (i, seed), members in zip(pairs, inside, strict=True):
                self._halves[seed, tuple(windows[rows.start + i].tolist())] = _Half(members, weights[i].copy())

    def _seed(self, payload: Payload, offer: _Offer) -> int:
        """``s(c, a)`` of what a payload writes at a place."""
        slot = offer.slot
        known = payload, slot, offer.context
        if known not in self._seeds:
            if len(self._seeds) > 1 << 16:
                self._seeds.clear()
            key, colours = self.profile.key, self.profile.colours
            colour_seed = payload.colour_seed(self.profile, slot, offer.context)
            colour = hashing.code_colours(colour_seed, np.array([payload.carried[slot]], dtype=np.uint32), colours)[0]
            seeds = hashing.permutation_seeds(hashing.partition_seed(key, offer.context), colours)
            self._seeds[known] = int(seeds[colour])
        return self._seeds[known]

    def _slot(self, payload: Payload, reading: Reading, path: tuple[int, ...]) -> int:
        """Which of a payload's slots a place carries."""
        if payload.layout is None or payload.layout.codes == 1:
            return 0
        tail = reading.before(path, min(framing.TAIL, self.profile.prefix_length))
        if tail not in self._words:
            if len(self._words) > 1 << 16:
                self._words.clear()
            self._words[tail] = framing.slot_word(self.profile, tail)
        index = reading.count + len(path) - self.profile.prefix_length
        return framing.slot_of(self.profile, payload.layout.codes, self._words[tail], index)

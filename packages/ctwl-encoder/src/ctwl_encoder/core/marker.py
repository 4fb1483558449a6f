"""The marker: rows of a provider's distributions in, rows that prefer the code's halves out.

It knows neither transformers' ``generate`` nor any server: what serves text hands it, for each row, the text so far and
the logits of the next token. What has been read and marked is kept by a text's tokens, not by row, so beams
may reorder, rows may come and go, and a caller may go back.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import Profile, hashing
from ctwl_protocol.partition import kernel
from ctwl_protocol.records import slots

from ..options import Decoding, Strategy, check_delta, check_strategy
from .bridge import MINOR, Branch, Bridge
from .expected_evidence import HIT_RATE, Mark, null_hit, raced_nats, until
from .lower_bound import Least, is_settled
from .payload import Payload
from .reading import Reading, shared
from .strategies import add_delta, probabilities, race, split_mass

__all__ = ["Marker", "Text"]

_HALVES = 4
"""Places that are kept for each row, with their halves where the proxy was asked: they come back as a word goes on."""

_WORTH = 0.2
"""Mass of a branch for which ``delta`` asks the proxy a second time at one step."""


class _Half(NamedTuple):
    """The proxy's word on a place: bool and uint32 (|V|,)."""

    inside: NDArray[np.bool_]
    weights: NDArray[np.uint32]


class _Offer(NamedTuple):
    """A branch that was marked, by a race or by preferring a half.

    The half is None where the proxy was not asked: ``unbiased`` and ``gumbel`` need none, ``delta`` not always.
    """

    branch: Branch
    slot: int
    context: tuple[int, ...]
    seed: int
    strategy: Strategy
    half: _Half | None = None

    def mark(self, index: int, token: int, previous: Mark | None) -> Mark:
        """What marking is worth where the reader sees this token."""
        if self.half is not None:
            chance = float(self.half.weights[token]) / max(float(self.half.weights.sum(dtype=np.uint64)), 1.0)
            hit = float(self.half.inside[token])
        else:
            chance = self.branch.share(token)
            hit = HIT_RATE if self.strategy.keeps_distribution or self._leads(token) else 1 - HIT_RATE
        raced = raced_nats(chance) if self.strategy is Strategy.GUMBEL else 0.0
        return Mark(index, self.slot, self.context, token, null_hit(chance), hit, raced, previous)

    def _leads(self, token: int) -> bool:
        """Whether a token would be a member if the proxy thought as the model does."""
        ranks = hashing.ranks_of(np.uint32(self.seed), np.append(token, self.branch.tokens))
        if self.strategy is Strategy.VANILLA:
            return bool(ranks[0] < 1 << 31)
        return bool(self.branch.mass[ranks[1:] < ranks[0]].sum() < self.branch.mass.sum() / 2)


_HalfKey = tuple[int, tuple[int, ...]]
"""A permutation's seed, and the window that the proxy is asked about."""

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
        decoding: how the next token is chosen from what :meth:`mark` returns.
    """

    def __init__(
        self,
        bridge: Bridge,
        *,
        strategy: Strategy | str = Strategy.UNBIASED,
        delta: float = 2.0,
        skip_repeats: bool = False,
        decoding: Decoding | str = Decoding.ANY,
        uniform: Callable[[], float] = random.random,
    ) -> None:
        """Say how to mark.

        Args:
            bridge: from the model's vocabulary to the proxy's.
            strategy: see :class:`Strategy`.
            delta: nats, for ``delta`` and ``vanilla``.
            skip_repeats: leave positions alone whose context has been marked in this text; see the specification.
            decoding: see :class:`Decoding`.
            uniform: random numbers from 0 to 1, for ``delta`` where tokens are sampled.

        Raises:
            StrategyUnsuitable: ``unbiased`` with a sigma other than 1/2.
            OptionOutOfRange: a delta that is not above 0 and at most 100.
        """
        self.strategy = Strategy(strategy)
        self.bridge = bridge
        self.delta = delta
        self.skip_repeats = skip_repeats
        self.decoding = Decoding(decoding)
        self._uniform = uniform
        self._proxy = bridge.proxy.vanilla() if self.strategy is Strategy.VANILLA else bridge.proxy
        self.profile: Profile = self._proxy.profile
        check_strategy(self.strategy, self.profile)
        check_delta(delta)
        self._offered: list[Text] = []
        self._seeds: dict[tuple[Payload, int, tuple[int, ...]], int] = {}
        self._words: dict[tuple[int, ...], int] = {}
        self._wanted_lately: OrderedDict[_HalfKey, None] = OrderedDict()
        self._halves: dict[_HalfKey, _Half] = {}
        """Of what was wanted lately, what the proxy was asked."""

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
            return self._add(rows, texts, logits, likely, offers, deltas or [self.delta] * len(texts))
        change = race if self.strategy is Strategy.GUMBEL else split_mass
        marked = {i: logits[i].copy() for i in rows}
        for i, offered in zip(rows, offers, strict=True):
            texts[i].offers = offered
            for offer in offered:
                change(marked[i], offer.branch, offer.seed)
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
                found.append(_Offer(fresh, *place, self._seed(payload, *place), self.strategy))
        return sorted(found, key=lambda offer: -float(offer.branch.mass.sum()))

    def _add(
        self,
        rows: list[int],
        texts: Sequence[Text],
        logits: NDArray[np.float32],
        likely: NDArray[np.float32],
        offers: list[list[_Offer]],
        deltas: Sequence[float],
    ) -> dict[int, NDArray[np.float32]]:
        wanted = {i: self._wanted(texts[i], each) for i, each in zip(rows, offers, strict=True)}
        for key, _ in chain.from_iterable(wanted.values()):  # asked or not: decoding must not decide what is marked
            self._wanted_lately[key] = None
            self._wanted_lately.move_to_end(key)
        marked: dict[int, NDArray[np.float32]] = {}
        least: dict[int, Least] = {}
        asked = []
        for i, chances in zip(rows, likely, strict=True):
            texts[i].offers = [offer for _, offer in wanted[i]]
            if self.decoding is not Decoding.ANY and any(key not in self._halves for key, _ in wanted[i]):
                branches = [(offer.branch, offer.seed) for offer in texts[i].offers]
                if self.decoding is Decoding.SAMPLED:
                    least[i] = Least(chances, branches, deltas[i])
                    if self._uniform() < least[i].mass:
                        marked[i] = least[i].known(logits[i])
                        continue
                elif is_settled(chances, branches, deltas[i]):
                    continue
            asked.append(i)
        self._ask(key for i in asked for key, _ in wanted[i])
        for i in asked:
            texts[i].offers = [offer._replace(half=self._halves[key]) for key, offer in wanted[i]]
            insides = [self._halves[key].inside for key, _ in wanted[i]]
            if i in least:
                marked[i] = least[i].beyond(logits[i], insides)
                continue
            marked[i] = logits[i].copy()
            for (_, offer), inside in zip(wanted[i], insides, strict=True):
                add_delta(marked[i], offer.branch, inside, deltas[i])
        while len(self._wanted_lately) > _HALVES * len(rows):
            self._halves.pop(self._wanted_lately.popitem(last=False)[0], None)
        return marked

    def _wanted(self, text: Text, offers: list[_Offer]) -> list[tuple[_HalfKey, _Offer]]:
        """The branches that are worth the proxy's time, and those that were at the steps before, under any decoding."""
        found = []
        for k, offer in enumerate(offers):
            key = offer.seed, text.reading.before(offer.branch.path, self.profile.prefix_length)
            if key in self._wanted_lately or offer.branch.mass.sum() >= (_WORTH if k else MINOR):
                found.append((key, offer))
        return found

    def _ask(self, keys: Iterable[_HalfKey]) -> None:
        """Memberships at windows that the proxy has not seen lately."""
        missing: dict[tuple[int, ...], set[int]] = {}
        for seed, window in keys:
            if (seed, window) not in self._halves:
                missing.setdefault(window, set()).add(seed)
        windows = list(missing)
        every = np.array(windows, dtype=np.int64).reshape(-1, self.profile.prefix_length)
        for rows, weights in self._proxy.batches(every):
            pairs = [(i, seed) for i, window in enumerate(windows[rows]) for seed in sorted(missing[window])]
            inside = kernel.members(
                weights[[i for i, _ in pairs]], np.array([s for _, s in pairs], dtype=np.uint32), self.profile.sigma
            )
            for (i, seed), members in zip(pairs, inside, strict=True):
                self._halves[seed, windows[rows][i]] = _Half(members, weights[i].copy())

    def _seed(self, payload: Payload, slot: int, context: tuple[int, ...]) -> int:
        """``s(c, a)`` of what a payload writes at a place."""
        known = payload, slot, context
        if known not in self._seeds:
            if len(self._seeds) > 1 << 16:
                self._seeds.clear()
            key, colours = self.profile.key, self.profile.colours
            colour_seed = payload.colour_seed(self.profile, slot, context)
            colour = hashing.code_colours(colour_seed, np.array([payload.carried[slot]], dtype=np.uint32), colours)[0]
            seeds = hashing.permutation_seeds(hashing.partition_seed(key, context), colours)
            self._seeds[known] = int(seeds[colour])
        return self._seeds[known]

    def _slot(self, payload: Payload, reading: Reading, path: tuple[int, ...]) -> int:
        """Which of a payload's slots a place carries."""
        if payload.layout is None or payload.layout.codes == 1:
            return 0
        tail = reading.before(path, min(slots.TAIL, self.profile.prefix_length))
        if tail not in self._words:
            if len(self._words) > 1 << 16:
                self._words.clear()
            self._words[tail] = hashing.slot_word(self.profile.key, tail)
        return slots.slot_of(payload.layout.codes, self._words[tail])

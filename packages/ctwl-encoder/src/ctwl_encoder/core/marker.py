"""The marker: takes rows of logits, and returns rows that prefer the code's halves.

It does not depend on transformers or on any server: the caller gives it, for each row, the text so far and the logits
of the next token. A text's state belongs to its tokens, not to a row, so beams may reorder, rows may come and go, and a
caller may go back.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import Profile, hashing
from ctwl_protocol.partition import kernel
from ctwl_protocol.records import slots

from ..options import Decoding, Strategy, check_delta, check_strategy
from .bridge import MINOR, Branch, Bridge
from .expected_evidence import HIT_RATE, MarkedPosition, expected_rank_nats, marked_positions, null_hit
from .lower_bound import LowerBound, argmax_is_certain
from .payload import Payload
from .reading import Reading, common_prefix_length
from .strategies import add_delta, exponential_minimum, keep_first_half, probabilities

__all__ = ["Marker", "TextState"]

_HALVES = 4
"""Positions kept for each row, with their halves where the proxy was asked: they come back while a word goes on. Chosen
by hand: a word rarely has more tokens. With fewer the proxy is asked more often; more take memory."""

SECOND_QUESTION = 0.2
"""Mass of a branch for which ``delta`` asks the proxy once more at one step. Chosen by hand: with less, more is marked
and each step takes longer. evaluation/asked.py counts the questions."""

_CACHED = 1 << 16
"""Entries of a cache before it is emptied. Chosen by hand; only speed and memory depend on it."""


class _Half(NamedTuple):
    """What the proxy says of a position: membership, bool (|V|,), and weights, uint32 (|V|,)."""

    inside: NDArray[np.bool_]
    weights: NDArray[np.uint32]


class _Offer(NamedTuple):
    """A branch that is marked, by its candidates' ranks or by preferring a half.

    The half is None where the proxy was not asked: ``unbiased`` and ``gumbel`` need none, ``delta`` not always.
    """

    branch: Branch
    slot: int
    context: tuple[int, ...]
    prefix: tuple[int, ...]
    seed: int
    strategy: Strategy
    half: _Half | None = None

    @property
    def mass(self) -> float:
        """The branch's probability."""
        return float(self.branch.mass.sum())

    @property
    def half_key(self) -> _HalfKey:
        """What decides the half: the permutation's seed and the prefix."""
        return self.seed, self.prefix

    def mark(self, index: int, token: int, previous: MarkedPosition | None) -> MarkedPosition:
        """The marked position, where the reader sees this token there."""
        if self.half is not None:
            chance = float(self.half.weights[token]) / max(float(self.half.weights.sum(dtype=np.uint64)), 1.0)
            hit = float(self.half.inside[token])
        else:
            chance = self.branch.share(token)
            hit = HIT_RATE if self.strategy.keeps_distribution or self._leads(token) else 1 - HIT_RATE
        rank_nats = expected_rank_nats(chance) if self.strategy is Strategy.GUMBEL else 0.0
        return MarkedPosition(index, self.slot, self.context, token, null_hit(chance), hit, rank_nats, previous)

    def _leads(self, token: int) -> bool:
        """Whether a token would be a member if the proxy had the model's own distribution."""
        ranks = hashing.ranks_of(np.uint32(self.seed), np.append(token, self.branch.tokens))
        if self.strategy is Strategy.VANILLA:
            return bool(ranks[0] < 1 << 31)
        return bool(self.branch.mass[ranks[1:] < ranks[0]].sum() < self.branch.mass.sum() / 2)


_HalfKey = tuple[int, tuple[int, ...]]
"""A permutation's seed, and the prefix that the proxy reads."""

Place = tuple[int, tuple[int, ...]]
"""A slot and the context that is hashed there: what decides a position's colours."""


@dataclass(slots=True)
class TextState:
    """A text so far.

    Attributes:
        reading: the reader's tokens.
        last: the last marked position.
        ended: whether its last token became no text, as a token that ends a text.
        offers: the branches that were marked for the next token.
    """

    reading: Reading
    last: MarkedPosition | None
    ended: bool
    offers: list[_Offer]
    _seen: dict[Place, list[int]] | None = None

    def seen(self) -> dict[Place, list[int]]:
        """The tokens that were marked at each place. Do not keep it: the longer text takes it over and changes it."""
        if self._seen is None:
            self._seen = {}
            for mark in marked_positions(self.last):
                self._seen.setdefault((mark.slot, mark.context), []).append(mark.token)
        return self._seen

    def after(self, reading: Reading, *, ended: bool) -> TextState:
        """The text with one more token; its marked positions follow the tokens that the reader sees now."""
        last, old, seen = self.last, self.reading, self.seen()
        self._seen = None
        if reading is old:
            return TextState(reading, last, ended, [], seen)
        now = (*reading.settled, *reading.tokens)
        same = common_prefix_length(old.tokens, now)
        while last is not None and last.index >= old.count + same:
            seen[last.slot, last.context].remove(last.token)
            last = last.previous
        for offer in sorted(self.offers, key=lambda offer: len(offer.branch.path)):
            path = offer.branch.path
            if same <= len(path) < len(now) and now[: len(path)] == path:
                last = offer.mark(old.count + len(path), now[len(path)], last)
                seen.setdefault((last.slot, last.context), []).append(last.token)
        return TextState(reading, last, ended, [], seen)


@dataclass(slots=True)
class _Row:
    """One row of a step while it is marked.

    Attributes:
        index: of the row.
        text: the text so far.
        logits: float32 (size,).
        likely: float32 (size,), their softmax.
        offers: the branches to mark.
        delta: nats.
        lower_bound: what ``delta`` leaves whatever the proxy says, where tokens are sampled.
        marked: float32 (size,), the logits to return; None where they stay.
    """

    index: int
    text: TextState
    logits: NDArray[np.float32]
    likely: NDArray[np.float32]
    offers: list[_Offer]
    delta: float
    lower_bound: LowerBound | None = None
    marked: NDArray[np.float32] | None = None


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
        self._offered: list[TextState] = []
        self._seeds: dict[tuple[Payload, int, tuple[int, ...]], int] = {}
        self._words: dict[tuple[int, ...], int] = {}
        self._lately: OrderedDict[_HalfKey, None] = OrderedDict()
        self._halves: dict[_HalfKey, _Half] = {}
        """What the proxy said of those that were marked lately, where it was asked."""

    def start(self) -> TextState:
        """An empty text."""
        return TextState(self.bridge.start(), None, False, [])

    def extend(self, text: TextState, token: int) -> TextState:
        """A text with one more token of the provider's model."""
        return text.after(self.bridge.extend(text.reading, token), ended=not self.bridge.writes(token))

    def mark(
        self,
        texts: Sequence[TextState],
        payloads: Sequence[Payload],
        logits: NDArray[np.float32],
        deltas: Sequence[float] | None = None,
    ) -> dict[int, NDArray[np.float32]]:
        """MarkedPosition the next token of each row.

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
        long_enough = [i for i, text in enumerate(texts) if not text.ended and len(text.reading) >= length]
        if not long_enough:
            return {}
        rows = []
        for i, likely in zip(long_enough, probabilities(logits[long_enough]), strict=True):
            delta = deltas[i] if deltas else self.delta
            rows.append(_Row(i, texts[i], logits[i], likely, self._offers(texts[i], payloads[i], likely), delta))
        if self.strategy.keeps_distribution:
            return {row.index: self._reweigh(row) for row in rows}
        return self._add_delta(rows)

    def _offers(self, text: TextState, payload: Payload, likely: NDArray[np.float32]) -> list[_Offer]:
        """The branches that may be marked, the one with most mass first.

        A token that a slot has behind the same context already brings no evidence again, and its colours are the
        same: preferring it once more would only make the text repeat itself. So it keeps the probability it has.
        """
        reading, profile, seen = text.reading, self.profile, text.seen()
        found = []
        for branch in self.bridge.branches(reading, likely):
            if reading.count + len(branch.path) < profile.prefix_length:
                continue
            prefix = reading.before(branch.path, profile.prefix_length)
            context = reading.before(branch.path, profile.context_length)
            slot = self._slot(payload, prefix)
            marked = seen.get((slot, context))
            if self.skip_repeats and marked:
                continue
            fresh = branch.without(marked) if marked else branch
            if len(fresh.candidates):
                seed = self._seed(payload, slot, context)
                found.append(_Offer(fresh, slot, context, prefix, seed, self.strategy))
        return sorted(found, key=lambda offer: -offer.mass)

    def _reweigh(self, row: _Row) -> NDArray[np.float32]:
        """The row's logits under ``unbiased`` (spec section 8.3) or ``gumbel`` (8.4)."""
        change = exponential_minimum if self.strategy is Strategy.GUMBEL else keep_first_half
        row.text.offers = row.offers
        marked = row.logits.copy()
        for offer in row.offers:
            change(marked, offer.branch, offer.seed)
        return marked

    def _add_delta(self, rows: list[_Row]) -> dict[int, NDArray[np.float32]]:
        """The rows that change under ``delta`` or ``vanilla`` (spec section 8.2), by index."""
        for row in rows:
            row.offers = row.text.offers = self._worth_asking(row.offers)
        for offer in (offer for row in rows for offer in row.offers):
            # Whether the proxy is asked or not: the way of decoding must not change what is marked.
            self._lately[offer.half_key] = None
            self._lately.move_to_end(offer.half_key)
        undecided = [row for row in rows if not self._decide_without_proxy(row)]
        self._ask(offer.half_key for row in undecided for offer in row.offers)
        for row in undecided:
            self._decide_with_proxy(row)
        while len(self._lately) > _HALVES * len(rows):
            self._halves.pop(self._lately.popitem(last=False)[0], None)
        return {row.index: row.marked for row in rows if row.marked is not None}

    def _worth_asking(self, offers: list[_Offer]) -> list[_Offer]:
        """The branches with enough mass to ask the proxy about, and those that were marked at the steps before."""
        return [
            offer
            for k, offer in enumerate(offers)
            if offer.half_key in self._lately or offer.mass >= (SECOND_QUESTION if k else MINOR)
        ]

    def _decide_without_proxy(self, row: _Row) -> bool:
        """Mark a row if its next token does not depend on what the proxy would say; whether it was so."""
        known = all(offer.half_key in self._halves for offer in row.offers)
        if self.decoding is Decoding.ANY or known:
            return False
        branches = [(offer.branch, offer.seed) for offer in row.offers]
        if self.decoding is Decoding.GREEDY:
            return argmax_is_certain(row.likely, branches, row.delta)
        row.lower_bound = LowerBound(row.likely, branches, row.delta)
        if self._uniform() >= row.lower_bound.mass:
            return False
        row.marked = row.lower_bound.known(row.logits)
        return True

    def _decide_with_proxy(self, row: _Row) -> None:
        """Mark a row whose halves are known."""
        halves = [self._halves[offer.half_key] for offer in row.offers]
        row.text.offers = [offer._replace(half=half) for offer, half in zip(row.offers, halves, strict=True)]
        if row.lower_bound is not None:
            row.marked = row.lower_bound.beyond(row.logits, [half.inside for half in halves])
            return
        row.marked = row.logits.copy()
        for offer, half in zip(row.offers, halves, strict=True):
            add_delta(row.marked, offer.branch, half.inside, row.delta)

    def _ask(self, keys: Iterable[_HalfKey]) -> None:
        """Ask the proxy for the halves that are not known yet."""
        missing: dict[tuple[int, ...], set[int]] = {}
        for seed, prefix in keys:
            if (seed, prefix) not in self._halves:
                missing.setdefault(prefix, set()).add(seed)
        prefixes = list(missing)
        every = np.array(prefixes, dtype=np.int64).reshape(-1, self.profile.prefix_length)
        for rows, weights in self._proxy.batches(every):
            pairs = [(i, seed) for i, prefix in enumerate(prefixes[rows]) for seed in sorted(missing[prefix])]
            inside = kernel.members(
                weights[[i for i, _ in pairs]], np.array([s for _, s in pairs], dtype=np.uint32), self.profile.sigma
            )
            for (i, seed), members in zip(pairs, inside, strict=True):
                self._halves[seed, prefixes[rows][i]] = _Half(members, weights[i].copy())

    def _seed(self, payload: Payload, slot: int, context: tuple[int, ...]) -> int:
        """The permutation's seed ``s(c, a)`` of what a payload writes at a place (spec section 6)."""
        known = payload, slot, context
        if known not in self._seeds:
            if len(self._seeds) > _CACHED:
                self._seeds.clear()
            key, colours = self.profile.key, self.profile.colours
            colour_seed = payload.colour_seed(self.profile, slot, context)
            colour = hashing.code_colours(colour_seed, np.array([payload.carried[slot]], dtype=np.uint32), colours)[0]
            seeds = hashing.permutation_seeds(hashing.partition_seed(key, context), colours)
            self._seeds[known] = int(seeds[colour])
        return self._seeds[known]

    def _slot(self, payload: Payload, prefix: tuple[int, ...]) -> int:
        """Which of a payload's slots the position behind a prefix carries."""
        if payload.layout is None or payload.layout.codes == 1:
            return 0
        tail = prefix[-slots.TAIL :]
        if tail not in self._words:
            if len(self._words) > _CACHED:
                self._words.clear()
            self._words[tail] = hashing.slot_word(self.profile.key, tail)
        return slots.slot_of(payload.layout.codes, self._words[tail])

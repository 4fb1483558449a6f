"""The marker: takes rows of logits, and returns rows that prefer the code's halves.

It depends on no engine: the caller gives it, for each row, the text so far and the logits of the next token. A text's
state belongs to its tokens, not to a row, so beams may reorder, rows may come and go, and a caller may go back.

Here it marks on the host, and needs no torch: only a strategy that asks the proxy LM does, when it first asks.
:mod:`.device.marker` marks where the logits are. What ``delta`` draws without asking the proxy is decided here alone:
that needs the order of all candidates, and pays where a forward pass of the proxy costs more than a copy of the logits.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import Profile, hashing
from ctwl_protocol.bridge import Bridge, Path
from ctwl_protocol.partition import kernel
from ctwl_protocol.proxy import Proxy
from ctwl_protocol.records import slots

from ..errors import ExtraMissing
from .expected_evidence import expected_log2_p
from .lower_bound import LowerBound, argmax_is_certain
from .offers import BranchOffer, BranchOffers, Half, HalfKey
from .payload import Payload, Place, Seeds
from .strategies import Decoding, Lots, Strategy, add_delta, check_sigma, multiply, probabilities
from .text_state import TextState

__all__ = ["Marker", "prefixes_and_seeds"]

_HALVES_PER_ROW = 4
"""Positions whose halves are kept for each row: they are needed again until a word is complete. Chosen by hand: a word
rarely has more tokens. With fewer the proxy LM is asked more often; more take memory."""

FIRST_BRANCH_MASS = 0.01
"""Smallest mass of the likeliest branch that ``delta`` marks. Chosen by hand, as the next."""

FURTHER_BRANCH_MASS = 0.2
"""Smallest mass of a second or later branch that ``delta`` marks in one step. Chosen by hand: with less, more is marked
and each step takes longer. evaluation/speed/asked.py counts how often the proxy LM is asked."""


@dataclass(slots=True)
class _Row:
    """One row of a step while it is marked.

    Attributes:
        index: of the row.
        text: the text so far; rows with the same tokens share it.
        logits: float32 (size,).
        likely: float32 (size,), their softmax.
        offers: the branches to mark.
        lower_bound: what ``delta`` leaves whatever the proxy says, where tokens are sampled.
        marked: float32 (size,), the logits to return; None where they stay.
    """

    index: int
    text: TextState
    logits: NDArray[np.float32]
    likely: NDArray[np.float32]
    offers: list[BranchOffer]
    lower_bound: LowerBound | None = None
    marked: NDArray[np.float32] | None = None


class Marker:
    """Prefers, in each row, what carries the row's code.

    Attributes:
        profile: the profile that reads the text: the bridge's, or its vanilla twin.
    """

    def __init__(
        self,
        bridge: Bridge,
        strategy: Strategy,
        *,
        decoding: Decoding = Decoding.ANY,
        uniform: Callable[[], float] = random.random,
    ) -> None:
        """Say how to mark.

        Args:
            bridge: from the model's vocabulary to the proxy's.
            strategy: how the distribution is changed.
            decoding: how the next token is chosen from what :meth:`mark` returns.
            uniform: random numbers from 0 to 1, for ``delta`` where tokens are sampled.

        Raises:
            StrategyUnsuitable: ``unbiased`` with a sigma other than 1/2.
        """
        self.bridge = bridge
        self.strategy = strategy
        self.decoding = decoding
        self._uniform = uniform
        own = bridge.proxy.profile
        self.profile: Profile = own.vanilla() if strategy.traits.vanilla else own
        self._proxy = Proxy(self.profile, bridge.proxy.tokenizer) if strategy.traits.vanilla else bridge.proxy
        check_sigma(strategy, self.profile)
        self._offered: list[TextState] = []
        profile, cached = self.profile, lru_cache(maxsize=1 << 16)  # by hand: only speed and memory depend on it
        self._seeds = Seeds(profile)
        self._slot_word = cached(lambda tail: hashing.slot_word(profile.key, tail))
        self._halves: OrderedDict[HalfKey, Half | None] = OrderedDict()
        """The positions that were marked lately, and what the proxy said of them where it was asked."""

    def start(self, payload: Payload, delta: float, *, fresh: float = 0.0, skip_repeats: bool = False) -> TextState:
        """An empty text.

        Args:
            payload: what it is to carry.
            delta: nats, for the strategies that add them.
            fresh: under ``gumbel``, share of the tokens whose lot is the text's own (spec section 8.4), 0 to 1.
            skip_repeats: leave positions alone whose context was in this text before; see the specification.
        """
        fresh = fresh if self.strategy.traits.ranks else 0.0
        return TextState(payload, delta, self.bridge.start(), fresh=fresh, skip_repeats=skip_repeats)

    def extend(self, text: TextState, token: int) -> TextState:
        """A text with one more token of the provider's model."""
        return text.after(self.bridge.step(text.written.tail, token), token, self.place_at)

    def expected_log2_p(self, text: TextState) -> float:
        """What to expect of log2 of the p-value of a text's record, see :func:`.expected_evidence.expected_log2_p`."""
        layout = text.payload.layout
        bits = self.profile.code_bits * (1 if layout is None else layout.codes)
        return expected_log2_p(text.last, bits, self.strategy, text.fresh, own=self.bridge.own)

    def load(self) -> None:
        """Open the proxy LM, if the strategy asks it and it is not open.

        Raises:
            ExtraMissing: torch and transformers are not installed.
            CTWLError: see :func:`ctwl_protocol.proxy.open_proxy`.
        """
        if self.strategy.keeps_distribution:
            return
        try:
            self._proxy.load_for_writing()
        except ImportError as error:
            raise ExtraMissing(
                f"{self.strategy} asks the proxy LM, which needs {error.name or error}; install it with: "
                "pip install 'ctwl-encoder[torch]'. unbiased and gumbel need none"
            ) from error

    def mark(self, texts: Sequence[TextState], logits: NDArray[np.float32]) -> dict[int, NDArray[np.float32]]:
        """Mark the next token of each row under a strategy that adds ``delta``.

        Args:
            texts: one for each row; what is offered to each is noted in it.
            logits: float32 (rows, size).

        Returns:
            The rows that were changed: float32 (size,) each, minus infinity for tokens that were cut.

        Raises:
            ModelFailed: a row has no finite maximum.
        """
        for text in self._offered:
            text.offers = None  # large, and of use for one step only
        self._offered = list(texts)
        begun = [i for i, text in enumerate(texts) if self._is_begun(text)]
        if not begun:
            return {}
        likely = probabilities(logits[begun])
        rows = [
            _Row(i, texts[i], logits[i], chances, self.offers(texts[i], chances))
            for i, chances in zip(begun, likely, strict=True)
        ]
        self._add_delta(rows)
        for row in rows:
            row.text.offers = BranchOffers.of(row.offers)
        return {row.index: row.marked for row in rows if row.marked is not None}

    def _is_begun(self, text: TextState) -> bool:
        """Whether the next token of a text may be marked: it has a whole prefix, and has not ended."""
        return not text.ended and len(text.written) >= self.profile.prefix_length

    def reweigh_by_numpy(
        self, texts: Sequence[TextState], logits: NDArray[np.float32], likely: NDArray[np.float32]
    ) -> None:
        """Mark the next token of each row under a strategy that keeps the distribution, row by row.

        llama.cpp marks by it, and tests hold :meth:`ctwl_encoder.core.device.marker.DeviceMarker.reweigh` to it.

        Args:
            texts: one for each row; what is offered to each is noted in it.
            logits: float32 (rows, size), after temperature, top-p and the like; changed in place.
            likely: float32 (rows, size), their softmax.
        """
        change = self.strategy.traits.reweigh
        assert change is not None  # noqa: S101 - the strategy keeps the distribution
        for text, row, chances in zip(texts, logits, likely, strict=True):
            offers = self.offers(text, chances) if self._is_begun(text) else []
            text.offers = BranchOffers.of(offers)
            for offer in offers:
                own = text.payload.own_seed(text.written.count + len(offer.branch.path)) if text.fresh else 0
                multiply(row, offer.branch, change(offer.branch, Lots(offer.seed, own, text.fresh)))

    def offers(self, text: TextState, likely: NDArray[np.float32]) -> list[BranchOffer]:
        """The branches of a text that may be marked, the one with most mass first.

        Args:
            text: the text so far, of at least ``L_prefix`` tokens.
            likely: float32 (size,), the model's distribution.
        """
        found = []
        for branch in self.bridge.branches(text.written, likely):
            place, seen = self._to_mark(text, branch.path)
            if place is not None:
                unseen = branch.without(seen) if seen else branch
                if len(unseen.candidates):
                    prefix = text.written.before(branch.path, self.profile.prefix_length)
                    seed = self._seeds.of(text.payload, place)
                    mass = float(unseen.mass.sum())
                    found.append(BranchOffer(place, self.strategy, unseen, mass, prefix, seed))
        return sorted(found, key=lambda offer: -offer.mass)

    def place_at(self, text: TextState, path: Path) -> Place | None:
        """The place behind a path, its slot that of spec section 9.4; None where a reader scores nothing there."""
        written, profile = text.written, self.profile
        if written.count + len(path) < profile.prefix_length:
            return None
        context = written.before(path, profile.context_length)
        slot = 0
        if text.payload.layout is not None and text.payload.layout.codes > 1:
            slot = slots.slot_of(text.payload.layout.codes, self._slot_word(written.before(path, slots.TAIL)))
        return slot, context

    def _to_mark(self, text: TextState, path: Path) -> tuple[Place | None, Sequence[int]]:
        """The place behind a path, None where nothing is marked there; and the tokens that stand there already.

        Such a token adds no evidence again: to prefer it once more would only make the text repeat itself. So it keeps
        its probability.
        """
        place = self.place_at(text, path)
        if place is None:
            return None, ()
        seen = text.seen().get(place, ())
        return (None if seen and text.skip_repeats else place), seen

    def _chosen(self, rows: Sequence[Sequence[tuple[float, HalfKey]]]) -> list[list[int]]:
        """The places that ``delta`` marks: those with enough mass, and those that were marked at the steps before.

        Whether the proxy is asked or not: the way of decoding must not change what is marked.

        Args:
            rows: for each row the mass and the half of its places.

        Returns:
            For each row the indexes of the chosen places, the one with most mass first.
        """
        chosen = []
        for places in rows:
            order = sorted(range(len(places)), key=[-mass for mass, _ in places].__getitem__)
            least = [FIRST_BRANCH_MASS, *[FURTHER_BRANCH_MASS] * len(order)]
            kept = zip(order, least, strict=False)
            chosen.append([i for i, mass in kept if places[i][0] >= mass or places[i][1] in self._halves])
        for places, indexes in zip(rows, chosen, strict=True):
            for i in indexes:
                self._halves.setdefault(places[i][1])
                self._halves.move_to_end(places[i][1])
        return chosen

    def _forget(self, rows: int) -> None:
        """Keep the positions that were marked lately in so many rows."""
        while len(self._halves) > _HALVES_PER_ROW * rows:
            self._halves.popitem(last=False)

    def _add_delta(self, rows: list[_Row]) -> None:
        """Mark rows under a strategy that adds ``delta`` (spec section 8.2); ask the proxy where it has to be asked."""
        chosen = self._chosen([[(offer.mass, offer.half_key) for offer in row.offers] for row in rows])
        for row, indexes in zip(rows, chosen, strict=True):
            row.offers = [row.offers[i] for i in indexes]
        undecided = [row for row in rows if not self._decide_without_proxy(row)]
        self._ask(dict.fromkeys(offer.half_key for row in undecided for offer in row.offers))
        for row in undecided:
            self._decide_with_proxy(row)
        self._forget(len(rows))

    def _decide_without_proxy(self, row: _Row) -> bool:
        """Decide a row without the proxy LM where its next token cannot depend on it; return whether that was possible.

        A greedy row is then left as it is, because its most likely token stays the same.
        """
        if self.decoding is Decoding.ANY or all(self._halves[offer.half_key] for offer in row.offers):
            return False
        branches = [(offer.branch, offer.seed) for offer in row.offers]
        if self.decoding is Decoding.GREEDY:
            return argmax_is_certain(row.likely, branches, row.text.delta)
        row.lower_bound = LowerBound(row.likely, branches, row.text.delta)
        if self._uniform() >= row.lower_bound.mass:
            return False
        row.marked = row.lower_bound.known(row.logits)
        return True

    def _decide_with_proxy(self, row: _Row) -> None:
        """Mark a row whose halves are known."""
        row.offers = [offer._replace(half=self._halves[offer.half_key]) for offer in row.offers]
        insides = [offer.half.inside for offer in row.offers if offer.half]
        if row.lower_bound is not None:
            row.marked = row.lower_bound.beyond(row.logits, insides)
            return
        row.marked = row.logits.copy()
        for offer, inside in zip(row.offers, insides, strict=True):
            add_delta(row.marked, offer.branch, inside, row.text.delta)

    def _ask(self, keys: Iterable[HalfKey]) -> None:
        """Ask the proxy for the halves that are not known yet."""
        keys = [key for key in keys if not self._halves[key]]
        if not keys:
            return
        self.load()
        prefixes, seeds = prefixes_and_seeds(keys)
        for rows, weights in self._proxy.batches(prefixes):
            insides = kernel.members(weights, seeds[rows], self.profile.sigma)
            for key, inside, row in zip(keys[rows], insides, weights, strict=True):
                self._halves[key] = Half(inside, row.copy())


def prefixes_and_seeds(keys: Sequence[HalfKey]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """What decides some halves, at least one, as arrays: int64 (n, L_prefix) and uint32 (n,)."""
    seeds, prefixes = zip(*keys, strict=True)
    return np.array(prefixes, dtype=np.int64), np.array(seeds, dtype=np.uint32)

"""The marker on the host: all strategies in NumPy, without torch but for the proxy LM that ``delta`` asks.

Engines whose logits are NumPy's mark here. ``delta`` marks here for the others too, where their way of decoding lets it
ask less. The tests hold :mod:`.device.marker` to it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.bridge import Bridge
from ctwl_protocol.errors import ModelFailed

from .marker import Marker
from .offers import BranchOffer, BranchOffers, MarkedRow
from .strategies import Decoding, Strategy
from .strategies.traits import Nats
from .text_state import TextState


class HostMarker(Marker):
    """A :class:`ctwl_encoder.core.marker.Marker` for engines whose logits are NumPy's."""

    def __init__(
        self,
        bridge: Bridge,
        strategy: Strategy,
        *,
        decoding: Decoding = Decoding.ANY,
        uniform: Callable[[], float] = random.random,  # noqa: S311 - samples tokens, makes no secrets
    ) -> None:
        """Say how to mark.

        Args:
            bridge: from the model's vocabulary to the proxy's.
            strategy: how the distribution is changed.
            decoding: how the next token is chosen from what :meth:`mark` leaves.
            uniform: random numbers from 0 to 1, for ``delta`` where tokens are sampled.
        """
        super().__init__(bridge, strategy)
        self._mark: Callable[[Sequence[MarkedRow]], None]
        if nats := strategy.traits.nats:
            self._mark = partial(_add, nats)
        else:
            reference = import_module(f".strategies.{strategy}.reference", __package__)
            self._mark = reference.Mark(bridge.proxy, decoding, uniform)
        self._offered: list[TextState] = []

    def mark(self, texts: Sequence[TextState], logits: NDArray[np.float32]) -> None:
        """See :meth:`ctwl_encoder.core.marker.Marker.mark`.

        Args:
            texts: one for each row.
            logits: float32 (rows, size); minus infinity for tokens that were cut.

        Raises:
            ModelFailed: a row has no finite maximum.
            CTWLError: ``delta``, see :meth:`load`.
        """
        for text in self._offered:
            text.offers = None  # large, and of use for one step only
        self._offered = list(texts)
        begun = [i for i, text in enumerate(texts) if self.is_begun(text)]
        if not begun:
            return
        likely = probabilities(logits[begun])
        rows = [
            MarkedRow(texts[i], logits[i], chances, self.offers(texts[i], chances))
            for i, chances in zip(begun, likely, strict=True)
        ]
        self._mark(rows)
        for row in rows:
            row.text.offers = BranchOffers((each.branch.path, each) for each in row.offers)

    def offers(self, text: TextState, likely: NDArray[np.float32]) -> list[BranchOffer]:
        """The branches of a text that may be marked, the one with most mass first.

        Args:
            text: the text so far, of at least ``L_prefix`` tokens.
            likely: float32 (size,), the model's distribution.
        """
        found = []
        for branch in self.bridge.branches(text.written, likely):
            place, seen = self.to_mark(text, branch.path)
            if place is not None:
                unseen = branch.without(seen) if seen else branch
                if len(unseen.candidates):
                    prefix = text.written.before(branch.path, self.profile.prefix_length)
                    seed = self._seeds.of(text.payload, place)
                    mass = float(unseen.mass.sum())
                    found.append(BranchOffer(place, self.strategy, unseen, mass, prefix, seed))
        return sorted(found, key=lambda offer: -offer.mass)


def probabilities(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Softmax.

    Args:
        logits: float32 (rows, size), normalized or not.

    Raises:
        ModelFailed: a row has no finite maximum.
    """
    highest = logits.max(axis=1, keepdims=True)
    if not np.isfinite(highest).all():
        raise ModelFailed("the model's logits are not numbers; run it in float32 or bfloat16")
    exponent = np.exp(logits - highest)
    exponent /= exponent.sum(axis=1, keepdims=True)
    return np.asarray(exponent)


def _add(nats: Nats, rows: Sequence[MarkedRow]) -> None:
    """Mark rows under a strategy that keeps the distribution."""
    for row in rows:
        for offer in row.offers:
            gained = nats(offer.branch, offer.seed, row.text.strength)
            row.logits[offer.branch.candidates] += gained.astype(np.float32)

"""Offers: the places that are marked for a text's next token, and the position that is marked once it is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import hashing
from ctwl_protocol.bridge import Branch, Path

from .expected_evidence import HIT_RATE, WrittenPosition
from .halves import Half, HalfKey
from .payload import Place
from .strategies import Strategy
from .text_state import TextState


class BranchOffer(NamedTuple):
    """A place that is marked for the next token, where its candidates are known on the host.

    Attributes:
        place: the place.
        strategy: how it is marked.
        branch: its candidates.
        mass: the branch's probability.
        prefix: the proxy tokens that the proxy LM reads there.
        seed: of the permutation that the slot's code selects there, ``s(c, a)``.
        half: what the proxy says of it; None where the proxy was not asked: ``race`` needs none, ``delta`` not
            always.
    """

    place: Place
    strategy: Strategy
    branch: Branch
    mass: float
    prefix: tuple[int, ...]
    seed: int
    half: Half | None = None

    @property
    def half_key(self) -> HalfKey:
        """What decides the half."""
        return self.seed, self.prefix

    def mark(self, index: int, token: int, previous: WrittenPosition | None) -> WrittenPosition:
        """See :meth:`ctwl_encoder.core.text_state.Offers.mark`."""
        if self.half is not None:
            chance = float(self.half.weights[token]) / max(float(self.half.weights.sum(dtype=np.uint64)), 1.0)
            hit = float(self.half.inside[token])
        else:
            chance = self.branch.share(token)
            hit = HIT_RATE if self.strategy.keeps_distribution or self._leads(token) else 1 - HIT_RATE
        return WrittenPosition(index, self.place, token, chance, hit, previous)

    def _leads(self, token: int) -> bool:
        """Whether a token would be a member if the proxy had the model's own distribution."""
        ranks = hashing.ranks_of(np.uint32(self.seed), np.append(token, self.branch.tokens))
        return bool(self.branch.mass[ranks[1:] < ranks[0]].sum() < self.branch.mass.sum() / 2)


class BranchOffers(dict[Path, BranchOffer]):
    """See :class:`ctwl_encoder.core.text_state.Offers`: the offers of the host, by their paths."""

    def mark(
        self, path: Path, index: int, token: int, written: int, previous: WrittenPosition | None
    ) -> WrittenPosition | None:
        """See :meth:`ctwl_encoder.core.text_state.Offers.mark`."""
        del written
        offer = self.get(path)
        return None if offer is None else offer.mark(index, token, previous)


@dataclass(slots=True)
class MarkedRow:
    """One row of a step while it is marked on the host.

    Attributes:
        text: the text so far; rows with the same tokens share it.
        logits: float32 (size,), marked in place.
        likely: float32 (size,), their softmax before.
        offers: the branches to mark.
    """

    text: TextState
    logits: NDArray[np.float32]
    likely: NDArray[np.float32]
    offers: list[BranchOffer]

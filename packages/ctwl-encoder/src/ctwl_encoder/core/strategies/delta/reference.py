"""``delta`` in NumPy (spec section 8.2): the reference, and the way that asks the proxy LM least.

Where tokens are sampled or chosen greedily, the next token often does not depend on the proxy. To see this, the order
of all candidates is needed on the host; that pays where a forward pass of the proxy costs more than a copy of the
logits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.bridge import Branch
from ctwl_protocol.partition.members import members
from ctwl_protocol.proxy import Proxy

from ...halves import Half, Halves
from ...offers import MarkedRow
from .. import Decoding
from .lower_bound import LowerBound, argmax_is_certain


def add_delta(logits: NDArray[np.float32], branch: Branch, inside: NDArray[np.bool_], delta: float) -> None:
    """Add ``delta`` to the logits of the candidates whose token at the branch is a member of ``V``, in place.

    Args:
        logits: float32 (size,).
        branch: the branch.
        inside: bool (|V|,), membership at the branch.
        delta: nats.
    """
    logits[branch.candidates[inside[branch.tokens]]] += np.float32(delta)


class Mark:
    """Marks rows on the host, and remembers what the proxy LM said of the places of the last steps."""

    def __init__(self, proxy: Proxy, decoding: Decoding, uniform: Callable[[], float]) -> None:
        """Remember nothing yet.

        Args:
            proxy: of the profile that reads the texts.
            decoding: how the next token is chosen.
            uniform: random numbers from 0 to 1, where tokens are sampled.
        """
        self._proxy, self._decoding, self._uniform = proxy, decoding, uniform
        self._halves = Halves(proxy, self._asked)

    def __call__(self, rows: Sequence[MarkedRow]) -> None:
        """Mark the logits of rows in place; their offers are then the places that are marked, with their halves."""
        chosen = self._halves.choose([[(offer.mass, offer.half_key) for offer in row.offers] for row in rows])
        for row, indexes in zip(rows, chosen, strict=True):
            row.offers = [row.offers[i] for i in indexes]
        undecided = list[tuple[MarkedRow, LowerBound | None]]()
        for row in rows:
            decided, bound = self._without_proxy(row)
            if not decided:
                undecided.append((row, bound))
        self._halves.of(offer.half_key for row, _ in undecided for offer in row.offers)
        for row, bound in undecided:
            self._with_proxy(row, bound)
        self._halves.forget(len(rows))

    def _without_proxy(self, row: MarkedRow) -> tuple[bool, LowerBound | None]:
        """Decide a row without the proxy LM where its next token cannot depend on it; whether that was possible.

        A greedy row is then left as it is, because its most likely token stays the same. A sampled row comes with what
        is known of it in any case.
        """
        if self._decoding is Decoding.ANY or self._halves.know(offer.half_key for offer in row.offers):
            return False, None
        branches = [(offer.branch, offer.seed) for offer in row.offers]
        if self._decoding is Decoding.GREEDY:
            return argmax_is_certain(row.likely, branches, row.text.strength), None
        bound = LowerBound(row.likely, branches, row.text.strength)
        if self._uniform() >= bound.mass:
            return False, bound
        row.logits[:] = bound.known(row.logits)
        return True, bound

    def _with_proxy(self, row: MarkedRow, bound: LowerBound | None) -> None:
        """Mark a row whose halves are known."""
        halves = self._halves.of(offer.half_key for offer in row.offers)
        row.offers = [offer._replace(half=half) for offer, half in zip(row.offers, halves, strict=True)]
        if bound is not None:
            row.logits[:] = bound.beyond(row.logits, [half.inside for half in halves])
            return
        for offer, half in zip(row.offers, halves, strict=True):
            add_delta(row.logits, offer.branch, half.inside, row.text.strength)

    def _asked(self, prefixes: NDArray[np.int64], seeds: NDArray[np.uint32]) -> Iterator[Half]:
        """What the proxy says of places."""
        for rows, weights in self._proxy.batches(prefixes):
            insides = members(weights, seeds[rows], self._proxy.profile.sigma)
            yield from (Half(inside, row.copy()) for inside, row in zip(insides, weights, strict=True))

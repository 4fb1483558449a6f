"""The halves, for strategies that ask the proxy LM: at which places it is asked, and what it says of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from ctwl_protocol.proxy import Proxy

from ..errors import needing

HalfKey: TypeAlias = tuple[int, tuple[int, ...]]
"""What decides a half: the permutation's seed, and the prefix that the proxy reads."""

FIRST_BRANCH_MASS = 0.01
"""Smallest mass of the likeliest branch that is marked. Chosen by hand, as the next."""

FURTHER_BRANCH_MASS = 0.2
"""Smallest mass of a second or later branch that is marked in one step. Chosen by hand: with less, more is marked and
each step takes longer."""

_HALVES_PER_ROW = 4
"""Places that are remembered for each row: they are needed again until a word is complete. Chosen by hand: a word has
rarely more tokens. With fewer the proxy LM is asked more often; more take memory."""


class Halves:
    """The halves at the places that were marked lately. These are marked again.

    So what is marked does not depend on when the proxy was asked.
    """

    def __init__(
        self, proxy: Proxy, ask: Callable[[NDArray[np.int64], NDArray[np.uint32]], Iterable[torch.Tensor]]
    ) -> None:
        """Remember nothing yet.

        Args:
            proxy: of the profile that reads the texts.
            ask: gives the halves after prefixes, int64 (n, L_prefix), under the seeds of permutations, uint32 (n,).
        """
        self._proxy, self._ask = proxy, ask
        self._lately: OrderedDict[HalfKey, None] = OrderedDict()
        self._known: dict[HalfKey, torch.Tensor] = {}

    def choose(self, rows: Sequence[Sequence[tuple[float, HalfKey]]]) -> list[list[int]]:
        """The places that are marked: the places with enough mass, and the places of the steps before.

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
            chosen.append([i for i, mass in kept if places[i][0] >= mass or places[i][1] in self._lately])
        for places, indexes in zip(rows, chosen, strict=True):
            for i in indexes:
                self._lately[places[i][1]] = None
                self._lately.move_to_end(places[i][1])
        return chosen

    def of(self, keys: Iterable[HalfKey]) -> list[torch.Tensor]:
        """Halves; the proxy is asked for those that are not known yet, all at once."""
        keys = list(keys)
        if new := [key for key in dict.fromkeys(keys) if key not in self._known]:
            load(self._proxy)
            seeds, prefixes = zip(*new, strict=True)
            found = self._ask(np.array(prefixes, dtype=np.int64), np.array(seeds, dtype=np.uint32))
            self._known.update(zip(new, found, strict=True))
        return [self._known[key] for key in keys]

    def forget(self, rows: int) -> None:
        """Keep the newest places, some for each row."""
        while len(self._lately) > _HALVES_PER_ROW * rows:
            self._lately.popitem(last=False)
        self._known = {key: half for key, half in self._known.items() if key in self._lately}


def load(proxy: Proxy) -> None:
    """Open the proxy LM, if it is not open.

    Raises:
        ExtraMissing: torch and transformers are not installed.
        CTWLError: see :func:`ctwl_protocol.proxy.open_proxy`.
    """
    with needing("torch", "the strategy delta, which asks the proxy LM,"):
        proxy.load_for_writing()

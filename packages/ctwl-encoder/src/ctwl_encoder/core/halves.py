"""The halves, for strategies that ask the proxy LM: at which places it is asked, and what it says of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from ctwl_protocol.proxy import Proxy

from ..errors import needing
from .device.candidates import members

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

    def __init__(self, proxy: Proxy) -> None:
        """Remember nothing yet.

        Args:
            proxy: of the profile that reads the texts.
        """
        self._proxy = proxy
        self._lately: OrderedDict[HalfKey, torch.Tensor] = OrderedDict()

    def choose(self, rows: Iterable[Sequence[int]], mass: NDArray[np.float64], keys: Sequence[HalfKey]) -> list[int]:
        """The places that are marked: the places with enough mass, and the places of the steps before.

        Args:
            rows: for each row its places.
            mass: float64 (places,), of each place.
            keys: the half of each place.

        Returns:
            The chosen places, row by row, the one with most mass first.
        """
        chosen = list[int]()
        for places in rows:
            least = FIRST_BRANCH_MASS
            for place in sorted(places, key=lambda place: -mass[place]):
                if mass[place] >= least or keys[place] in self._lately:
                    chosen.append(place)
                least = FURTHER_BRANCH_MASS
        return chosen

    def of(self, keys: Sequence[HalfKey], device: torch.device) -> list[torch.Tensor]:
        """Halves on a device; the proxy is asked for those that are not known yet, all at once."""
        if new := [key for key in keys if key not in self._lately]:
            load(self._proxy)
            self._lately.update(zip(new, self._ask(new, device), strict=True))
        for key in keys:
            self._lately.move_to_end(key)
        return [self._lately[key] for key in keys]

    def forget(self, rows: int) -> None:
        """Keep the newest places, some for each row."""
        while len(self._lately) > _HALVES_PER_ROW * rows:
            self._lately.popitem(last=False)

    def _ask(self, keys: Sequence[HalfKey], device: torch.device) -> Iterator[torch.Tensor]:
        """What the proxy says of places."""
        for start in range(0, len(keys), self._proxy.batch_size):
            seeds, prefixes = zip(*keys[start : start + self._proxy.batch_size], strict=True)
            weights = self._proxy.weights_on_device(np.array(prefixes, dtype=np.int64))
            seed = torch.tensor(seeds, device=weights.device)
            yield from members(weights, seed, self._proxy.profile.sigma).to(device)


def load(proxy: Proxy) -> None:
    """Open the proxy LM, if it is not open.

    Raises:
        ExtraMissing: torch and transformers are not installed.
        CTWLError: see :func:`ctwl_protocol.proxy.open_proxy`.
    """
    with needing("torch", "a strategy that asks the proxy LM"):
        proxy.load_for_writing()

"""The halves, for strategies that ask the proxy LM: at which places it is asked, and what it says of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol.proxy import Proxy

from ..errors import ExtraMissing

T = TypeVar("T")

HalfKey: TypeAlias = tuple[int, tuple[int, ...]]
"""What decides a half: the permutation's seed, and the prefix that the proxy reads."""

FIRST_BRANCH_MASS = 0.01
"""Smallest mass of the likeliest branch that is marked. Chosen by hand, as the next."""

FURTHER_BRANCH_MASS = 0.2
"""Smallest mass of a second or later branch that is marked in one step. Chosen by hand: with less, more is marked and
each step takes longer. evaluation/speed/asked.py counts how often the proxy LM is asked."""

_HALVES_PER_ROW = 4
"""Places that are remembered for each row: they are needed again until a word is complete. Chosen by hand: a word has
rarely more tokens. With fewer the proxy LM is asked more often; more take memory."""


class Half(NamedTuple):
    """What the proxy says of a place: membership, bool (|V|,), and weights, uint32 (|V|,)."""

    inside: NDArray[np.bool_]
    weights: NDArray[np.uint32]


class Lately:
    """The places that were marked lately: they are marked again, whether the proxy was asked about them or not.

    So the way of decoding does not change what is marked.
    """

    def __init__(self) -> None:
        """There is none yet."""
        self._keys: OrderedDict[HalfKey, None] = OrderedDict()

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
            chosen.append([i for i, mass in kept if places[i][0] >= mass or places[i][1] in self._keys])
        for places, indexes in zip(rows, chosen, strict=True):
            for i in indexes:
                self._keys[places[i][1]] = None
                self._keys.move_to_end(places[i][1])
        return chosen

    def kept(self, known: Mapping[HalfKey, T], rows: int) -> dict[HalfKey, T]:
        """Keep the newest places, some for each row; what is known of them."""
        while len(self._keys) > _HALVES_PER_ROW * rows:
            self._keys.popitem(last=False)
        return {key: half for key, half in known.items() if key in self._keys}


def load(proxy: Proxy) -> None:
    """Open the proxy LM, if it is not open.

    Raises:
        ExtraMissing: torch and transformers are not installed.
        CTWLError: see :func:`ctwl_protocol.proxy.open_proxy`.
    """
    try:
        proxy.load_for_writing()
    except ImportError as error:
        raise ExtraMissing(
            f"delta asks the proxy LM, which needs {error.name or error}; install it with: "
            "pip install 'ctwl-encoder[torch]'. unbiased and gumbel need none"
        ) from error


def prefixes_and_seeds(keys: Sequence[HalfKey]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """What decides some halves, at least one, as arrays: int64 (n, L_prefix) and uint32 (n,)."""
    seeds, prefixes = zip(*keys, strict=True)
    return np.array(prefixes, dtype=np.int64), np.array(seeds, dtype=np.uint32)

"""What one text is to carry, as the marker needs it, and the permutations that follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctwl_protocol import Profile, hashing
from ctwl_protocol.records.beacon import NONCE_COUNT
from ctwl_protocol.records.layouts import Layout
from ctwl_protocol.records.record import Record, slot_seed

from ..errors import OptionOutOfRange

Place: TypeAlias = tuple[int, tuple[int, ...]]
"""What decides the colours at a place in the reader's token sequence: the slot of the record that the position carries,
and the context, the proxy tokens that are hashed there."""


@dataclass(frozen=True)
class Payload:
    """The codes of one text.

    Attributes:
        carried: what each slot carries: a single code, or the codes of a record and their check.
        layout: the record's; None for a single code.
        key: the provider's colour key, where the layout has an authenticator.
    """

    carried: tuple[int, ...]
    layout: Layout | None = None
    key: bytes | None = field(default=None, repr=False)

    @classmethod
    def of(cls, record: Record, key: bytes | None = None) -> Payload:
        """The codes of a record.

        Raises:
            OptionOutOfRange: the record has an authenticator, and there is no key to colour it with.
        """
        if record.layout.authenticated and key is None:
            raise OptionOutOfRange(
                f"the last code of layout {record.layout.name} is coloured under the provider's key; give its keys"
            )
        return cls(record.carried, record.layout, key)


class Seeds:
    """Seeds of permutations under one profile. What depends on a context alone is remembered for all texts."""

    def __init__(self, profile: Profile) -> None:
        """Remember nothing yet."""
        cached = lru_cache(maxsize=1 << 16)  # by hand: only speed and memory depend on it
        self._colours = profile.colours
        self._partition = cached(lambda context: hashing.partition_seed(profile.key, context))
        self._beacon = cached(lambda context: (slot_seed(profile, context), *self._partition(context)))
        self._slot = cached(lambda context, **of_slot: slot_seed(profile, context, **of_slot))

    def of(self, payload: Payload, place: Place) -> int:
        """``s(c, a)``: the seed of the permutation that a slot's code selects at a context (spec section 6.2)."""
        return int(self.of_all([(payload, place)])[0])

    def of_all(self, places: Iterable[tuple[Payload, Place]]) -> NDArray[np.uint32]:
        """The same for many places, each a payload, and a slot with a context: uint32 (places,)."""
        words = [(payload.carried[slot], *self._words(payload, slot, context)) for payload, (slot, context) in places]
        codes, seeds, first, second = np.array(words, dtype=np.uint32).reshape(-1, 4).T
        return hashing.permutation_seed(first, second, hashing.code_colours(seeds, codes, self._colours))

    def of_codes(self, codes: NDArray[np.uint32], contexts: Sequence[tuple[int, ...]]) -> NDArray[np.uint32]:
        """The same for several codes in slot 0, uint32 (codes,), at several contexts: uint32 (codes, contexts)."""
        seeds, first, second = np.array([self._beacon(each) for each in contexts], dtype=np.uint32).reshape(-1, 3).T
        return hashing.permutation_seed(first, second, hashing.code_colours(seeds, codes[:, None], self._colours))

    def _words(self, payload: Payload, slot: int, context: tuple[int, ...]) -> tuple[int, int, int]:
        """The seed of a slot's colours at a context (spec section 6.3), and the two of its permutations."""
        if slot == 0:  # coloured alike in all texts
            return self._beacon(context)
        nonce = payload.carried[0] % NONCE_COUNT
        seed = self._slot(context, layout=payload.layout, slot=slot, nonce=nonce, key=payload.key)
        return seed, *self._partition(context)

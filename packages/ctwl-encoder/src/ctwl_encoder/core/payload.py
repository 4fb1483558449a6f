"""What one text is to carry, as the marker needs it, and the permutations that follow."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from ctwl_protocol import Profile, hashing
from ctwl_protocol.hashing import GOLDEN
from ctwl_protocol.partition.kernel import fmix32_scalar
from ctwl_protocol.records.beacon import NONCE_COUNT
from ctwl_protocol.records.layouts import Layout
from ctwl_protocol.records.record import Record, slot_seed

from ..errors import OptionOutOfRange

__all__ = ["Payload", "Seeds"]

_WORD = 0xFFFFFFFF


@dataclass(frozen=True)
class Payload:
    """The codes of one text.

    Attributes:
        carried: what each slot carries: a single code, or those of a record and their check.
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
        self._colour = cached(lambda context, **of_slot: slot_seed(profile, context, **of_slot))

    def of(self, payload: Payload, slot: int, context: tuple[int, ...]) -> int:
        """``s(c, a)``: the seed of the permutation that a slot's code selects at a context (spec section 6.2)."""
        if slot == 0:  # coloured alike in all texts (spec section 6.3)
            seed = self._colour(context)
        else:
            nonce = payload.carried[0] % NONCE_COUNT
            seed = self._colour(context, layout=payload.layout, slot=slot, nonce=nonce, key=payload.key)
        # As hashing.code_colours and hashing.permutation_seeds, of one code and one colour: arrays would take longer.
        colour = int(fmix32_scalar(seed ^ payload.carried[slot] * GOLDEN & _WORD)) * self._colours >> 32
        first, second = self._partition(context)
        return int(fmix32_scalar(first ^ int(fmix32_scalar(second + (colour + 1) * GOLDEN & _WORD))))

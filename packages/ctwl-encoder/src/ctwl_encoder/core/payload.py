"""What one text is to carry, as the marker needs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ctwl_protocol import Profile, hashing
from ctwl_protocol.records.beacon import NONCE_COUNT
from ctwl_protocol.records.layouts import Layout
from ctwl_protocol.records.record import Record, slot_seed

from ..errors import OptionOutOfRange

__all__ = ["Payload"]


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

    def colour_seed(self, profile: Profile, slot: int, context: Sequence[int]) -> int:
        """The colour seed of a slot at a context (spec section 6.3)."""
        nonce = self.carried[0] % NONCE_COUNT
        return slot_seed(profile, context, layout=self.layout, slot=slot, nonce=nonce, key=self.key)

    def permutation_seed(self, profile: Profile, slot: int, context: tuple[int, ...]) -> int:
        """``s(c, a)``: the seed of the permutation that the slot's code selects at a context (spec section 6.2)."""
        code, colours = np.array([self.carried[slot]], dtype=np.uint32), profile.colours
        colour = hashing.code_colours(self.colour_seed(profile, slot, context), code, colours)[0]
        return int(hashing.permutation_seeds(hashing.partition_seed(profile.key, context), colours)[colour])

"""Records: what a text says about its origin, as one or more codes (spec section 9.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import xor
from typing import Literal

from .. import hashing
from ..errors import FieldOutOfRange, RelayFull
from ..profile.document import Profile
from ..schema import Part
from .beacon import Beacon
from .layouts import LAYOUTS, Layout, find_layout


class RecordDocument(Part):
    """A record as JSON knows it: the layout's number and the values of its fields by name."""

    layout: int
    fields: dict[str, int]

    def record(self) -> Record:
        """The record itself.

        Raises:
            LayoutUnknown: the specification has no such layout.
            FieldOutOfRange: a field is missing, unknown, or does not fit.
        """
        layout = find_layout(self.layout)
        return Record(layout, layout.pack(self.fields))


@dataclass(frozen=True)
class Record:
    """A record: a layout, and its codes of 20 bits, the beacon first.

    Raises:
        FieldOutOfRange: the codes are too many, too few or too large.
    """

    layout: Layout
    codes: tuple[int, ...]

    def __post_init__(self) -> None:
        self.layout.unpack(self.codes)

    @classmethod
    def of(cls, layout: int | str | Layout, **fields: int) -> Record:
        """A record from the values of its fields; a nonce that is not given is drawn.

        Raises:
            LayoutUnknown: there is no such layout.
            FieldOutOfRange: a field is missing, unknown, or does not fit.
        """
        known = find_layout(layout)
        if "nonce" not in fields and {"provider", "version"} <= fields.keys():
            fields["nonce"] = Beacon.fresh(fields["provider"], fields["version"]).nonce
        return cls(known, known.pack(fields))

    @property
    def fields(self) -> dict[str, int]:
        """The values by name."""
        return self.layout.unpack(self.codes)

    @property
    def carried(self) -> tuple[int, ...]:
        """What each slot carries: the codes and, where there are several, their check (spec section 9.4)."""
        return (*self.codes, check_of(self.layout, self.codes)) if len(self.codes) > 1 else self.codes

    @property
    def beacon(self) -> Beacon:
        """Who wrote the text; where it went through several models, the last one."""
        return Beacon.from_code(self.codes[0])

    @property
    def chain(self) -> tuple[Beacon, ...]:
        """The models that the text went through, the newest first."""
        return tuple(Beacon.from_code(code) for code in self.codes[: self.layout.hops])

    def document(self) -> RecordDocument:
        """The record in JSON."""
        return RecordDocument(layout=self.layout.number, fields=self.fields)


def check_of(layout: Layout, codes: Sequence[int]) -> int:
    """The check: the exclusive or of the codes that anyone can read (spec section 9.4)."""
    return reduce(xor, codes[: layout.public_codes])


_RELAYS = {layout.hops: layout for layout in LAYOUTS if layout.codes == layout.hops}

MAX_HOPS = max(_RELAYS)
"""Most beacons of a chain."""


def relayed(chain: Sequence[Beacon], own: Beacon, *, full: Literal["drop", "refuse"] = "drop") -> Record:
    """The record of a text that goes through one more model.

    Args:
        chain: the beacons that the text carried before, the newest first; empty for a text without a record.
        own: the new model's beacon.
        full: what to do where there are :data:`MAX_HOPS` already: drop the oldest, or refuse.

    Raises:
        RelayFull: the chain is full, and ``full`` is "refuse".
    """
    if len(chain) >= MAX_HOPS and full == "refuse":
        raise RelayFull(f"the text went through {len(chain)} models already; drop the oldest, or write a new record")
    hops = (own, *chain)[:MAX_HOPS]
    return Record(_RELAYS[len(hops)], tuple(hop.code for hop in hops))


def slot_seed(
    profile: Profile,
    context: Sequence[int],
    *,
    layout: Layout | None = None,
    slot: int = 0,
    nonce: int = 0,
    key: bytes | None = None,
) -> int:
    """``t(c, k, j, n)`` of a record's slot at a context (spec section 6.3).

    Slot 0 is the same for all records, so that one search finds the beacon. The others depend on the layout and on
    the beacon's nonce, so all colours of a record change with the nonce.

    Args:
        profile: the profile.
        context: the ``h`` tokens before the position.
        layout: the record's; not needed for slot 0.
        slot: its index, below the layout's number of slots.
        nonce: the beacon's.
        key: the provider's colour key, for the authenticator's slot.

    Raises:
        FieldOutOfRange: a slot above 0 without a layout, or the authenticator's without the provider's key.
    """
    if slot == 0:
        return hashing.colour_seed(profile.key, context)
    if layout is None or not 0 < slot < layout.slots:
        raise FieldOutOfRange(f"slot {slot} needs a layout that has this slot")
    if layout.authenticated and slot == layout.codes - 1:
        if key is None:
            raise FieldOutOfRange("the authenticator's slot needs the provider's colour key; give it")
        return hashing.colour_seed(key, context, layout.number, slot, nonce)
    return hashing.colour_seed(profile.key, context, layout.number, slot, nonce)

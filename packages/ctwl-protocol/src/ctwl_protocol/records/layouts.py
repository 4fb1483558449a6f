"""Layouts: which fields a record has and how they fill its codes (spec section 9.2). To add one, add it to the table.

A layout's fields, most significant first, fill one to four codes of 20 bits. The first three are always the beacon's,
so the first code says who wrote the text whatever the layout is, also to a reader who does not know the layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ..errors import FieldOutOfRange, LayoutMalformed, LayoutUnknown
from .beacon import BEACON_BITS, BEACON_FIELDS

__all__ = [
    "AUTHENTICATOR",
    "LAYOUTS",
    "MAX_CODES",
    "PRIVATE_USE",
    "REGISTERED",
    "SEALED_USER",
    "Field",
    "Layout",
    "find_layout",
    "slots_of",
]

MAX_CODES = 4
"""Most codes of a record."""

REGISTERED = range(64, 128)
"""Numbers that the registry gives away. Those below belong to the specification, 0 to slot 0 of every layout."""

PRIVATE_USE = range(192, 256)
"""Numbers that anyone may use and nobody owns."""


def slots_of(codes: int) -> int:
    """How many slots a record of so many codes has (spec section 9.4)."""
    return codes if codes == 1 else codes + 1


class Field(NamedTuple):
    """A field's name and its width in bits."""

    name: str
    bits: int


AUTHENTICATOR = "authenticator"
"""The field whose code is coloured under a key of the provider's: only its owner can read or write it."""


@dataclass(frozen=True)
class Layout:
    """A numbered list of fields.

    Attributes:
        number: 1 to 255; never used for anything else again.
        name: one word.
        fields: most significant first; the beacon's, then others; together 20, 40, 60 or 80 bits.

    Raises:
        LayoutMalformed: the number, or fields that do not fill whole codes.
    """

    number: int
    name: str
    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        names = [field.name for field in self.fields]
        bits = sum(field.bits for field in self.fields)
        checks = [
            (0 < self.number < 256, "its number lies outside 1 to 255"),
            (self.fields[:3] == _hop(0), "its first fields are not those of the beacon"),
            (all(field.bits > 0 for field in self.fields), "a field has no bits"),
            (names[-1] != AUTHENTICATOR or self.fields[-1].bits == BEACON_BITS, "its authenticator is no whole code"),
            (len(set(names)) == len(names), "two fields share a name"),
            (bits % BEACON_BITS == 0 and bits <= MAX_CODES * BEACON_BITS, f"{bits} bits do not fill one to four codes"),
            (
                AUTHENTICATOR not in names or self.fields[-1] == (AUTHENTICATOR, BEACON_BITS),
                "the authenticator is last",
            ),
        ]
        for good, why in checks:
            if not good:
                raise LayoutMalformed(f"layout {self.name} ({self.number}): {why}")

    @cached_property
    def codes(self) -> int:
        """How many codes a record has."""
        return sum(field.bits for field in self.fields) // BEACON_BITS

    @property
    def slots(self) -> int:
        """How many slots a record has: one for each code and, behind several, the check's."""
        return slots_of(self.codes)

    @property
    def authenticated(self) -> bool:
        """Whether the last code is the provider's authenticator."""
        return self.fields[-1].name == AUTHENTICATOR

    @property
    def public_codes(self) -> int:
        """How many codes anyone can read: all but the authenticator."""
        return self.codes - self.authenticated

    @property
    def hops(self) -> int:
        """How many beacons the record has, one for each model that the text went through."""
        hops = 0
        while self.fields[3 * hops : 3 * hops + 3] == _hop(hops):
            hops += 1
        return hops

    def pack(self, values: Mapping[str, int]) -> tuple[int, ...]:
        """The codes of a record, from the values of all its fields.

        Raises:
            FieldOutOfRange: a field is missing, unknown, or does not fit its width.
        """
        if unknown := values.keys() - {field.name for field in self.fields}:
            raise FieldOutOfRange(f"layout {self.name} has no field {min(unknown)!r}; it has {self._names}")
        number = 0
        for name, bits in self.fields:
            value = values.get(name)
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << bits:
                raise FieldOutOfRange(f"{name} is {value!r}; it must be an integer from 0 to {(1 << bits) - 1}")
            number = number << bits | value
        mask = (1 << BEACON_BITS) - 1
        return tuple(number >> BEACON_BITS * i & mask for i in reversed(range(self.codes)))

    def unpack(self, codes: Sequence[int]) -> dict[str, int]:
        """The values of a record's fields, from its codes. Every sequence of codes is some record.

        Raises:
            FieldOutOfRange: too many or too few codes, or one of more than 20 bits.
        """
        if len(codes) != self.codes:
            raise FieldOutOfRange(f"layout {self.name} has {self.codes} codes; {len(codes)} were given")
        number = 0
        for code in codes:
            if isinstance(code, bool) or not isinstance(code, int) or not 0 <= code < 1 << BEACON_BITS:
                raise FieldOutOfRange(f"code is {code!r}; it must be an integer from 0 to {(1 << BEACON_BITS) - 1}")
            number = number << BEACON_BITS | code
        values = {}
        for name, bits in reversed(self.fields):
            values[name] = number & (1 << bits) - 1
            number >>= bits
        return dict(reversed(values.items()))

    @property
    def _names(self) -> str:
        return ", ".join(field.name for field in self.fields)


def _hop(back: int) -> tuple[Field, ...]:
    """The beacon of the model that a text went through so many models before the last."""
    suffix = f"_{back}" if back else ""
    return tuple(Field(name + suffix, bits) for name, bits in BEACON_FIELDS.items())


_BEACON = _hop(0)

SEALED_USER = Field("sealed_user", 40)
"""A user's number as :mod:`ctwl_protocol.records.sealing` seals it."""

_USER = (*_BEACON, SEALED_USER)

LAYOUTS = (
    Layout(1, "beacon", _BEACON),
    Layout(2, "tagged", (*_BEACON, Field("tag", 20))),
    Layout(3, "attributed", _USER),
    Layout(4, "authenticated", (*_USER, Field(AUTHENTICATOR, 20))),
    Layout(5, "relay2", (*_hop(0), *_hop(1))),
    Layout(6, "relay3", (*_hop(0), *_hop(1), *_hop(2))),
    Layout(7, "relay4", (*_hop(0), *_hop(1), *_hop(2), *_hop(3))),
    Layout(8, "wide", (*_BEACON, Field("provider_high", 12), Field("version_high", 8))),
)
"""The layouts of this version of the specification."""


def find_layout(which: int | str | Layout, more: Sequence[Layout] = ()) -> Layout:
    """A layout by number or name.

    Args:
        which: its number or its name.
        more: layouts beside those of the specification: registered or private ones.

    Raises:
        LayoutUnknown: there is no such layout.
    """
    if isinstance(which, Layout):
        return which
    known = tuple(dict.fromkeys((*LAYOUTS, *more)))  # a registry's known layouts begin with the specification's
    for layout in known:
        if which in (layout.number, layout.name):
            return layout
    names = ", ".join(f"{layout.name} ({layout.number})" for layout in known)
    raise LayoutUnknown(f"no layout {which!r} is known here; there are {names}")

"""Layouts: which fields a record has and how they fill its codes (spec section 9.2).

A layout's fields, most significant first, fill one to MAX_CODES codes of 20 bits. The first three are always the
beacon's, so a reader who does not know the layout still learns from the first code who wrote the text.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ..errors import FieldOutOfRange, LayoutMalformed, LayoutUnknown
from ..numbers import NUMBERS
from .beacon import BEACON_BITS, BEACON_FIELDS, check_field

MAX_CODES = NUMBERS.records.codes
"""Most codes of a record."""

REGISTERED = range(NUMBERS.records.registered[0], NUMBERS.records.registered[1] + 1)
"""Numbers that the registry gives out. Those below are the specification's; 0 stands for slot 0 of every layout."""


class Field(NamedTuple):
    """A field's name and its width in bits."""

    name: str
    bits: int


AUTHENTICATOR = "authenticator"
"""The field whose code is coloured under a secret key: only the provider can read or write it."""


@dataclass(frozen=True)
class Layout:
    """A numbered list of fields.

    Attributes:
        number: 1 to 255; it never gets another meaning.
        name: one word.
        fields: most significant first; the beacon's, then others; they fill whole codes of 20 bits.

    Raises:
        LayoutMalformed: the number is out of range, or the fields break a rule of section 9.2.
    """

    number: int
    name: str
    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        names = [field.name for field in self.fields]
        bits = sum(field.bits for field in self.fields)
        rules = {
            "its number is outside 1 to 255": 0 < self.number < 256,
            "its first fields are not the beacon's": self.fields[:3] == _hop(0),
            "a field has no bits": all(field.bits > 0 for field in self.fields),
            "its authenticator is not last, or no whole code": AUTHENTICATOR not in names
            or self.fields[-1] == (AUTHENTICATOR, BEACON_BITS),
            "two fields share a name": len(set(names)) == len(names),
            f"{bits} bits do not fill 1 to {MAX_CODES} codes of {BEACON_BITS}": bits % BEACON_BITS == 0
            and bits <= MAX_CODES * BEACON_BITS,
        }
        for broken in (rule for rule, holds in rules.items() if not holds):
            raise LayoutMalformed(f"layout {self.name} ({self.number}): {broken}")

    @cached_property
    def codes(self) -> int:
        """Number of codes of a record."""
        return sum(field.bits for field in self.fields) // BEACON_BITS

    @property
    def slots(self) -> int:
        """Number of slots of a record: one for each code and, where there are several, one for the check (9.4)."""
        return self.codes if self.codes == 1 else self.codes + 1

    @property
    def authenticated(self) -> bool:
        """Whether the last code is the provider's authenticator."""
        return self.fields[-1].name == AUTHENTICATOR

    @property
    def public_codes(self) -> int:
        """Number of codes that anyone can read: all but the authenticator."""
        return self.codes - self.authenticated

    @property
    def own_fields(self) -> tuple[Field, ...]:
        """The fields whose values a writer chooses.

        None of a beacon, none of the higher bits of its numbers, which the registry gives out (spec section 9.2), and
        none that the provider's keys make.
        """
        rest = self.fields[3 * self.hops :]
        given = {AUTHENTICATOR, SEALED_USER.name, *(f"{name}_high" for name in BEACON_FIELDS)}
        return () if given & {field.name for field in rest} else rest

    @property
    def hops(self) -> int:
        """Number of beacons of a record, one for each model that the text went through."""
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
            names = ", ".join(field.name for field in self.fields)
            raise FieldOutOfRange(f"layout {self.name} has no field {min(unknown)!r}; it has {names}")
        number = 0
        for name, bits in self.fields:
            number = number << bits | check_field(name, values.get(name), bits)
        mask = (1 << BEACON_BITS) - 1
        return tuple(number >> BEACON_BITS * i & mask for i in reversed(range(self.codes)))

    def unpack(self, codes: Sequence[int]) -> dict[str, int]:
        """The values of a record's fields, from its codes. Any codes of the right number make a record.

        Raises:
            FieldOutOfRange: too many or too few codes, or one of more than 20 bits.
        """
        if len(codes) != self.codes:
            raise FieldOutOfRange(f"layout {self.name} has {self.codes} codes; {len(codes)} were given")
        number = 0
        for code in codes:
            number = number << BEACON_BITS | check_field("code", code, BEACON_BITS)
        values = {}
        for name, bits in reversed(self.fields):
            values[name] = number & (1 << bits) - 1
            number >>= bits
        return dict(reversed(values.items()))


def _hop(back: int) -> tuple[Field, ...]:
    """The beacon of a model that the text went through: the last one at 0, the one before it at 1."""
    suffix = f"_{back}" if back else ""
    return tuple(Field(name + suffix, bits) for name, bits in BEACON_FIELDS.items())


LAYOUTS = tuple(
    Layout(row.number, row.name, (*_hop(0), *(Field(name, bits) for name, bits in row.fields)))
    for row in NUMBERS.records.layouts
)
"""The layouts of this version of the specification."""

SEALED_USER = next(field for layout in LAYOUTS for field in layout.fields if field.name == "sealed_user")
"""A user's number as :mod:`ctwl_protocol.records.sealing` seals it."""


def layout_with(names: Collection[str]) -> Layout:
    """The layout of the specification whose own fields have these names.

    Raises:
        LayoutUnknown: there is none.
    """
    known = {layout: [field.name for field in layout.own_fields] for layout in LAYOUTS if layout.own_fields}
    for layout, own in known.items():
        if set(own) == set(names):
            return layout
    told = "; ".join(f"{layout.name}: {', '.join(own)}" for layout, own in known.items())
    raise LayoutUnknown(f"no layout has just the fields {', '.join(sorted(names))}; there are {told}")


def find_layout(which: int | str | Layout, more: Sequence[Layout] = ()) -> Layout:
    """A layout by number or name; a layout is returned as it is.

    Args:
        which: its number or its name.
        more: registered or private layouts, besides the specification's.

    Raises:
        LayoutUnknown: there is no such layout.
    """
    if isinstance(which, Layout):
        return which
    known = dict.fromkeys((*LAYOUTS, *more))  # ``more`` may repeat the specification's
    for layout in known:
        if which in (layout.number, layout.name):
            return layout
    names = ", ".join(f"{layout.name} ({layout.number})" for layout in known)
    raise LayoutUnknown(f"no layout {which!r} is known here; known are {names}")

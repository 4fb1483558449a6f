"""The beacon: the code that says who wrote a text (spec section 9).

A code is an integer of 20 bits. Layout 1, the beacon, reads it as provider, version and nonce, most significant first.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from ..errors import FieldOutOfRange
from ..numbers import NUMBERS

BEACON_FIELDS = NUMBERS.records.beacon
"""A beacon's fields and their widths in bits, most significant first."""

BEACON_BITS = sum(BEACON_FIELDS.values())
"""Width of a beacon: 20 bits."""

NONCE_COUNT = 1 << BEACON_FIELDS["nonce"]
"""How many nonces there are; a beacon's code modulo this is its nonce."""


def check_field(name: str, value: object, bits: int) -> int:
    """The value of a field, if it is an integer of at most ``bits`` bits.

    Raises:
        FieldOutOfRange: it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << bits:
        raise FieldOutOfRange(f"{name} is {value!r}; it must be an integer from 0 to {(1 << bits) - 1}")
    return value


@dataclass(frozen=True, slots=True)
class Beacon:
    """Layout 1: who wrote the text.

    Attributes:
        provider: 0 to 1023, a registered provider.
        version: 0 to 15, that provider's model version.
        nonce: 0 to 63, drawn for each text, so that no word is favoured in all texts of a provider.

    Raises:
        FieldOutOfRange: a field is no integer in its range.
    """

    provider: int
    version: int
    nonce: int

    def __post_init__(self) -> None:
        for field, width in BEACON_FIELDS.items():
            check_field(field, getattr(self, field), width)

    @classmethod
    def fresh(cls, provider: int, version: int, nonces: int = NONCE_COUNT) -> Beacon:
        """A beacon with a random nonce, 0 to ``nonces`` - 1."""
        return cls(provider, version, secrets.randbelow(nonces))

    @classmethod
    def from_code(cls, code: int) -> Beacon:
        """The beacon of a 20-bit code; every code is one.

        Raises:
            FieldOutOfRange: the code has more than 20 bits or is negative.
        """
        check_field("code", code, BEACON_BITS)
        version_and_above, nonce = divmod(code, NONCE_COUNT)
        return cls(*divmod(version_and_above, 1 << BEACON_FIELDS["version"]), nonce)

    @classmethod
    def codes_of(cls, provider: int, version: int, nonces: int = NONCE_COUNT) -> range:
        """The codes of a provider's model version, one for each nonce from 0 to ``nonces`` - 1.

        Raises:
            FieldOutOfRange: a field is no integer in its range.
        """
        first = cls(provider, version, 0).code
        return range(first, first + nonces)

    @property
    def code(self) -> int:
        """The 20-bit code of this beacon."""
        return (self.provider << BEACON_FIELDS["version"] | self.version) * NONCE_COUNT + self.nonce

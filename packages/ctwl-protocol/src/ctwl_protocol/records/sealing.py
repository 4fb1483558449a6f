"""What only a provider can write and read: sealed user ids and authenticators (spec section 9.5).

A sealed user is a permutation of 40 bits, a Feistel network of ten rounds over two halves of 20 (Luby and Rackoff
1988), with the number of rounds and the use of a tweak as in FF1 (NIST SP 800-38G) and HMAC-SHA256 as its round
function. What is permuted is the user's number and eight bits of zero: where they do not come back, nothing is opened.
"""

from __future__ import annotations

import hmac
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .. import canonical, secret_file
from ..errors import FieldOutOfRange, KeyFileMalformed, NonCanonical, SealRefused
from ..profile.document import Profile
from .beacon import Beacon
from .layouts import find_layout
from .record import Record

__all__ = ["CHECK_BITS", "MAX_EPOCH", "USER_BITS", "ProviderKeys", "permute", "restore"]

USER_BITS, CHECK_BITS = 32, 8
MAX_EPOCH = (1 << 16) - 1
_HALF = (USER_BITS + CHECK_BITS) // 2
_MASK = (1 << _HALF) - 1
_ROUNDS = 10
_PURPOSE = "ctwl-provider-keys/1"


def permute(key: bytes, tweak: bytes, value: int) -> int:
    """The keyed, tweaked permutation of 40-bit numbers."""
    left, right = value >> _HALF, value & _MASK
    for i in range(_ROUNDS):
        left, right = right, left ^ _round(key, tweak, i, right)
    return left << _HALF | right


def restore(key: bytes, tweak: bytes, value: int) -> int:
    """The inverse of :func:`permute`."""
    left, right = value >> _HALF, value & _MASK
    for i in reversed(range(_ROUNDS)):
        left, right = right ^ _round(key, tweak, i, left), left
    return left << _HALF | right


def _round(key: bytes, tweak: bytes, i: int, half: int) -> int:
    word = hmac.digest(key, struct.pack("<BI", i, half) + tweak, "sha256")
    return int.from_bytes(word[:4], "little") & _MASK


@dataclass(frozen=True, repr=False)
class ProviderKeys:
    """A provider's secret and what follows from it, by HKDF-SHA256 (RFC 5869).

    Attributes:
        secret: 32 bytes.
    """

    secret: bytes

    @classmethod
    def new(cls) -> Self:
        """Keys that nobody else has."""
        return cls(os.urandom(32))

    @classmethod
    def load(cls, path: str | Path, passphrase: str | None = None) -> Self:
        """Open a file of keys; asks for the passphrase where None is given and the environment has none.

        Raises:
            KeyFileMalformed, KeyFileLocked, PassphraseMissing: see :func:`ctwl_protocol.secret_file.read_secret`.
        """
        try:
            found = canonical.decode(secret_file.read_secret(path, _PURPOSE, passphrase))
        except NonCanonical as error:
            raise KeyFileMalformed(f"{path}: {error}") from error
        if not isinstance(found, bytes) or len(found) != 32:
            raise KeyFileMalformed(f"{path}: no provider's keys")
        return cls(found)

    def save(self, path: str | Path, passphrase: str | None = None) -> None:
        """Write a new file of keys, encrypted.

        Raises:
            FileUnwritable, PassphraseMissing: see :func:`ctwl_protocol.secret_file.write_secret`.
        """
        secret_file.write_secret(path, canonical.encode(self.secret), _PURPOSE, passphrase)

    def seal(self, user: int, beacon: Beacon, epoch: int = 0) -> int:
        """The sealed user: 40 bits that mean nothing to others.

        Within an epoch and a nonce the same user gives the same value, so it is a pseudonym, one of 64 in an epoch.

        Raises:
            FieldOutOfRange: a user of more than 32 bits; an epoch.
        """
        if isinstance(user, bool) or not isinstance(user, int) or not 0 <= user < 1 << USER_BITS:
            raise FieldOutOfRange(f"user is {user!r}; it must be an integer from 0 to {(1 << USER_BITS) - 1}")
        return permute(self._sealing(epoch), _tweak(beacon, epoch), user << CHECK_BITS)

    def open(self, sealed: int, beacon: Beacon, epoch: int = 0) -> int:
        """The user whose number was sealed.

        Raises:
            SealRefused: the check fails: other keys, another epoch or nonce, or no sealed user at all. By chance it
                holds in one of 256 of these cases.
            FieldOutOfRange: a value of more than 40 bits; an epoch.
        """
        if not 0 <= sealed < 1 << USER_BITS + CHECK_BITS:
            raise FieldOutOfRange(f"sealed_user is {sealed!r}; it has {USER_BITS + CHECK_BITS} bits")
        value = restore(self._sealing(epoch), _tweak(beacon, epoch), sealed)
        if value & (1 << CHECK_BITS) - 1:
            raise SealRefused("this user does not open: other keys, another epoch, or not sealed at all")
        return value >> CHECK_BITS

    def colour_key(self) -> bytes:
        """The key that the authenticator's slot is coloured under."""
        return self._derived(b"authenticator colour")

    def authenticate(self, profile: Profile, record: Record) -> int:
        """The authenticator: 20 bits over the profile, the layout and all other codes."""
        layout = record.layout
        words = struct.pack(f"<{1 + layout.public_codes}I", layout.number, *record.codes[: layout.public_codes])
        digest = hmac.digest(self._derived(b"authenticator"), bytes.fromhex(profile.digest) + words, "sha256")
        return int.from_bytes(digest[:4], "little") >> 12

    def attributed(
        self, profile: Profile, beacon: Beacon, user: int, *, epoch: int = 0, authenticated: bool = False
    ) -> Record:
        """The record of a text that was written for a user.

        Raises:
            FieldOutOfRange: see :meth:`seal`.
        """
        layout = find_layout("authenticated" if authenticated else "attributed")
        fields = {
            "provider": beacon.provider,
            "version": beacon.version,
            "nonce": beacon.nonce,
            "sealed_user": self.seal(user, beacon, epoch),
        }
        if not authenticated:
            return Record.of(layout, **fields)
        blank = Record.of(layout, **fields, authenticator=0)
        return Record.of(layout, **fields, authenticator=self.authenticate(profile, blank))

    def _sealing(self, epoch: int) -> bytes:
        if isinstance(epoch, bool) or not isinstance(epoch, int) or not 0 <= epoch <= MAX_EPOCH:
            raise FieldOutOfRange(f"epoch is {epoch!r}; it must be an integer from 0 to {MAX_EPOCH}")
        return self._derived(b"seal" + struct.pack("<I", epoch))

    def _derived(self, purpose: bytes) -> bytes:
        return HKDF(SHA256(), 32, salt=None, info=b"ctwl-provider-keys/1 " + purpose).derive(self.secret)


def _tweak(beacon: Beacon, epoch: int) -> bytes:
    return struct.pack("<4I", beacon.provider, beacon.version, beacon.nonce, epoch)

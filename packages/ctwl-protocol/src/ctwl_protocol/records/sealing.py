"""What only a provider can write and read: sealed users and authenticators (spec section 9.5).

Sealing is a permutation of 40-bit numbers: a Feistel network over two halves of 20 bits (Luby and Rackoff 1988). Its
ten rounds and its tweak are as in FF1 (NIST SP 800-38G); the round function is HMAC-SHA256. It permutes the user's
number followed by eight zero bits. Opening fails where these bits do not come back as zero.
"""

from __future__ import annotations

import hmac
import os
import struct
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .. import canonical, secret_file
from ..errors import KeyFileMalformed, NonCanonical, SealRefused
from ..profile.document import Profile
from .beacon import Beacon, check_field
from .record import Record

USER_BITS, CHECK_BITS = 32, 8
_EPOCH_BITS = 16
MAX_EPOCH = (1 << _EPOCH_BITS) - 1
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
    """A provider's secret and the keys that HKDF-SHA256 (RFC 5869) derives from it.

    Attributes:
        secret: 32 bytes.
    """

    secret: bytes

    @classmethod
    def new(cls) -> Self:
        """Keys from a new random secret."""
        return cls(os.urandom(32))

    @classmethod
    def load(cls, path: str | Path, passphrase: str | None = None) -> Self:
        """Open a file of keys.

        Raises:
            KeyFileMalformed, KeyFileLocked, PassphraseMissing: see :func:`ctwl_protocol.secret_file.read_secret`.
        """
        if not Path(path).exists():
            raise KeyFileMalformed(f"cannot read {path}: No such file; to make keys: ctwl-encode --new-keys FILE")
        try:
            secret = canonical.decode(secret_file.read_secret(path, _PURPOSE, passphrase))
        except NonCanonical as error:
            raise KeyFileMalformed(f"{path}: {error}") from error
        if not isinstance(secret, bytes) or len(secret) != 32:
            raise KeyFileMalformed(f"{path} holds no provider's keys; give another file")
        return cls(secret)

    def save(self, path: str | Path, passphrase: str | None = None) -> None:
        """Write a new file of keys, encrypted under the passphrase.

        Raises:
            FileUnwritable, PassphraseMissing: see :func:`ctwl_protocol.secret_file.write_secret`.
        """
        secret_file.write_secret(path, canonical.encode(self.secret), _PURPOSE, passphrase)

    def seal(self, user: int, beacon: Beacon, epoch: int = 0) -> int:
        """The sealed user: 40 bits that mean nothing to others.

        Under one epoch and nonce a user always has the same value. So a user has 64 pseudonyms in an epoch.

        Raises:
            FieldOutOfRange: the user has more than 32 bits, or the epoch more than 16.
        """
        check_field("user", user, USER_BITS)
        return permute(self._sealing(epoch), _tweak(beacon, epoch), user << CHECK_BITS)

    def open(self, sealed: int, beacon: Beacon, epoch: int = 0) -> int:
        """The number of the user that was sealed.

        Raises:
            SealRefused: the check fails: the keys, the epoch or the nonce are others, or nothing was sealed. In one of
                256 such cases the check passes by chance.
            FieldOutOfRange: the value has more than 40 bits, or the epoch more than 16.
        """
        check_field("sealed_user", sealed, USER_BITS + CHECK_BITS)
        value = restore(self._sealing(epoch), _tweak(beacon, epoch), sealed)
        if value & (1 << CHECK_BITS) - 1:
            raise SealRefused("this user does not open; try other keys or another epoch, or the user was never sealed")
        return value >> CHECK_BITS

    def colour_key(self) -> bytes:
        """The key for the colours of the authenticator's slot."""
        return self._derived(b"authenticator colour")

    def authenticate(self, profile: Profile, record: Record) -> int:
        """The authenticator: a MAC of 20 bits over the profile, the layout and all other codes."""
        layout = record.layout
        words = struct.pack(f"<{1 + layout.public_codes}I", layout.number, *record.codes[: layout.public_codes])
        digest = hmac.digest(self._derived(b"authenticator"), bytes.fromhex(profile.digest) + words, "sha256")
        return int.from_bytes(digest[:4], "little") >> 12

    def attributed(
        self, profile: Profile, beacon: Beacon, user: int, *, epoch: int = 0, authenticated: bool = False
    ) -> Record:
        """The record of a text that is written for a user.

        Raises:
            FieldOutOfRange: see :meth:`seal`.
        """
        fields = asdict(beacon) | {"sealed_user": self.seal(user, beacon, epoch)}
        if not authenticated:
            return Record.of("attributed", **fields)
        blank = Record.of("authenticated", **fields, authenticator=0)
        return Record.of("authenticated", **fields, authenticator=self.authenticate(profile, blank))

    def _sealing(self, epoch: int) -> bytes:
        return self._derived(b"seal" + struct.pack("<I", check_field("epoch", epoch, _EPOCH_BITS)))

    def _derived(self, purpose: bytes) -> bytes:
        return HKDF(SHA256(), 32, salt=None, info=b"ctwl-provider-keys/1 " + purpose).derive(self.secret)


def _tweak(beacon: Beacon, epoch: int) -> bytes:
    return struct.pack("<4I", beacon.provider, beacon.version, beacon.nonce, epoch)

"""Keys of the registry: Ed25519 (RFC 8032); which public keys a root may list, and files of signing keys (spec 9.6)."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ..errors import KeyFileMalformed, RegistryError
from ..numbers import NUMBERS
from ..secret_file import read_secret, write_secret

PURPOSE = "ctwl-registry-key/1"
"""The purpose that the file of a signing key states."""

TEST_KEYS = NUMBERS.registry.test_keys
"""Number of test keys. Their secrets are public, so no root for production may list one."""

_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P
_ORDER_8 = int.from_bytes(bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), "little")
_LOW_ORDER = {0, 1, _P - 1, _ORDER_8, _P - _ORDER_8}
"""The y of every point of order 1, 2, 4 or 8: under such a key one signature fits many messages. The list is from
libsodium (ge25519_has_small_order), without the signs and modulo p."""


def check_key(key: bytes) -> None:
    """Check that a root may list a public key: a point (RFC 8032, section 5.1.3), and none of low order.

    The key is public, so the arithmetic need not run in constant time.

    Raises:
        RegistryError: ``key-unsuitable``: the length is not 32, or the bytes are a point of low order, not the
            canonical encoding of a point, or no point.
    """
    if why := _unsuitable(key):
        raise RegistryError("key-unsuitable", f"{key.hex()} {why}")


def _unsuitable(key: bytes) -> str:
    """What is wrong with a public key, and what to do; empty where nothing is."""
    if len(key) != 32:
        return f"has {len(key)} bytes; a public key of Ed25519 has 32"
    y = int.from_bytes(key, "little") & ((1 << 255) - 1)
    if y % _P in _LOW_ORDER:
        return "is a point of low order; generate the key with ctwl-registry keygen"
    if y >= _P:
        return "is not the canonical encoding of its point; encode it again"
    # The curve's equation gives x^2; Euler's criterion says whether that is a square. x = 0 is of low order.
    x_squared = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    if pow(x_squared, (_P - 1) // 2, _P) != 1:
        return "is no point of the curve; look for a mistyped digit"
    return ""


def public_bytes(key: Ed25519PrivateKey) -> bytes:
    """The 32 bytes of a signing key's public half."""
    return key.public_key().public_bytes_raw()


def test_key(number: int) -> Ed25519PrivateKey:
    """Test key ``number``, 0 to 15: its public seed is ``SHA-256("ctwl-registry/test-key" || number)``.

    Raises:
        RegistryError: ``key-unsuitable``: there is no such test key.
    """
    if not 0 <= number < TEST_KEYS:
        raise RegistryError("key-unsuitable", f"there is no test key {number}; they are numbered 0 to {TEST_KEYS - 1}")
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"ctwl-registry/test-key" + bytes([number])).digest())


@cache
def test_public_keys() -> frozenset[bytes]:
    """The public halves of all test keys."""
    return frozenset(public_bytes(test_key(number)) for number in range(TEST_KEYS))


def write_key(path: str | Path, key: Ed25519PrivateKey, passphrase: str | None = None) -> None:
    """Write a signing key to a new file that a passphrase opens.

    Raises:
        FileUnwritable, PassphraseMissing: see :func:`ctwl_protocol.secret_file.write_secret`.
    """
    write_secret(path, key.private_bytes_raw(), PURPOSE, passphrase)


def read_key(path: str | Path, passphrase: str | None = None) -> Ed25519PrivateKey:
    """Open the file of a signing key.

    Raises:
        KeyFileMalformed, KeyFileLocked, PassphraseMissing: see :func:`ctwl_protocol.secret_file.read_secret`.
    """
    seed = read_secret(path, PURPOSE, passphrase)
    if len(seed) != 32:
        raise KeyFileMalformed(f"{path}: the key has {len(seed)} bytes instead of 32; restore the file from its copy")
    return Ed25519PrivateKey.from_private_bytes(seed)

"""Only keys that nobody can play tricks with are enrolled; test keys never sign for production."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ctwl_protocol.errors import FileUnwritable, KeyFileLocked, KeyFileMalformed, RegistryError
from ctwl_protocol.registry import keys
from ctwl_protocol.secret_file import write_secret

pytestmark = pytest.mark.usefixtures("quick_scrypt")


P = 2**255 - 19

# The points of low order that libsodium refuses (crypto_core/ed25519, ge25519_has_small_order), without their signs.
LOW_ORDER = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]

# RFC 8032, section 7.1: the public keys of the tests.
RFC_8032 = [
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
    "278117fc144c72340f67d0f2316e8386ceffbf2b2428c9c51fef7c597f1d426e",
    "ec172b93ad5e563f4932c70e1245034c35467ef2efd4d64ebf819683467e2bf2",
]


@pytest.mark.parametrize("key", RFC_8032)
def test_the_keys_of_rfc_8032_are_enrolable(key: str) -> None:
    keys.check_key(bytes.fromhex(key))


def test_generated_keys_are_enrolable() -> None:
    for _ in range(50):
        keys.check_key(keys.public_bytes(Ed25519PrivateKey.generate()))


@pytest.mark.parametrize("key", LOW_ORDER)
@pytest.mark.parametrize("sign", [0, 0x80])
def test_a_point_of_low_order_is_refused(refused: Any, key: str, sign: int) -> None:
    encoded = bytearray.fromhex(key)
    encoded[31] |= sign
    with refused("key-unsuitable", match="low order"):
        keys.check_key(bytes(encoded))


@pytest.mark.parametrize("above", range(19))
def test_an_encoding_that_is_not_canonical_is_refused(refused: Any, above: int) -> None:
    with refused("key-unsuitable", match="low order" if above <= 1 else "not the canonical encoding"):
        keys.check_key((P + above).to_bytes(32, "little"))


def test_half_of_all_other_encodings_are_no_points_and_refused(refused: Any) -> None:
    count = 0
    for y in range(2, 402):
        try:
            keys.check_key(y.to_bytes(32, "little"))
        except RegistryError as error:
            assert "no point" in str(error)
            count += 1
    assert 150 < count < 250
    with refused("key-unsuitable", match="no point"):
        keys.check_key((2).to_bytes(32, "little"))


@pytest.mark.parametrize("length", [0, 31, 33])
def test_another_length_is_refused(refused: Any, length: int) -> None:
    with refused("key-unsuitable", match="32"):
        keys.check_key(bytes(length))


def test_test_keys_are_computable_and_the_same_for_everyone(refused: Any) -> None:
    assert len(keys.test_public_keys()) == keys.TEST_KEYS
    assert keys.public_bytes(keys.test_key(0)).hex() == (
        "b64d193ea2265885de4fa8abd31fa5f402f68ad723f6810096282e5a2152df15"
    )
    for number in (-1, keys.TEST_KEYS):
        with refused("key-unsuitable"):
            keys.test_key(number)


def test_a_signing_key_comes_back_with_its_passphrase_alone(tmp_path: Path) -> None:
    path, key = tmp_path / "registry.key", Ed25519PrivateKey.generate()
    keys.write_key(path, key, "open sesame")
    assert keys.public_bytes(keys.read_key(path, "open sesame")) == keys.public_bytes(key)
    assert path.stat().st_mode & 0o077 == 0
    with pytest.raises(KeyFileLocked):
        keys.read_key(path, "sesame")
    with pytest.raises(FileUnwritable):
        keys.write_key(path, key, "open sesame")


def test_a_key_of_another_length_is_refused(tmp_path: Path) -> None:
    write_secret(tmp_path / "key", b"short", keys.PURPOSE, "open sesame")
    with pytest.raises(KeyFileMalformed, match="5 bytes"):
        keys.read_key(tmp_path / "key", "open sesame")

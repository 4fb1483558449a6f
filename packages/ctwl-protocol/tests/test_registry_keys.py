"""Only keys that nobody can play tricks with are enrolled; test keys never sign for production."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ctwl_protocol.errors import KeyFileLocked, KeyFileMalformed, RegistryError
from ctwl_protocol.registry import keys
from ctwl_protocol.secret_file import write_secret

pytestmark = pytest.mark.usefixtures("quick_scrypt")


def test_generated_keys_are_enrolable() -> None:
    for _ in range(50):
        keys.check_key(keys.public_bytes(Ed25519PrivateKey.generate()))


def test_a_point_of_low_order_is_refused_in_words(refused: Any) -> None:
    """The vectors have them all."""
    with refused("key-unsuitable", match="low order"):
        keys.check_key(bytes(32))


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
    with pytest.raises(KeyFileLocked):
        keys.read_key(path, "sesame")


def test_a_key_of_another_length_is_refused(tmp_path: Path) -> None:
    write_secret(tmp_path / "key", b"short", keys.PURPOSE, "open sesame")
    with pytest.raises(KeyFileMalformed, match="5 bytes"):
        keys.read_key(tmp_path / "key", "open sesame")

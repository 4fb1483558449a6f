"""Sealed users and authenticators: what the keys open, and that nothing else does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctwl_protocol import Beacon, get_profile
from ctwl_protocol.errors import FieldOutOfRange, KeyFileLocked, KeyFileMalformed
from ctwl_protocol.records.sealing import ProviderKeys

KEYS, OTHER = ProviderKeys(bytes(range(32))), ProviderKeys(bytes(32))
BEACON = Beacon(42, 3, 17)
PROFILE = get_profile()
USER = st.integers(0, 2**32 - 1)


@given(USER, st.integers(0, 63), st.integers(0, 2**16 - 1))
def test_what_was_sealed_opens(user: int, nonce: int, epoch: int) -> None:
    beacon = Beacon(42, 3, nonce)
    assert KEYS.open(KEYS.seal(user, beacon, epoch), beacon, epoch) == user


@pytest.mark.parametrize(
    ("about", "numbers"),
    [("user", {"user": True}), ("user", {"user": "7"}), ("epoch", {"epoch": -1}), ("epoch", {"epoch": None})],
)
def test_a_number_that_does_not_fit_is_named(about: str, numbers: dict[str, Any]) -> None:
    with pytest.raises(FieldOutOfRange, match=about):
        KEYS.seal(**({"user": 1, "beacon": BEACON} | numbers))


def test_the_authenticator_depends_on_everything_else() -> None:
    record = KEYS.attributed(PROFILE, BEACON, 9, authenticated=True)
    assert record.fields["authenticator"] == KEYS.authenticate(PROFILE, record)
    assert KEYS.open(record.fields["sealed_user"], record.beacon) == 9
    others = [
        OTHER.authenticate(PROFILE, record),
        KEYS.authenticate(get_profile("org.ctwl.gpt2.vanilla.1"), record),
        KEYS.authenticate(PROFILE, KEYS.attributed(PROFILE, BEACON, 10, authenticated=True)),
        KEYS.authenticate(PROFILE, KEYS.attributed(PROFILE, Beacon(42, 3, 18), 9, authenticated=True)),
    ]
    assert record.fields["authenticator"] not in others


def test_keys_come_back_from_their_file(tmp_path: Path, quick_scrypt: None) -> None:
    path, secret = tmp_path / "provider.keys", bytes(range(7, 39))
    ProviderKeys(secret).save(path, "sesame")
    assert ProviderKeys.load(path, "sesame") == ProviderKeys(secret)
    assert secret not in path.read_bytes()
    with pytest.raises(KeyFileLocked):
        ProviderKeys.load(path, "open")
    with pytest.raises(KeyFileMalformed, match="cannot read"):
        ProviderKeys.load(tmp_path / "none", "x")


def test_keys_are_not_shown() -> None:
    shown = repr(KEYS)
    assert bytes(range(32)).hex() not in shown and repr(bytes(range(32)))[2:-1] not in shown

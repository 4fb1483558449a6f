"""Secrets at rest open with their passphrase and in no other way."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctwl_protocol import canonical, keyfile
from ctwl_protocol.errors import FileUnwritable, KeyFileLocked, KeyFileMalformed, PassphraseMissing

LOCKED = keyfile.lock(b"secret", "open sesame", "test/1")


def test_a_secret_comes_back_with_its_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "keys"
    monkeypatch.setenv(keyfile.VARIABLE, "open sesame")
    keyfile.write_secret(path, b"secret", "test/1")
    assert keyfile.read_secret(path, "test/1") == b"secret"
    assert path.stat().st_mode & 0o077 == 0
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileUnwritable):
        keyfile.write_secret(path, b"other", "test/1")


def test_another_passphrase_or_purpose_opens_nothing() -> None:
    with pytest.raises(KeyFileLocked):
        keyfile.unlock(LOCKED, "sesame", "test/1")
    with pytest.raises(KeyFileMalformed, match="test/1"):
        keyfile.unlock(LOCKED, "open sesame", "test/2")


def test_no_passphrase_is_an_error_where_nobody_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(keyfile.VARIABLE, raising=False)
    with pytest.raises(PassphraseMissing, match=keyfile.VARIABLE):
        keyfile.ask_passphrase("it")


@settings(max_examples=15, deadline=None)
@given(st.integers(0, len(LOCKED) - 1), st.integers(1, 255))
def test_an_altered_file_is_refused(place: int, change: int) -> None:
    altered = bytearray(LOCKED)
    altered[place] ^= change
    with pytest.raises((KeyFileMalformed, KeyFileLocked)):
        keyfile.unlock(bytes(altered), "open sesame", "test/1")


@given(st.binary(max_size=300) | st.dictionaries(st.text(max_size=8), st.binary(max_size=40)).map(canonical.encode))
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(KeyFileMalformed):
        keyfile.unlock(data, "open sesame", "test/1")

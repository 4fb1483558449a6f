"""Secrets at rest open with their passphrase and in no other way."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctwl_protocol import canonical, environment, secret_file
from ctwl_protocol.errors import FileUnwritable, KeyFileLocked, KeyFileMalformed, PassphraseMissing

LOCKED = secret_file.lock(b"secret", "open sesame", "test/1")


def test_a_secret_comes_back_with_its_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "keys"
    monkeypatch.setenv(environment.PASSPHRASE.name, "open sesame")
    secret_file.write_secret(path, b"secret", "test/1")
    assert secret_file.read_secret(path, "test/1") == b"secret"
    assert path.stat().st_mode & 0o077 == 0
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileUnwritable):
        secret_file.write_secret(path, b"other", "test/1")


def test_a_passphrase_opens_however_its_letters_are_composed() -> None:
    """A keyboard gives one character for a letter with its accent, some systems two."""
    composed, parts = "Schl\u00fcssel", "Schlu\u0308ssel"
    assert secret_file.unlock(secret_file.lock(b"secret", composed, "test/1"), parts, "test/1") == b"secret"
    assert secret_file.unlock(secret_file.lock(b"secret", parts, "test/1"), composed, "test/1") == b"secret"


def test_another_file_is_refused_in_words_for_people(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear all,")
    with pytest.raises(KeyFileMalformed, match=r"letter\.txt: not a valid secret file: ") as refused:
        secret_file.read_secret(tmp_path / "letter.txt", "test/1", "open sesame")
    assert "_" not in str(refused.value).removeprefix(str(tmp_path))


@pytest.mark.parametrize("links", [True, False])
def test_a_secret_that_came_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    """Somebody else's keys of the same name, written while the passphrase was typed."""
    path = tmp_path / "keys"

    def typed(*_: object, **__: object) -> str:
        secret_file.write_secret(path, b"theirs", "test/1", "their passphrase")
        return "ours"

    def none(*_: object) -> None:
        raise PermissionError

    if not links:
        monkeypatch.setattr(Path, "hardlink_to", none)
    monkeypatch.setattr(secret_file, "ask_passphrase", typed)
    with pytest.raises(FileUnwritable, match="exists already"):
        secret_file.write_secret(path, b"ours", "test/1")
    assert secret_file.read_secret(path, "test/1", "their passphrase") == b"theirs"
    assert list(tmp_path.iterdir()) == [path]
    assert path.stat().st_mode & 0o077 == 0


def test_a_passphrase_that_is_none_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(_: str) -> str:
        raise EOFError  # Ctrl-D

    monkeypatch.delenv(environment.PASSPHRASE.name, raising=False)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("getpass.getpass", end)
    with pytest.raises(PassphraseMissing):
        secret_file.ask_passphrase("it", new=True)
    with pytest.raises(PassphraseMissing, match="UTF-8"):
        secret_file.lock(b"secret", "\udcff", "test/1")


def test_another_passphrase_or_purpose_opens_nothing() -> None:
    with pytest.raises(KeyFileLocked):
        secret_file.unlock(LOCKED, "sesame", "test/1")
    with pytest.raises(KeyFileMalformed, match="test/1"):
        secret_file.unlock(LOCKED, "open sesame", "test/2")


@settings(max_examples=15, deadline=None)
@given(st.integers(0, len(LOCKED) - 1), st.integers(1, 255))
def test_an_altered_file_is_refused(place: int, change: int) -> None:
    altered = bytearray(LOCKED)
    altered[place] ^= change
    with pytest.raises((KeyFileMalformed, KeyFileLocked)):
        secret_file.unlock(bytes(altered), "open sesame", "test/1")


@given(st.binary(max_size=300) | st.dictionaries(st.text(max_size=8), st.binary(max_size=40)).map(canonical.encode))
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(KeyFileMalformed):
        secret_file.unlock(data, "open sesame", "test/1")

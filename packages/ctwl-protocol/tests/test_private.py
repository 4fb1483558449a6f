"""Private profiles from the outside: made, kept, derived, committed to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ctwl_operations.registry import drafts
from ctwl_protocol import environment, get_profile, published_names, secret_file
from ctwl_protocol.errors import (
    KeyFileLocked,
    PassphraseMissing,
    ProfileMalformed,
    ProfileNotPrivate,
    ProofUncertified,
    UserMalformed,
)
from ctwl_protocol.profile import STANDARD, has_public_key, public_key
from ctwl_protocol.profile.private import (
    certificate_of,
    certified,
    commitment,
    for_user,
    new_private,
    write_private,
)
from ctwl_protocol.registry import bundled

PUBLIC = get_profile("org.ctwl.smollm2-135m.1")
OWN = new_private("com.example.mark.1", PUBLIC)

pytestmark = pytest.mark.usefixtures("quick_scrypt", "passphrase")


def test_a_private_profile_has_the_numbers_of_another_and_a_key_and_a_name_of_its_own() -> None:
    changed = {"name", "key"}
    assert OWN.model_dump(exclude=changed) == PUBLIC.model_dump(exclude=changed)
    assert not OWN.is_public
    assert new_private(OWN.name, PUBLIC).key != OWN.key


def test_a_locked_profile_opens_wherever_a_profile_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.ctwl"
    write_private(path, OWN)
    assert get_profile(path) == get_profile(str(path)) == OWN
    assert OWN.key not in path.read_bytes()


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="shells pass pipes on by these names")
def test_a_locked_profile_may_come_from_a_shells_pipe(tmp_path: Path) -> None:
    write_private(tmp_path / "mine.ctwl", OWN)
    reader, writer = os.pipe()
    os.write(writer, (tmp_path / "mine.ctwl").read_bytes())
    os.close(writer)
    try:
        assert get_profile(f"/dev/fd/{reader}") == OWN
    finally:
        os.close(reader)


def test_a_locked_profile_stays_locked_without_its_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.ctwl"
    write_private(path, OWN)
    monkeypatch.setenv(environment.PASSPHRASE.name, "sesame")
    with pytest.raises(KeyFileLocked, match=r"mine\.ctwl"):
        get_profile(path)
    monkeypatch.delenv(environment.PASSPHRASE.name)
    with pytest.raises(PassphraseMissing, match=environment.PASSPHRASE.name):
        get_profile(path)


def test_the_passphrase_is_asked_for_once_in_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, asked = tmp_path / "mine.ctwl", []
    write_private(path, OWN)
    monkeypatch.setattr(secret_file, "ask_passphrase", lambda what, **_: asked.append(what) or "open sesame")
    assert get_profile(path) == get_profile(path)
    assert asked == [str(path)]


@pytest.mark.parametrize("name", [*published_names(), "org.ctwl.mine.1"])
def test_the_protocols_names_are_refused(name: str) -> None:
    with pytest.raises(ProfileNotPrivate, match="domain"):
        new_private(name, PUBLIC)


@pytest.mark.parametrize(
    "name", ["", "mine", "com.example.mark", "Com.Example.1", "a b.1", "\ud800.1", "a" * 99 + ".1"]
)
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(ProfileMalformed, match=r"com\.example\.mark\.1"):
        new_private(name, PUBLIC)


def test_a_published_key_under_another_name_is_public_too() -> None:
    copied = OWN.model_copy(update={"key": get_profile(STANDARD).key})
    assert not copied.is_public
    assert [has_public_key(each) for each in (copied, OWN, get_profile(STANDARD))] == [True, False, True]


@pytest.mark.parametrize("key", [public_key(name) for name in ("com.example.mark.1", STANDARD)])
def test_a_key_that_the_public_knows_is_not_written_derived_from_or_committed_to(key: bytes, tmp_path: Path) -> None:
    """Whoever certified the public key under a name of their own would own every text of everybody."""
    posing = OWN.model_copy(update={"key": key})
    for attempt in (
        lambda: write_private(tmp_path / "posing", posing),
        lambda: for_user(posing, "ann"),
        lambda: commitment(posing),
        lambda: certified(posing, bytes(32)),
    ):
        with pytest.raises(ProfileNotPrivate):
            attempt()
    assert not list(tmp_path.iterdir())


def test_a_user_is_unicode_text() -> None:
    with pytest.raises(UserMalformed):
        for_user(OWN, "\ud800")


def test_a_certificate_is_the_profiles_own() -> None:
    registry = drafts.add(
        bundled().registry, "certificate", commitment=commitment(OWN), owner="Example Ltd", since=None
    )
    assert certificate_of(OWN, registry).owner == "Example Ltd"
    for other in (for_user(OWN, "ann"), OWN.model_copy(update={"colours": 50}), certified(OWN, bytes(32))):
        with pytest.raises(ProofUncertified, match=commitment(other).hex()):
            certificate_of(other, registry)

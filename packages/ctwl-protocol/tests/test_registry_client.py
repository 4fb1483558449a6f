"""The client's workflow where all is well: each step lets the honest through."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from bundled_registry import make
from registry_fixtures import DAY, provider

from ctwl_protocol import environment
from ctwl_protocol.errors import FileUnwritable, RegistryError
from ctwl_protocol.registry import bundled, keys, load_trusted, store, update_trusted
from ctwl_protocol.registry.workflow import begin


def test_the_bundled_registry_is_the_one_that_its_command_makes() -> None:
    root, listed = make()
    assert (bundled().root_bytes, bundled().registry_bytes) == (root.to_bytes(), listed.to_bytes())


def test_the_bundled_registry_says_that_it_is_for_tests() -> None:
    brought = bundled()
    assert brought.use == "test"
    assert brought.label(brought.seen).startswith("test registry, version 1 of 2026-01-01, good until 2036-01-01")
    assert set(brought.root.root.keys + brought.root.registry.keys) <= keys.test_public_keys()


def test_a_registry_without_entries_has_none_whatever_was_asked_before() -> None:
    full = bundled()
    assert full.registry.provider(42) and full.registry.model(42, 3)
    empty = full.without_entries().registry
    assert empty.provider(42) is None and empty.model(42, 3) is None and empty.beacons() == []


def test_without_a_stored_state_the_bundled_one_is_trusted(tmp_path: Path) -> None:
    assert load_trusted(tmp_path) == bundled()


def test_the_folder_is_that_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environment.REGISTRY.name, str(tmp_path / "mine"))
    assert store.state_folder() == tmp_path / "mine"
    monkeypatch.delenv(environment.REGISTRY.name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert store.state_folder() == tmp_path / "ctwl" / "registry"


def test_a_user_without_a_home_is_told_what_to_set(refused: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (environment.REGISTRY.name, "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    with refused("registry-unreadable", match=environment.REGISTRY.name):
        load_trusted()


def test_a_next_version_is_taken(repository: Any) -> None:
    offered = repository.next_registry(provider(44))
    taken = repository.offer(offered)
    assert taken.registry.provider(44) is not None
    assert repository.trusted == taken
    repository.now += DAY
    assert repository.offer(offered).registry == taken.registry
    assert repository.trusted.seen == repository.now


def test_an_expired_trusted_registry_still_decodes_and_says_so(repository: Any) -> None:
    late = repository.registry["expires"]
    assert not repository.trusted.expired(late - 1)
    assert repository.trusted.expired(late)
    assert repository.trusted.registry.provider(42) is not None
    assert "expired on" in repository.trusted.label(late)


def test_a_state_may_start_from_a_root_that_somebody_vouches_for(repository: Any, tmp_path: Path) -> None:
    start = begin(repository.signed_root(), repository.signed_registry())
    folder = tmp_path / "new" / "deep"
    update_trusted(start=start, registry=repository.signed_registry(), folder=folder, now=repository.now)
    assert load_trusted(folder).use == "production"
    with pytest.raises(FileUnwritable, match="exists already"):
        update_trusted(start=start, registry=repository.signed_registry(), folder=folder, now=repository.now)


def test_even_a_root_that_somebody_vouches_for_is_signed_by_its_own_keys(refused: Any, repository: Any) -> None:
    for root, listed, told in (
        ("a", "x", "sign this root with more"),
        ("ab", "w", "another registry, or a newer root"),
    ):
        with refused("threshold-not-met", match=told):
            begin(repository.signed_root(root), repository.signed_registry(listed))


def test_updates_at_once_do_not_undo_each_other(repository: Any) -> None:
    def offered(data: bytes) -> int:
        with suppress(RegistryError):
            return int(repository.offer(data).registry.version)
        return 0

    versions = [repository.next_registry(version=version) for version in range(6, 26)]
    with ThreadPoolExecutor(len(versions)) as threads:
        taken = list(threads.map(offered, versions))
    assert repository.trusted.registry.version == max(taken) == 25


def test_a_state_that_was_damaged_is_not_used(refused: Any, repository: Any) -> None:
    path = repository.folder / "trusted.state"
    sound = path.read_bytes()
    for damaged in (sound[:-1], sound.replace(b"Provider 42", b"Provider 41"), b""):
        path.write_bytes(damaged)
        with refused("registry-state-malformed", match="remove the file"):
            load_trusted(repository.folder)


def test_a_folder_that_cannot_be_made_is_an_error(repository: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FileUnwritable):
        update_trusted(registry=repository.signed_registry(), folder=tmp_path / "file" / "below", now=repository.now)

"""A registry's operator and one of its clients, in a temporary folder: no network, no mocks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ctwl_protocol import CTWLError, canonical, environment, secret_file
from ctwl_protocol.errors import RegistryError
from ctwl_protocol.registry import Envelope, Trusted, keys, load_trusted, update_trusted
from ctwl_protocol.registry.store import save_trusted
from ctwl_protocol.registry.workflow import begin

DAY = 86_400
NOW = 1_800_000_000


def signing_key(name: str) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest())


def role(threshold: int, names: str) -> dict[str, Any]:
    """A role of keys with names of one letter."""
    return {"threshold": threshold, "keys": sorted(keys.public_bytes(signing_key(name)) for name in names)}


def envelope(kind: str, document: dict[str, Any], signers: Sequence[Ed25519PrivateKey]) -> bytes:
    """Signed bytes of any document, sound or not."""
    made = Envelope(format="ctwl-envelope/1", type=kind, payload=canonical.encode(document), signatures=())
    for key in signers:
        made = made.sign(key)
    return made.to_bytes()


def provider(code: int = 42, **changes: Any) -> dict[str, Any]:
    entry = {"kind": "provider", "code": code, "name": f"Provider {code}", "contact": "https://provider.example/"}
    model = {"version": 0, "name": "Model", "since": NOW - 9 * DAY, "until": None}
    entry |= {"state": "active", "since": NOW - 9 * DAY, "until": None, "models": [model], "epochs": []}
    return entry | changes


@dataclass
class Repository:
    """What the operator publishes, and a client that has trusted the first root and registry.

    Root keys a, b, c (two sign), registry keys x, y (one signs). ``offer`` is an update by the client; ``refuse`` says
    with which status code it ends, and that the client's folder then holds what it held.
    """

    folder: Path
    now: int = NOW
    root: dict[str, Any] = field(default_factory=dict)
    registry: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        roles = {"root": role(2, "abc"), "registry": role(1, "xy")}
        self.root = {"format": "ctwl-root/1", "use": "production", "version": 1, "expires": NOW + 900 * DAY} | roles
        times = {"issued": NOW - DAY, "expires": NOW + 90 * DAY}
        entries = [provider(42), provider(43)]
        self.registry = {"format": "ctwl-registry/1", "version": 5, **times, "entries": entries}
        save_trusted(begin(self.signed_root("ab"), self.signed_registry()), self.folder)

    def signed_root(self, signers: str = "ab", **changes: Any) -> bytes:
        return envelope("ctwl-root/1", self.root | changes, [signing_key(name) for name in signers])

    def signed_registry(self, signers: str = "x", **changes: Any) -> bytes:
        return envelope("ctwl-registry/1", self.registry | changes, [signing_key(name) for name in signers])

    def next_registry(self, *appended: dict[str, Any], signers: str = "x", **changes: Any) -> bytes:
        """The next version as an operator would issue it, with ``changes`` where an attacker would not."""
        sound = {"version": self.registry["version"] + 1, "issued": self.now}
        sound["entries"] = [*self.registry["entries"], *appended]
        return self.signed_registry(signers, **(sound | changes))

    def next_root(self, signers: str = "ab", **changes: Any) -> bytes:
        return self.signed_root(signers, **({"version": self.root["version"] + 1} | changes))

    def offer(self, registry: bytes | None = None, *roots: bytes) -> Trusted:
        return update_trusted(roots=roots, registry=registry, folder=self.folder, now=self.now)

    def refuse(self, code: str, registry: bytes | None = None, *roots: bytes) -> None:
        before = self.contents()
        with pytest.raises(CTWLError) as caught:
            self.offer(registry, *roots)
        assert caught.value.code == code, caught.value
        assert str(caught.value).isprintable()
        assert self.contents() == before

    def contents(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.name != ".lock"}

    @property
    def trusted(self) -> Trusted:
        return load_trusted(self.folder)


@pytest.fixture(scope="module")
def quick_scrypt() -> Iterator[None]:
    """Secret files that cost no work; test_keyfile has them at the real cost."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secret_file, "_LOG_N", 1)
        yield


@pytest.fixture
def passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that opens secret files is set."""
    monkeypatch.setenv(environment.PASSPHRASE.name, "open sesame")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "state")


@pytest.fixture(scope="session")
def refused() -> Any:
    """``with refused(code, match):`` the block ends in the registry's error of this code."""

    def refused(code: str, match: str | None = None) -> Any:
        return pytest.raises(RegistryError, match=match, check=lambda error: error.code == code)

    return refused

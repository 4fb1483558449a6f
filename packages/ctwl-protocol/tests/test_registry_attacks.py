"""Attacks on a client, one by one: each is refused by its own status code, and nothing is persisted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from registry_fixtures import provider, role

from ctwl_protocol import canonical
from ctwl_protocol.registry import Envelope, bundled, keys
from ctwl_protocol.registry.store import save_trusted

DAY = 86_400

REFUSED: dict[str, tuple[str, Callable[[Any], list[Any]]]] = {
    "an unsigned registry": ("threshold-not-met", lambda it: [it.next_registry(signers="")]),
    "a registry signed by a wrong key": ("threshold-not-met", lambda it: [it.next_registry(signers="w")]),
    "a registry signed by a key of the root": ("threshold-not-met", lambda it: [it.next_registry(signers="abc")]),
    "a payload altered after it was signed": (
        "threshold-not-met",
        lambda it: [it.next_registry().replace(b"Provider 42", b"Provider 24")],
    ),
    "a root role that lists a key twice": (
        "root-malformed",
        lambda it: [None, it.next_root("ab", root=role(2, "a") | {"keys": role(1, "a")["keys"] * 2})],
    ),
    "a threshold of zero": ("root-malformed", lambda it: [None, it.next_root("ab", registry=role(0, "x"))]),
    "a threshold that no keys can meet": (
        "root-malformed",
        lambda it: [None, it.next_root("ab", registry=role(3, "xy"))],
    ),
    "a registry passed off as a root": ("envelope-malformed", lambda it: [None, it.next_registry(signers="ab")]),
    "a root passed off as a registry": ("envelope-malformed", lambda it: [it.next_root("abx")]),
    "a root without the old keys": ("threshold-not-met", lambda it: [None, it.next_root("de", root=role(2, "de"))]),
    "a root without its own keys": ("threshold-not-met", lambda it: [None, it.next_root("ab", root=role(2, "de"))]),
    "a root with fewer than the threshold of old keys": (
        "threshold-not-met",
        lambda it: [None, it.next_root("ade", root=role(2, "de"))],
    ),
    "the trusted root again": ("root-out-of-sequence", lambda it: [None, it.signed_root()]),
    "a root left out": ("root-out-of-sequence", lambda it: [None, it.next_root(version=3)]),
    "a good root is not kept where a later one is refused": (
        "root-out-of-sequence",
        lambda it: [None, it.next_root(), it.next_root(version=4)],
    ),
    "a good root is not kept where the registry is refused": (
        "threshold-not-met",
        lambda it: [it.next_registry(signers="w"), it.next_root()],
    ),
    "the bundled test root over a production one": (
        "threshold-not-met",
        lambda it: [bundled().registry_bytes, bundled().root_bytes],
    ),
    "a test root over a production one": ("root-use-differs", lambda it: [None, it.next_root(use="test")]),
    "a test key in a production root": (
        "test-key-in-production",
        lambda it: [None, it.next_root(registry={"threshold": 1, "keys": [keys.public_bytes(keys.test_key(0))]})],
    ),
    # Under the neutral element one signature would fit every registry.
    "a key of low order in a root": (
        "key-unsuitable",
        lambda it: [None, it.next_root(registry={"threshold": 1, "keys": [b"\x01" + bytes(31)]})],
    ),
    "registry keys taken away while nobody signs the registry anew": (
        "threshold-not-met",
        lambda it: [None, it.next_root(registry=role(1, "z"))],
    ),
    "a rollback of the issue date": (
        "registry-rolled-back",
        lambda it: [it.next_registry(issued=it.registry["issued"] - 1)],
    ),
    "an equal version with other bytes": ("registry-forked", lambda it: [it.next_registry(provider(44), version=5)]),
    "a newer registry that has expired too": (
        "registry-expired",
        lambda it: [it.next_registry(issued=it.now - 2, expires=it.now)],
    ),
    "an entry removed at the end": ("entry-removed", lambda it: [it.next_registry(entries=it.registry["entries"][:1])]),
    "entries removed under new keys": (
        "entry-removed",
        lambda it: [it.next_registry(entries=[], version=1, signers="z"), it.next_root(registry=role(1, "z"))],
    ),
    "entries moved": ("entry-altered", lambda it: [it.next_registry(entries=it.registry["entries"][::-1])]),
    "a code reused for another owner": (
        "code-reused",
        lambda it: [it.next_registry(provider(42, name="Somebody Else"))],
    ),
    "an envelope with more behind it": ("envelope-malformed", lambda it: [it.next_registry() + b"\xc0"]),
    "an envelope oversized": ("envelope-malformed", lambda it: [bytes(Envelope.MAX_BYTES + 1)]),
    "a root larger than a root may be": (
        "root-malformed",
        lambda it: [None, signed_payload(it, "ctwl-root/1", bytes((1 << 16) + 1), "ab")],
    ),
}
"""Attacks of one step: the status code that refuses each, and what is offered, a registry and then roots."""


@pytest.mark.parametrize(("code", "offered"), REFUSED.values(), ids=REFUSED)
def test_an_attack_of_one_step(repository: Any, code: str, offered: Callable[[Any], list[Any]]) -> None:
    repository.refuse(code, *offered(repository))


# Whose signatures count.


def test_a_signature_by_one_key_under_the_name_of_another(repository: Any) -> None:
    document = canonical.decode(repository.next_registry(signers="w"))
    document["signatures"][0]["key"] = repository.root["registry"]["keys"][0]
    repository.refuse("threshold-not-met", canonical.encode(document))


def test_a_repeated_key_does_not_make_up_a_threshold(repository: Any) -> None:
    document = canonical.decode(repository.next_root("a"))
    document["signatures"] *= 2
    repository.refuse("signature-repeated", None, canonical.encode(document))


def test_a_signed_payload_under_another_type(repository: Any) -> None:
    document = canonical.decode(repository.next_root("abx"))
    repository.refuse("threshold-not-met", canonical.encode(document | {"type": "ctwl-registry/1"}))


# Roots.


def test_a_root_rolled_back(repository: Any) -> None:
    first = repository.signed_root()
    repository.offer(None, repository.next_root())
    repository.refuse("root-out-of-sequence", None, first)


def test_an_update_under_an_expired_root(repository: Any) -> None:
    repository.refuse("root-expired", None, repository.next_root(expires=repository.now))
    repository.now = repository.root["expires"]
    repository.refuse("root-expired", repository.next_registry(expires=repository.now + DAY))


def test_a_production_root_over_a_test_one(repository: Any) -> None:
    save_trusted(bundled(), repository.folder)
    new = {"version": 2, "root": role(1, "a")}
    envelope = Envelope.from_bytes(repository.signed_root("a", **new))
    repository.refuse("root-use-differs", None, envelope.sign(keys.test_key(0)).sign(keys.test_key(1)).to_bytes())


def test_a_registry_by_keys_that_were_taken_away(repository: Any) -> None:
    repository.offer(repository.signed_registry("z"), repository.next_root(registry=role(1, "z")))
    repository.refuse("threshold-not-met", repository.next_registry(signers="x"))


# Time.


def test_a_rollback_to_an_older_version(repository: Any) -> None:
    older = repository.signed_registry()
    repository.offer(repository.next_registry())
    repository.refuse("registry-rolled-back", older)


def test_a_rollback_under_a_root_that_keeps_the_registry_keys(repository: Any) -> None:
    older = repository.signed_registry()
    repository.offer(repository.next_registry())
    repository.refuse("registry-rolled-back", older, repository.next_root())


def test_a_rollback_under_a_root_that_only_adds_a_registry_key(repository: Any) -> None:
    older = repository.signed_registry()
    repository.offer(repository.next_registry())
    repository.refuse("registry-rolled-back", older, repository.next_root(registry=role(1, "xyz")))


def test_an_equal_version_with_other_bytes_under_new_keys(repository: Any) -> None:
    forked = repository.next_registry(version=5, signers="z")
    repository.refuse("registry-forked", forked, repository.next_root(registry=role(1, "z")))


def test_a_freeze_past_expiry(repository: Any) -> None:
    repository.now = repository.registry["expires"]
    repository.refuse("registry-expired", repository.signed_registry())


def test_a_clock_set_back_to_where_a_frozen_registry_looks_fresh(repository: Any) -> None:
    old = repository.next_registry()
    repository.offer(old)
    repository.now += 50 * DAY
    repository.offer(old)
    repository.now -= DAY
    repository.offer(old)
    repository.now -= 1
    repository.refuse("clock-set-back", old)


def test_a_clock_set_back_before_the_registry_was_issued(repository: Any) -> None:
    issued = repository.now
    repository.now -= DAY + 1
    repository.refuse("clock-set-back", repository.next_registry(issued=issued))


def test_a_version_run_ahead_shuts_out_lower_ones(repository: Any) -> None:
    repository.offer(repository.next_registry(version=2**62))
    repository.refuse("registry-rolled-back", repository.next_registry())


# Entries.


def test_an_entry_removed_in_the_middle(repository: Any) -> None:
    entries = [*repository.registry["entries"][1:], provider(44)]
    repository.refuse("entry-removed", repository.next_registry(entries=entries))


def test_a_code_taken_over_by_another_name(repository: Any) -> None:
    entries = [provider(42, name="Somebody Else"), provider(43)]
    repository.refuse("entry-altered", repository.next_registry(entries=entries))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"since": 1}, id="given earlier"),
        pytest.param({"state": "active", "until": None}, id="active again"),
        pytest.param({"state": "retired", "until": 1_799_999_999}, id="retired at another time"),
        pytest.param({"models": []}, id="model removed"),
        pytest.param(
            {"models": [{"version": 0, "name": "Other", "since": 1_799_222_400, "until": None}]}, id="model renamed"
        ),
        pytest.param(
            {"models": [{"version": 0, "name": "Model", "since": 1_799_222_401, "until": None}]}, id="model moved"
        ),
        pytest.param(
            {"models": [{"version": 0, "name": "Model", "since": 1_799_222_400, "until": None, "nonces": 63}]},
            id="nonces taken away",
        ),
        pytest.param({"epochs": []}, id="epoch removed"),
        pytest.param({"epochs": [{"epoch": 1, "since": 1_800_000_001}]}, id="epoch moved"),
    ],
)
def test_an_entry_altered(repository: Any, changes: dict[str, Any]) -> None:
    fixed = {"state": "retired", "until": 1_800_000_000, "epochs": [{"epoch": 1, "since": 1_800_000_000}]}
    repository.registry["entries"][0] |= fixed
    repository.registry["version"] = 6
    repository.offer(repository.next_registry())
    repository.registry["version"] = 7
    entries = [provider(42, **(fixed | changes)), provider(43)]
    repository.refuse("entry-altered", repository.next_registry(entries=entries))


def test_a_revoked_provider_merely_retired(repository: Any) -> None:
    ended = {"until": repository.now}
    repository.registry["entries"][0] |= ended | {"state": "revoked"}
    repository.offer(repository.next_registry())
    repository.registry["version"] = 6
    entries = [provider(42, state="retired", **ended), provider(43)]
    repository.refuse("entry-altered", repository.next_registry(entries=entries))


def test_a_model_brought_back(repository: Any) -> None:
    ended = [{"version": 0, "name": "Model", "since": 1_799_222_400, "until": 1_800_000_000}]
    repository.registry["entries"][0] |= {"models": ended}
    repository.offer(repository.next_registry())
    repository.registry["version"] = 6
    repository.refuse("entry-altered", repository.next_registry(entries=[provider(42), provider(43)]))


def test_a_layout_given_other_fields(repository: Any) -> None:
    fields = [["provider", 10], ["version", 4], ["nonce", 6], ["room", 20]]
    layout = {"kind": "layout", "number": 64, "name": "theatre", "owner": 42, "fields": fields}
    repository.offer(repository.next_registry(layout))
    other = layout | {"fields": [*fields[:3], ["seat", 20]]}
    repository.refuse("entry-altered", repository.next_registry(other, version=7))


def test_a_certificate_dated_back(repository: Any) -> None:
    early = {"kind": "certificate", "commitment": bytes(32), "challenge": bytes(32), "owner": "Somebody"}
    early |= {"since": repository.registry["issued"] - 1}
    repository.refuse("entry-backdated", repository.next_registry(early))


def test_a_certificate_given_another_challenge(repository: Any) -> None:
    """Of many challenges, an owner could choose one whose key suits a text."""
    drawn = {"kind": "certificate", "commitment": bytes(32), "challenge": bytes(32), "owner": "Somebody"}
    drawn |= {"since": repository.registry["issued"]}
    repository.offer(repository.next_registry(drawn))
    repository.refuse("entry-altered", repository.next_registry(drawn | {"challenge": b"\1" * 32}, version=7))


def test_an_epoch_dated_back(repository: Any) -> None:
    """It would change which key a text of last week is opened with."""
    epochs = [{"epoch": 9, "since": repository.registry["issued"] - 1}]
    entries = [provider(42, epochs=epochs), provider(43)]
    repository.refuse("entry-backdated", repository.next_registry(entries=entries))


# Bytes.


def test_an_envelope_truncated(repository: Any) -> None:
    sound = repository.next_registry()
    for length in (0, 1, len(sound) // 2, len(sound) - 1):
        repository.refuse("envelope-malformed", sound[:length])


def test_an_envelope_of_many_signatures(refused: Any, repository: Any) -> None:
    signers = "".join(chr(0x4E00 + number) for number in range(64))
    with refused("envelope-malformed", match="at most 64"):
        repository.next_registry(signers=signers + "x")
    document = canonical.decode(repository.next_registry(signers=signers))
    document["signatures"].append({"key": b"\xff" * 32, "signature": bytes(64)})
    repository.refuse("envelope-malformed", canonical.encode(document))


def signed_payload(repository: Any, kind: str, payload: bytes, signers: str) -> bytes:
    """Any bytes, signed in order by the keys that count: the attacker holds them."""
    from hashlib import sha256

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    envelope = Envelope(format="ctwl-envelope/1", type=kind, payload=payload, signatures=())
    for name in signers:
        envelope = envelope.sign(Ed25519PrivateKey.from_private_bytes(sha256(name.encode()).digest()))
    return envelope.to_bytes()


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda data: data[:-1], id="truncated"),
        pytest.param(lambda data: data + b"\x00", id="trailing byte"),
        pytest.param(lambda data: data.replace(b"\xa7version\x06", b"\xa7version\xcc\x06"), id="overlong integer"),
        pytest.param(lambda data: data.replace(b"\xa6issued", b"\xd9\x06issued"), id="overlong string"),
        pytest.param(lambda data: b"\x86" + data[1:] + b"\xa7version\x06", id="duplicate keys in a map"),
        pytest.param(lambda data: data + bytes(1 << 20), id="oversized"),
        pytest.param(lambda data: b"", id="empty"),
    ],
)
def test_a_registry_that_is_no_canonical_document(repository: Any, spoil: Any) -> None:
    payload = spoil(Envelope.from_bytes(repository.next_registry()).payload)
    if len(payload) > Envelope.MAX_BYTES - 1000:
        payload = payload[: (1 << 20) + 1]
    repository.refuse("registry-malformed", signed_payload(repository, "ctwl-registry/1", payload, "x"))


def test_names_that_would_steer_a_terminal(repository: Any) -> None:
    for name in ("\x1b]0;owned\x07", "a\u202eb", "a\r\nb", "\u200b"):
        repository.refuse("registry-malformed", repository.next_registry(provider(44, name=name)))

"""Whatever an operator does by drafts, every client takes it, from whichever version it comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctwl_operations.registry import drafts
from ctwl_protocol.errors import CTWLError
from ctwl_protocol.registry import Envelope, Registry, Trusted, keys
from ctwl_protocol.registry.workflow import begin, update

DAY = 86_400
NOW = 1_800_000_000
KEY, OTHER = keys.test_key(0), keys.test_key(1)

codes = st.integers(0, 4)
small = st.integers(0, 3)


def provider(code: int) -> Callable[[Registry], Registry]:
    entry = {"kind": "provider", "code": code, "name": f"Provider {code}", "contact": "mail@provider.example"}
    entry |= {"state": "active", "since": NOW, "until": None, "models": [], "epochs": []}
    return lambda registry: drafts.add(registry, **entry)


def certificate(number: int) -> Callable[[Registry], Registry]:
    entry = {"kind": "certificate", "commitment": bytes([number]) * 32, "owner": "Somebody"}
    return lambda registry: drafts.add(registry, **entry, since=None)


def model(code: int, version: int) -> Callable[[Registry], Registry]:
    item = {"version": version, "name": "Model", "since": NOW, "until": None}
    return lambda registry: drafts.add(registry, "model", code=code, **item)


def epoch(code: int, number: int) -> Callable[[Registry], Registry]:
    return lambda registry: drafts.add(registry, "epoch", code=code, epoch=number, since=None)


def retired(code: int, version: int | None, revoke: bool) -> Callable[[Registry], Registry]:
    return lambda registry: drafts.retire(registry, code, version=version, revoke=revoke and version is None)


def detector(code: int, named: bool) -> Callable[[Registry], Registry]:
    found = {"scheme": "Own", "url": "https://other.example/detect"} if named else None
    return lambda registry: drafts.set_detector(registry, code, found)


def nonces(code: int, version: int, number: int) -> Callable[[Registry], Registry]:
    return lambda registry: drafts.set_nonces(registry, code, version, number)


def reading_model(code: int, name: str | None) -> Callable[[Registry], Registry]:
    return lambda registry: drafts.set_reading_model(registry, code, name)


changes = st.one_of(
    st.none(),
    st.builds(provider, codes),
    st.builds(certificate, small),
    st.builds(model, codes, small),
    st.builds(epoch, codes, small),
    st.builds(retired, codes, st.none() | small, st.booleans()),
    codes.map(lambda code: lambda registry: drafts.set_contact(registry, code, "https://other.example/")),
    st.builds(detector, codes, st.booleans()),
    st.builds(nonces, codes, small, st.sampled_from([1, 8, 64, 65])),
    st.builds(reading_model, codes, st.sampled_from([None, "somebody/model", "../model"])),
)


def first() -> tuple[bytes, Envelope]:
    roles = {"root": drafts.role(1, [keys.public_bytes(OTHER)]), "registry": drafts.role(1, [keys.public_bytes(KEY)])}
    root, registry = drafts.first(use="test", **roles, now=NOW, root_days=999, days=90)
    return Envelope.unsigned(root).sign(OTHER).to_bytes(), Envelope.unsigned(registry).sign(KEY)


@settings(max_examples=60)
@given(st.lists(changes, max_size=25))
def test_what_drafts_allow_clients_take(refused: Any, wanted: list[Any]) -> None:
    root, envelope = first()
    trusted: list[Trusted] = [begin(root, envelope.to_bytes())]
    now = NOW
    for change in wanted:
        now += DAY
        try:
            envelope = drafts.revise(envelope, change, now=now, days=90).sign(KEY)
        except CTWLError:
            continue  # the operator was told
        every = update(trusted[-1], now=now, registry=envelope.to_bytes())
        assert update(trusted[0], now=now, registry=envelope.to_bytes()).registry == every.registry
        if len(trusted) > 1:
            with refused("registry-rolled-back"):
                update(every, now=now, registry=trusted[-1].registry_bytes)
        trusted.append(every)


@pytest.mark.parametrize(("clock", "issued"), [(NOW + DAY, NOW + DAY), (NOW - DAY, NOW)])
def test_a_clock_behind_the_last_version_does_not_date_the_next_one_back(clock: int, issued: int) -> None:
    _, signed = first()
    draft = Registry.from_bytes(drafts.revise(signed, None, now=clock, days=1).payload)
    assert (draft.issued, draft.expires) == (issued, issued + DAY)


def test_a_provider_that_is_retired_takes_its_models_along() -> None:
    _, envelope = first()
    for change in (provider(1), model(1, 0), model(1, 1), retired(1, 0, False), retired(1, None, False)):
        envelope = drafts.revise(envelope, change, now=NOW, days=90)
    owner = Registry.from_bytes(envelope.payload).provider(1)
    assert owner and owner.state == "retired" and all(item.until == NOW for item in owner.models)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (retired(1, 3, False), "entry-unknown"),
        (epoch(1, 2), "registry-malformed"),
        (lambda registry: drafts.set_contact(registry, 1, "nowhere"), "registry-malformed"),
        (lambda registry: drafts.add(registry, "epoch", code=1, epoch=9, since=NOW - 1), "registry-malformed"),
        (retired(2, None, False), "entry-altered"),
        (nonces(9, 0, 64), "entry-unknown"),
        (nonces(2, 0, 65), "registry-malformed"),
        (nonces(2, 0, 7), "entry-altered"),
        (nonces(2, 0, 8), "entry-altered"),
        (reading_model(1, "nowhere"), "registry-malformed"),
    ],
)
def test_what_clients_would_refuse_is_refused_in_the_draft(refused: Any, change: Any, code: str) -> None:
    _, envelope = first()
    few = {"version": 0, "name": "Model", "since": NOW, "until": None, "nonces": 8}
    ended = (lambda registry: drafts.add(registry, "model", code=2, **few), retired(2, None, True))
    for sound in (provider(1), epoch(1, 2), provider(2), *ended):
        envelope = drafts.revise(envelope, sound, now=NOW, days=90)
    with refused(code):
        drafts.revise(envelope.sign(KEY), change, now=NOW, days=90)


def test_the_order_of_the_changes_in_a_draft_does_not_matter() -> None:
    """Clients compare its dates with those of the version before it, which is older than the draft's other changes."""
    root, envelope = first()
    since = NOW + 9 * DAY
    for change in (
        provider(1),
        lambda registry: drafts.add(registry, "epoch", code=1, epoch=0, since=since),
        lambda registry: drafts.retire(registry, 1, at=since),
    ):
        draft = drafts.revise(envelope, change, now=NOW + 10 * DAY, days=90)
        envelope = drafts.revise(draft, None, now=NOW + 10 * DAY, days=90)
    trusted = begin(root, first()[1].to_bytes())
    assert update(trusted, now=NOW + 11 * DAY, registry=envelope.sign(KEY).to_bytes()).registry.version == 2


def test_the_first_registry_may_say_when_a_provider_began() -> None:
    root, registry = first()
    draft = Envelope.unsigned(Registry.from_bytes(registry.payload))
    for change in (provider(1), lambda found: drafts.add(found, "epoch", code=1, epoch=0, since=NOW)):
        draft = drafts.revise(draft, change, now=NOW + 99 * DAY, days=90)
    assert begin(root, draft.sign(KEY).to_bytes()).registry.version == 1


def test_a_version_that_a_thief_ran_ahead_is_left_behind(refused: Any) -> None:
    root, envelope = first()
    trusted = begin(root, envelope.to_bytes())
    most = (1 << 63) - 1
    thief = drafts.revise(envelope, certificate(1), now=NOW, days=90, version=most).sign(KEY)
    trusted = update(trusted, now=NOW, registry=thief.to_bytes())
    with refused("registry-malformed"):
        drafts.revise(thief, None, now=NOW, days=90)
    fresh = keys.test_key(2)
    role = drafts.role(1, [keys.public_bytes(fresh)])
    new = drafts.next_root(trusted.root, root=None, registry=role, now=NOW, root_days=99)
    roots = [Envelope.unsigned(new).sign(OTHER).to_bytes()]
    mended = drafts.revise(thief, provider(7), now=NOW, days=90, version=2).sign(fresh)
    assert update(trusted, now=NOW, roots=roots, registry=mended.to_bytes()).registry.version == 2


def test_the_next_root_keeps_what_is_not_changed(refused: Any) -> None:
    root, _ = first()
    old = Envelope.from_bytes(root).document()
    new = drafts.next_root(
        old, root=None, registry=drafts.role(1, [keys.public_bytes(keys.test_key(2))]), now=NOW, root_days=1
    )
    assert (new.version, new.root, new.expires) == (2, old.root, NOW + DAY)
    with refused("key-unsuitable"):
        drafts.next_root(old, root=drafts.role(1, [bytes(32)]), registry=None, now=NOW, root_days=1)

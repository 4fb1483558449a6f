"""The documents of the registry: what is written is read, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ctwl_protocol import CTWLError, canonical
from ctwl_protocol.errors import RegistryError
from ctwl_protocol.registry import Envelope, Registry, Role, Root, keys
from ctwl_protocol.registry.documents import REGISTRY, ROOT

SEAT = {"nonce": 5, "room": 4, "seat": 3}
KEYS = sorted((keys.test_key(number) for number in range(4)), key=keys.public_bytes)
PUBLIC = [keys.public_bytes(key) for key in KEYS]

RFC_8032 = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"


def role(**changes: Any) -> dict[str, Any]:
    return {"threshold": 2, "keys": PUBLIC[:3]} | changes


def root(**changes: Any) -> dict[str, Any]:
    document = {"format": ROOT, "use": "test", "version": 1, "expires": 2_000_000_000, "root": role()}
    return document | {"registry": role(threshold=1, keys=PUBLIC[3:])} | changes


def provider(**changes: Any) -> dict[str, Any]:
    model = {"version": 3, "name": "Aloud 3", "since": 100, "until": None}
    document = {"kind": "provider", "code": 42, "name": "Aloud", "contact": "https://aloud.example/", "since": 100}
    document |= {"state": "active", "until": None, "models": [model]}
    return document | {"epochs": [{"epoch": 1, "since": 100}, {"epoch": 2, "since": 200}]} | changes


URL = "https://aloud.example/detect"


def pointing(url: str = URL, **changes: Any) -> dict[str, Any]:
    """A provider that names its own detector."""
    return provider(detector={"scheme": "Aloud's own", "url": url}, **changes)


def layout(**changes: Any) -> dict[str, Any]:
    fields = [["provider", 10], ["version", 4], ["nonce", 6], ["room", 12], ["seat", 8]]
    return {"kind": "layout", "number": 64, "name": "theatre", "owner": 42, "fields": fields} | changes


def certificate(**changes: Any) -> dict[str, Any]:
    drawn = {"commitment": bytes(range(32)), "challenge": bytes(range(32, 64))}
    return {"kind": "certificate", "owner": "Somebody", "since": 300} | drawn | changes


def registry(*entries: dict[str, Any], **changes: Any) -> dict[str, Any]:
    listed = list(entries or (provider(), layout(), certificate()))
    return {"format": REGISTRY, "version": 7, "issued": 1000, "expires": 2000, "entries": listed} | changes


def read(document: dict[str, Any]) -> Registry:
    return Registry.from_bytes(canonical.encode(document))


def test_a_root_comes_back() -> None:
    data = canonical.encode(root())
    assert Root.from_bytes(data).to_bytes() == data


def test_a_registry_answers_what_a_decoder_asks() -> None:
    found = read(registry())
    assert found.to_bytes() == canonical.encode(registry())
    owner = found.provider(42)
    assert owner is not None and owner.name == "Aloud"
    assert found.provider(43) is None
    model = found.model(42, 3)
    assert model is not None and model.name == "Aloud 3"
    assert found.model(42, 4) is None and found.model(43, 3) is None
    assert found.beacons() == [(42, 3)]
    assert [found.epoch(42, at) for at in (99, 100, 199, 200, 9999)] == [None, 1, 1, 2, 2]
    assert found.epoch(43, 200) is None
    assert [found.nonces(*beacon) for beacon in ((42, 3), (42, 4), (43, 3))] == [64, 64, 64]
    (registered,) = found.layouts()
    assert registered is not None and registered.fields[3] == ("room", 12)
    assert registered.layout.unpack(registered.layout.pack({**dict.fromkeys(["provider", "version"], 3), **SEAT}))
    assert registered.number == 64
    certified = found.certificate(bytes(range(32)))
    assert certified is not None and certified.since == 300
    assert found.certificate(bytes(32)) is None
    assert [found.expired(at) for at in (1999, 2000)] == [False, True]


def test_a_retired_provider_still_decodes_and_says_so() -> None:
    owner = read(registry(provider(state="retired", until=500))).provider(42)
    assert owner is not None and (owner.state, owner.until) == ("retired", 500)
    assert read(registry(provider(state="retired", until=500))).beacons() == [(42, 3)]


@pytest.mark.parametrize("where", ["root", "registry"])
def test_a_root_for_production_has_no_test_key(refused: Any, where: str) -> None:
    genuine = role(threshold=1, keys=[bytes.fromhex(RFC_8032)])
    other = role(threshold=1, keys=[keys.public_bytes(Ed25519PrivateKey.from_private_bytes(bytes(32)))])
    sound = root(use="production", root=other, registry=other) | {where: genuine}
    assert Root.from_bytes(canonical.encode(sound)).use == "production"
    mixed = role(threshold=1, keys=sorted([bytes.fromhex(RFC_8032), PUBLIC[0]]))
    with refused("test-key-in-production", match=PUBLIC[0].hex()):
        Root.from_bytes(canonical.encode(sound | {where: mixed}))


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (root(version=0), "version"),
        (root(root=role(threshold=4)), "root: .* exceeds"),
        (root(root=role(keys=PUBLIC[2::-1])), "distinct and ascending"),
        (root(root=role(keys=[PUBLIC[0], b"short"])), "32 bytes"),
        (registry(expires=1000), "expires must lie after issued"),
        (registry({"code": 42}), "kind"),
        (registry(provider(name="evil \u202e live")), r"U\+202E"),
        (registry(provider(name="\u05d0\u05d1 \u0967")), "name"),
        (registry(provider(contact="https://aloud.example/<b>")), "contact"),
        (registry(provider(state="retired")), "until is set"),
        (registry(provider(models=[{"version": 1, "name": "a", "since": 1}])), "until"),
        (registry(provider(epochs=[{"epoch": 2, "since": 1}, {"epoch": 1, "since": 2}])), "ascend"),
        (registry(pointing("https://10.0.0.0x1/")), "url"),
        (registry(pointing("https://aloud.example\\@evil.example/")), "url"),
        (registry(pointing("https://aloud.example/'><script>")), "url"),
        (registry(layout(), provider()), "registered before it"),
        (registry(provider(), layout(fields=[*layout()["fields"][:4], ["seat", 9]])), "do not fill"),
        (registry(provider(), layout(fields=[*layout()["fields"][:4], ["seat", True]])), "fields"),
        (registry(provider(), layout(fields=[])), "fields"),
    ],
)
def test_what_breaks_a_rule_is_named(document: dict[str, Any], says: str) -> None:
    """The vectors have every rule; their answers are codes alone."""
    kind: type[Root | Registry] = Root if document["format"] == ROOT else Registry
    with pytest.raises(RegistryError, match=says) as caught:
        kind.from_bytes(canonical.encode(document))
    assert caught.value.code == ("root-malformed" if kind is Root else "registry-malformed")


_hosts = st.lists(st.sampled_from(["a", "9", "-", ".", "0x7", "127", "example", "localhost", "xn--a"]), max_size=6)
_tails = st.lists(
    st.sampled_from(["/", "a", "%41", "%4", "@", ":", "\\", "?", "#", "\x00", " ", "é", "443"]), max_size=6
)


@given(st.builds(lambda host, tail: "https://" + "".join(host) + "".join(tail), _hosts, _tails) | st.text(max_size=40))
def test_no_reader_of_addresses_sees_another_host_than_the_pattern(url: str) -> None:
    try:
        read(registry(pointing(url)))
    except RegistryError as error:
        assert error.code == "registry-malformed"
        return
    parts = urlsplit(url)
    assert (parts.scheme, parts.username, parts.password, parts.port) == ("https", None, None, None)
    assert not parts.query and not parts.fragment
    assert parts.hostname and "." in parts.hostname and parts.netloc.lower() == parts.hostname
    assert parts.hostname.rsplit(".", 1)[1][0].isalpha(), "the name of a host, not an address"
    with pytest.raises(ValueError):
        ip_address(parts.hostname)


def test_optional_fields_come_back_and_are_nowhere_else() -> None:
    model = {"version": 3, "name": "Aloud 3", "since": 100, "until": None, "nonces": 8}
    named = pointing(reading_model="Qwen/Qwen2.5-1.5B-Instruct", models=[model])
    for document in (registry(), registry(named)):
        found = read(document)
        assert found.to_bytes() == canonical.encode(document)
        assert found.model_dump(mode="json")["entries"][0] == document["entries"][0]
    assert found.nonces(42, 3) == 8


def test_a_registry_may_have_nearly_a_mebibyte_and_no_more(refused: Any) -> None:
    drawn = [number.to_bytes(32, "big") for number in range(5400)]
    entries = [certificate(commitment=each, challenge=each, owner="a" * 80) for each in drawn]
    data = canonical.encode(registry(*entries[:5000]))
    assert 1_000_000 < len(data) <= Registry.MAX_BYTES
    assert Registry.from_bytes(data).certificate((4999).to_bytes(32, "big")) is not None
    with refused("registry-malformed", match="bytes"):
        read(registry(*entries))


def test_a_list_is_read_no_further_than_its_first_wrong_item() -> None:
    """Else the errors of a file of a mebibyte, of which one is named, would take longest."""
    with pytest.raises(RegistryError) as refused:
        Registry.from_bytes(canonical.encode(registry(entries=[0] * 1000)))
    assert isinstance(cause := refused.value.__cause__, ValidationError) and cause.error_count() == 1


def test_messages_do_not_repeat_what_could_steer_a_terminal(refused: Any) -> None:
    for document in (registry(provider(**{"\x1b[2J": 1})), registry({"kind": "\x1b[2J" * 1000})):
        with refused("registry-malformed") as caught:
            read(document)
        assert str(caught.value).isprintable() and len(str(caught.value)) < 400


def signed(*signers: int) -> Envelope:
    envelope = Envelope.unsigned(Root.from_bytes(canonical.encode(root())))
    for number in signers:
        envelope = envelope.sign(KEYS[number])
    return envelope


ROLE = Role(threshold=2, keys=tuple(PUBLIC[:3]))


def test_a_threshold_of_signatures_opens_an_envelope() -> None:
    envelope = Envelope.from_bytes(signed(2, 0, 2).to_bytes())
    assert Root.from_bytes(envelope.verify(ROOT, ROLE)).version == 1
    assert envelope.document().version == 1
    assert envelope == signed(2, 0)


def test_an_envelope_takes_64_signatures(refused: Any) -> None:
    envelope = Envelope.unsigned(read(registry()))
    for _ in range(64):
        envelope = envelope.sign(Ed25519PrivateKey.generate())
    with refused("envelope-malformed", match="at most 64"):
        envelope.sign(Ed25519PrivateKey.generate())


@given(st.data())
def test_an_altered_envelope_opens_nothing(data: st.DataObject) -> None:
    altered = bytearray(signed(0, 1).to_bytes())
    place = data.draw(st.integers(0, len(altered) - 1))
    altered[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(CTWLError):
        Envelope.from_bytes(bytes(altered)).verify(ROOT, ROLE)


# Fuzzing: bytes at random, and sound documents with something else in one place.

SOUND = {Envelope: signed(0, 1).model_dump(), Root: root(), Registry: registry()}
leaves = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=9) | st.binary(max_size=40)
values = leaves | st.lists(leaves, max_size=4) | st.dictionaries(st.text(max_size=9), leaves, max_size=4)


def altered(draw: Callable[[st.SearchStrategy[Any]], Any], value: Any) -> Any:
    """The value with another one somewhere inside it."""
    if isinstance(value, dict) and draw(st.booleans()):
        name = draw(st.sampled_from(sorted(value)))
        return value | {name: altered(draw, value[name])}
    if isinstance(value, list | tuple) and value and draw(st.booleans()):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], altered(draw, value[place]), *value[place + 1 :]]
    return draw(values)


@pytest.mark.parametrize("kind", SOUND)
@given(st.data())
def test_any_bytes_are_read_exactly_or_refused(kind: type[Envelope | Root | Registry], data: st.DataObject) -> None:
    damaged = canonical.encode(altered(data.draw, SOUND[kind]))
    bits = data.draw(st.binary(max_size=200) | st.just(damaged))
    try:
        found = kind.from_bytes(bits)
    except RegistryError:
        return
    assert found.to_bytes() == bits

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

from ctwl_protocol import CTWLError, canonical
from ctwl_protocol.errors import RegistryError
from ctwl_protocol.registry import Envelope, Registry, Role, Root, keys
from ctwl_protocol.registry.documents import REGISTRY, ROOT
from ctwl_protocol.registry.envelope import pre_authentication_encoding

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
    return provider(detector={"scheme": "Aloud's own", "url": url} | changes)


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


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"format": "ctwl-root/2"}, "format"),
        ({"use": "tset"}, "use"),
        ({"version": 0}, "version"),
        ({"version": True}, "version"),
        ({"expires": -1}, "expires"),
        ({"more": 1}, "more"),
        ({"root": role(threshold=0)}, "threshold"),
        ({"root": role(threshold=4)}, "exceeds"),
        ({"root": role(keys=[])}, "keys"),
        ({"root": role(keys=[PUBLIC[0], PUBLIC[0], PUBLIC[1]])}, "distinct and ascending"),
        ({"root": role(keys=PUBLIC[2::-1])}, "distinct and ascending"),
        ({"root": role(keys=[PUBLIC[0], b"short"])}, "32 bytes"),
        ({"root": role(keys=PUBLIC * 10)}, "at most 32"),
        ({"root": None}, "root"),
    ],
)
def test_a_root_that_breaks_a_bound_is_refused(refused: Any, changes: dict[str, Any], says: str) -> None:
    with refused("root-malformed", match=says):
        Root.from_bytes(canonical.encode(root(**changes)))


@pytest.mark.parametrize("key", [bytes(32), b"\xff" * 31 + b"\x7f", b"\x02" + bytes(31)])
def test_a_root_with_an_unsuitable_key_is_refused(refused: Any, key: bytes) -> None:
    with refused("key-unsuitable"):
        Root.from_bytes(canonical.encode(root(root=role(threshold=1, keys=[key]))))


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
        (registry(version=0), "version"),
        (registry(version=1 << 63), "version"),
        (registry(expires=1000), "expires must lie after issued"),
        (registry(expires=1 << 40), "expires"),
        (registry(entries={}), "entries"),
        (registry({"kind": "other"}), "kind"),
        (registry({"code": 42}), "kind"),
        (registry(provider(code=1024)), "code"),
        (registry(provider(code=-1)), "code"),
        (registry(provider(name="")), "name"),
        (registry(provider(name="a" * 101)), "name"),
        (registry(provider(name="\x1b[2J")), r"U\+001B"),
        (registry(provider(name="evil \u202e live")), r"U\+202E"),
        (registry(provider(name="two\nlines")), r"U\+000A"),
        (registry(provider(name=" Aloud")), "single spaces"),
        (registry(provider(contact="javascript:alert(1)")), "contact"),
        (registry(provider(contact="https://aloud.example/<b>")), "contact"),
        (registry(provider(contact="https://аloud.example/")), "contact"),
        (registry(provider(contact="mail@aloud.example\n")), "contact"),
        (registry(provider(state="gone")), "state"),
        (registry(provider(state="retired")), "until is set"),
        (registry(provider(until=500)), "until is set"),
        (registry(provider(state="retired", until=99)), "before since"),
        (registry(provider(models=[{"version": 16, "name": "a", "since": 1, "until": None}])), "version"),
        (registry(provider(models=[{"version": 1, "name": "a", "since": 1, "until": None}] * 2)), "one version"),
        (registry(provider(models=[{"version": 1, "name": "a", "since": 1}])), "until"),
        (registry(provider(epochs=[{"epoch": 2, "since": 1}, {"epoch": 1, "since": 2}])), "ascend"),
        (registry(provider(epochs=[{"epoch": 1, "since": 2}, {"epoch": 2, "since": 2}])), "ascend"),
        (registry(provider(detector=None)), "detector"),
        (registry(provider(detector=URL)), "detector"),
        (registry(provider(detector={"url": URL})), "scheme"),
        (registry(pointing(token="s3cret")), "token"),
        (registry(pointing(scheme="")), "scheme"),
        (registry(pointing(scheme="\x1b[2J")), r"U\+001B"),
        (registry(pointing("https://aloud.example/" + "a" * 179)), "url"),
        (registry(provider(), layout(number=63)), "number"),
        (registry(provider(), layout(number=128)), "number"),
        (registry(layout(), provider()), "registered before it"),
        (
            registry(provider(), layout(fields=[["provider", 10], ["nonce", 6], ["version", 4], ["user", 20]])),
            "first fields",
        ),
        (registry(provider(), layout(fields=[["provider", 10], ["version", 4], ["nonce", 6]])), "fields"),
        (registry(provider(), layout(fields=[*layout()["fields"][:4], ["seat", 9]])), "do not fill"),
        (registry(provider(), layout(fields=[*layout()["fields"][:4], ["seat", True]])), "fields"),
        (registry(provider(), layout(fields=[*layout()["fields"][:4], ["room", 8]])), "share a name"),
        (registry(provider(), layout(fields=[*layout()["fields"][:4], ["Seat", 8]])), "fields"),
        (registry(provider(), layout(fields=[*layout()["fields"][:3], ["a", 1], ["b", 1]])), "do not fill"),
        (registry(provider(), layout(fields=[*layout()["fields"][:3], ["a", 60], ["b", 20]])), "do not fill"),
        (registry(provider(), layout(fields=[])), "fields"),
        (registry(provider(), layout(fields=[*layout()["fields"][:3], ["authenticator", 20], ["a", 20]])), "last"),
        (registry(provider(), layout(fields=[*layout()["fields"][:3], ["authenticator", 40]])), "whole code"),
        (registry(provider(), layout(name="the Theatre")), "name"),
        (registry(provider(), layout(), layout(number=65)), "two layouts have one name"),
        (registry(provider(epochs=[{"epoch": 1 << 16, "since": 1}])), "epoch"),
        (registry(certificate(commitment=bytes(31))), "commitment"),
        (registry(certificate(challenge=bytes(31))), "challenge"),
        (registry({name: value for name, value in certificate().items() if name != "challenge"}), "challenge"),
        (registry(certificate(), certificate(commitment=bytes(32))), "one challenge"),
        (registry(certificate(since=1001)), "after the registry"),
    ],
)
def test_a_registry_that_breaks_a_bound_is_refused(refused: Any, document: dict[str, Any], says: str) -> None:
    with refused("registry-malformed", match=says):
        read(document)


@pytest.mark.parametrize(
    "url",
    [
        "http://aloud.example/",
        "HTTPS://aloud.example/",
        "https://user@aloud.example/",
        "https://user:secret@aloud.example/",
        "https://aloud.example:8443/",
        "https://aloud.example/?q=1",
        "https://aloud.example/#a",
        "https://127.0.0.1/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://10.0.0.0x1/",
        "https://[::1]/",
        "https://localhost/",
        "https://-aloud.example/",
        "https://aloud..example/",
        "https://aloud.example./",
        "https://aloud.example\\@evil.example/",
        "https://aloud.example/%0",
        "https://aloud.example/\n",
        "https://aloud.example\n",
        "https://аloud.example/",
        "https://aloud.example/'><script>",
        "https:aloud.example",
        "javascript:alert(1)",
        "",
    ],
)
def test_a_detector_has_an_https_address_by_name(refused: Any, url: str) -> None:
    with refused("registry-malformed", match="url"):
        read(registry(pointing(url)))


@pytest.mark.parametrize(
    "url",
    [
        URL,
        "https://aloud.example",
        "https://a.bc/",
        "https://xn--aloud-9ua.example/v1/detect/~x;y=1,2/%C3%A9@:",
        "https://" + "a" * 63 + ".example/" + "a" * 120,
    ],
)
def test_a_detector_comes_back(url: str) -> None:
    found = read(registry(pointing(url))).provider(42)
    assert found is not None and found.detector is not None
    assert (found.detector.scheme, found.detector.url) == ("Aloud's own", url)


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


def test_an_entry_without_a_detector_has_the_bytes_that_it_always_had() -> None:
    data = canonical.encode(registry())
    assert Registry.from_bytes(data).to_bytes() == data
    assert "detector" not in Registry.from_bytes(data).model_dump()["entries"][0]
    named = canonical.encode(registry(pointing()))
    assert Registry.from_bytes(named).to_bytes() == named


def declaring(nonces: Any) -> dict[str, Any]:
    """A provider whose model declares how many nonces its texts have."""
    return provider(models=[{"version": 3, "name": "Aloud 3", "since": 100, "until": None, "nonces": nonces}])


@pytest.mark.parametrize("nonces", [1, 3, 8, 64])
def test_a_model_declares_its_nonces(nonces: int) -> None:
    data = canonical.encode(registry(declaring(nonces)))
    found = Registry.from_bytes(data)
    assert found.to_bytes() == data
    assert found.nonces(42, 3) == nonces
    assert "nonces" not in read(registry()).model_dump()["entries"][0]["models"][0]
    assert [read(registry()).nonces(*beacon) for beacon in ((42, 3), (42, 4), (43, 3))] == [64, 64, 64]


@pytest.mark.parametrize("nonces", [0, -1, 65, 2**40, "8", True, None, []])
def test_other_numbers_of_nonces_are_refused(refused: Any, nonces: Any) -> None:
    with refused("registry-malformed"):
        read(registry(declaring(nonces)))


@pytest.mark.parametrize("name", ["Qwen/Qwen2.5-1.5B-Instruct", "a/b", "0x/9", "a/" + "b" * 98])
def test_a_provider_names_the_model_that_reads_it_best(name: str) -> None:
    data = canonical.encode(registry(provider(reading_model=name)))
    found = Registry.from_bytes(data)
    assert found.to_bytes() == data
    owner = found.provider(42)
    assert owner is not None and owner.reading_model == name


@pytest.mark.parametrize(
    "name",
    [
        *("", "gpt2", "/etc/passwd", "../model", "a/../b", "a//b", "a/b/c", ".a/b", "a/.b", "-x/b", "a/-b", "a/b\n"),
        *("a/b c", "https://a.b", "a/b;c", "ä/b", "a/b\x1b[2J", "a/" + "b" * 99, None, 7, b"a/b"),
    ],
)
def test_other_names_of_models_are_refused(refused: Any, name: Any) -> None:
    with refused("registry-malformed"):
        read(registry(provider(reading_model=name)))


@pytest.mark.parametrize("entry", [provider, layout, certificate])
def test_a_code_a_number_and_a_commitment_stand_once(refused: Any, entry: Callable[[], dict[str, Any]]) -> None:
    with refused("code-reused", match="two entries"):
        read(registry(provider(), layout(), certificate(), entry()))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(canonical.encode(registry())[:-1], id="truncated"),
        pytest.param(canonical.encode(registry()) + b"\xc0", id="trailing byte"),
        pytest.param(b"\x82\xa1a\x01\xa1a\x02", id="duplicate keys in a map"),
        pytest.param(canonical.encode(registry()).replace(b"\xa7version\x07", b"\xa7version\xcc\x07"), id="overlong"),
        pytest.param(bytes(Registry.MAX_BYTES + 1), id="oversized"),
        pytest.param(b"\xdd\xff\xff\xff\xff", id="array that claims four billion items"),
        pytest.param(b"\x91" * 100_000, id="deep"),
        pytest.param(canonical.encode([]), id="no map"),
    ],
)
def test_bytes_that_are_no_canonical_registry_are_refused(refused: Any, data: bytes) -> None:
    with refused("registry-malformed"):
        Registry.from_bytes(data)


def test_a_registry_of_nearly_a_mebibyte_is_read() -> None:
    drawn = [number.to_bytes(32, "big") for number in range(5000)]
    entries = [certificate(commitment=each, challenge=each, owner="a" * 80) for each in drawn]
    data = canonical.encode(registry(*entries))
    assert 1_000_000 < len(data) <= Registry.MAX_BYTES
    assert Registry.from_bytes(data).certificate((4999).to_bytes(32, "big")) is not None


def test_messages_do_not_repeat_what_could_steer_a_terminal(refused: Any) -> None:
    for document in (registry(provider(**{"\x1b[2J": 1})), registry({"kind": "\x1b[2J" * 1000})):
        with refused("registry-malformed") as caught:
            read(document)
        assert str(caught.value).isprintable() and len(str(caught.value)) < 400


def test_the_signed_bytes_are_those_of_dsse() -> None:
    assert pre_authentication_encoding("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


def signed(*signers: int) -> Envelope:
    envelope = Envelope.unsigned(Root.from_bytes(canonical.encode(root())))
    for number in signers:
        envelope = envelope.sign(KEYS[number])
    return envelope


ROLE = Role(threshold=2, keys=tuple(PUBLIC[:3]))


def test_a_threshold_of_signatures_opens_an_envelope() -> None:
    envelope = Envelope.from_bytes(signed(2, 0).to_bytes())
    assert Root.from_bytes(envelope.verify(ROOT, ROLE)).version == 1
    assert envelope.document().version == 1


def test_signing_twice_with_one_key_leaves_one_signature() -> None:
    assert signed(1, 1) == signed(1)


@pytest.mark.parametrize("signers", [[], [1], [1, 3]])
def test_fewer_signatures_than_the_threshold_open_nothing(refused: Any, signers: list[int]) -> None:
    with refused("threshold-not-met", match=f"{len(set(signers) - {3})} valid"):
        signed(*signers).verify(ROOT, ROLE)


def test_a_signature_by_another_key_under_a_known_name_does_not_count(refused: Any) -> None:
    forged = signed(0, 3).model_dump()
    forged["signatures"][-1]["key"] = PUBLIC[1]
    with refused("threshold-not-met"):
        Envelope.from_bytes(canonical.encode(forged)).verify(ROOT, ROLE)


def test_signatures_stand_in_order_and_once_for_each_key(refused: Any) -> None:
    document = signed(0, 1).model_dump()
    swapped = document | {"signatures": document["signatures"][::-1]}
    with refused("envelope-malformed", match="ascending"):
        Envelope.from_bytes(canonical.encode(swapped))
    repeated = document | {"signatures": document["signatures"][:1] * 2}
    with refused("signature-repeated"):
        Envelope.from_bytes(canonical.encode(repeated))
    many = document | {"signatures": document["signatures"] * 33}
    with refused("envelope-malformed", match="at most 64"):
        Envelope.from_bytes(canonical.encode(many))


def test_the_type_is_signed_with_the_payload(refused: Any) -> None:
    document = signed(0, 1).model_dump()
    moved = Envelope.from_bytes(canonical.encode(document | {"type": REGISTRY}))
    with refused("threshold-not-met", match="0 valid"):
        moved.verify(REGISTRY, ROLE)
    with refused("envelope-malformed", match="give one that holds"):
        moved.verify(ROOT, ROLE)


def test_signatures_are_verified_before_the_payload_is_parsed(refused: Any) -> None:
    document = signed(0, 1).model_dump() | {"payload": b"\xff no document"}
    with refused("threshold-not-met"):
        Envelope.from_bytes(canonical.encode(document)).verify(ROOT, ROLE)


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

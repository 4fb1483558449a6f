"""The registry: signed bytes, keys, documents (spec section 9.6)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import chain
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ctwl_protocol import canonical
from ctwl_protocol.registry import Envelope, Registry, Role, Root, keys
from ctwl_protocol.registry.documents import REGISTRY, ROOT
from ctwl_protocol.registry.envelope import pre_authentication_encoding

from .family import (
    BYTES,
    COUNT,
    HEX,
    HEX32,
    JSON,
    STATUS,
    TEXT,
    Case,
    Family,
    array,
    either,
    nullable,
    refusing,
    shape,
    unhex,
)
from .signed import BEACON, DAY, NOW, by_key, certificate, envelope, layout, provider, registry, role, root, signing_key

__all__ = ["FAMILIES"]


def _encoding(data: JSON) -> JSON:
    return {"bytes": pre_authentication_encoding(data["type"], bytes.fromhex(data["payload"])).hex()}


@refusing
def _key(data: JSON) -> JSON:
    keys.check_key(bytes.fromhex(data["key"]))
    return {"status": "ok"}


@refusing
def _envelope(data: JSON) -> JSON:
    role = Role(threshold=data["role"]["threshold"], keys=tuple(map(bytes.fromhex, data["role"]["keys"])))
    payload = Envelope.from_bytes(unhex(data["envelope"])).verify(data["type"], role)
    return {"payload": hashlib.sha256(payload).hexdigest()}


@refusing
def _root(data: JSON) -> JSON:
    Root.from_bytes(unhex(data["root"]))
    return {"status": "ok"}


@refusing
def _registry(data: JSON) -> JSON:
    found = Registry.from_bytes(unhex(data["registry"]))
    return {"status": "ok", "entries": len(found.entries)}


def _epoch(data: JSON) -> JSON:
    found = Registry.from_bytes(unhex(data["registry"]))
    return {"epochs": [found.epoch(data["provider"], at) for at in data["times"]]}


def _encoding_cases() -> Iterator[Case]:
    for comment, kind, payload in (
        ("the example of DSSE", "http://example.com/HelloWorld", b"hello world"),
        ("an empty payload", ROOT, b""),
        ("a payload of 100 bytes with a space", REGISTRY, b" " * 100),
    ):
        yield comment, {"type": kind, "payload": payload.hex()}


_P = 2**255 - 19
_LOW_ORDER = {
    "order 4, y = 0": "00" * 32,
    "order 1": "01" + "00" * 31,
    "order 8": "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "order 8, the other": "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "order 2": "ec" + "ff" * 30 + "7f",
    "order 1 with the sign": "01" + "00" * 30 + "80",
    "order 2 with the sign": "ec" + "ff" * 31,
}


def _key_cases() -> Iterator[Case]:
    for i, key in enumerate((
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "278117fc144c72340f67d0f2316e8386ceffbf2b2428c9c51fef7c597f1d426e",
        "ec172b93ad5e563f4932c70e1245034c35467ef2efd4d64ebf819683467e2bf2",
    )):  # fmt: skip
        yield f"RFC 8032, test {i + 1}", {"key": key}
    for order, key in _LOW_ORDER.items():
        yield f"a point of low order, {order}", {"key": key}
    yield "y = p", {"key": _P.to_bytes(32, "little").hex()}
    yield "y = p + 1", {"key": (_P + 1).to_bytes(32, "little").hex()}
    yield "y = p + 3, not the one encoding of its point", {"key": (_P + 3).to_bytes(32, "little").hex()}
    yield "y = 2, no point of the curve", {"key": "02" + "00" * 31}
    yield "31 bytes", {"key": "00" * 31}
    yield "33 bytes", {"key": "00" * 33}


def _shown(given: JSON) -> JSON:
    return {"threshold": given["threshold"], "keys": [key.hex() for key in given["keys"]]}


def _envelope_cases() -> Iterator[Case]:
    payload = canonical.encode(root())

    def case(data: bytes, kind: str = ROOT, threshold: int = 2, names: str = "abc") -> JSON:
        return {"envelope": data.hex(), "type": kind, "role": _shown(role(threshold, names))}

    sound = envelope(ROOT, payload, "ab")
    parts = canonical.decode(sound)
    first, second = parts["signatures"]
    yield "as many signatures as it takes", case(sound)
    yield "more signatures than it takes", case(envelope(ROOT, payload, "abc"))
    yield "signatures by strangers beside", case(envelope(ROOT, payload, "abwz"))
    yield "a registry", case(envelope(REGISTRY, registry(), "x"), REGISTRY, 1, "xy")
    yield "a payload that is no document", case(envelope(ROOT, b"\xff", "ab"))
    yield "too few signatures", case(envelope(ROOT, payload, "a"))
    yield "no signatures", case(envelope(ROOT, payload, ""))
    yield "too few of the role's", case(envelope(ROOT, payload, "aw"))
    yield (
        "a signature of zeros",
        case(canonical.encode(parts | {"signatures": [first, second | {"signature": bytes(64)}]})),
    )
    yield "a payload altered after it was signed", case(canonical.encode(parts | {"payload": payload + b"\x00"}))
    yield "another type than was signed", case(canonical.encode(parts | {"type": REGISTRY}), REGISTRY)
    yield (
        "a signature over the payload alone",
        case(
            canonical.encode(
                parts | {"signatures": [{"key": first["key"], "signature": _sign(first["key"], payload)}, second]}
            )
        ),
    )
    yield "the type that is not asked for", case(sound, REGISTRY)
    yield "a key twice", case(canonical.encode(parts | {"signatures": [first, first]}))
    yield "keys in descending order", case(canonical.encode(parts | {"signatures": [second, first]}))
    yield "64 signatures", case(canonical.encode(parts | {"signatures": _strangers(62, first, second)}))
    yield "65 signatures", case(canonical.encode(parts | {"signatures": _strangers(63, first, second)}))
    yield "a key of 31 bytes", case(canonical.encode(parts | {"signatures": [first | {"key": bytes(31)}, second]}))
    yield (
        "a signature of 63 bytes",
        case(canonical.encode(parts | {"signatures": [first | {"signature": bytes(63)}, second]})),
    )
    yield (
        "a signature and a byte",
        case(canonical.encode(parts | {"signatures": [first | {"signature": first["signature"] + b"\0"}, second]})),
    )
    yield "another format", case(canonical.encode(parts | {"format": "ctwl-envelope/2"}))
    yield "another type", case(canonical.encode(parts | {"type": "ctwl-roof/1"}))
    yield "an unknown field", case(canonical.encode(parts | {"more": 1}))
    yield "a field missing", case(envelope(ROOT, payload, "ab", signatures=...))
    yield "truncated", case(sound[:-1])
    yield "a byte behind it", case(sound + b"\xc0")
    yield "no bytes", case(b"")
    for comment, size in (("as long as it may be", 1_064_960), ("a byte too long", 1_064_961)):
        frame = canonical.encode(
            {"format": "ctwl-envelope/1", "type": ROOT, "payload": bytes(70_000), "signatures": []}
        )
        front, back = frame.split(bytes(70_000))
        length = size - len(frame) + 70_000
        front = front[:-4] + length.to_bytes(4, "big")
        asked = case(b"")
        yield (
            f"an envelope {comment}, unsigned",
            asked | {"envelope": [front.hex(), {"repeat": "00", "times": length}, back.hex()]},
        )


def _sign(key: bytes, message: bytes) -> bytes:
    name = next(name for name in "abc" if keys.public_bytes(signing_key(name)) == key)
    return signing_key(name).sign(message)


def _strangers(count: int, *genuine: dict[str, bytes]) -> list[dict[str, bytes]]:
    """Signatures of so many unknown keys, with the genuine ones among them."""
    others = [{"key": bytes([255, i]) + bytes(30), "signature": bytes(64)} for i in range(count)]
    return sorted([*genuine, *others], key=by_key)


def _root_cases() -> Iterator[Case]:
    def case(**changes: Any) -> JSON:
        return {"root": canonical.encode(root(**changes)).hex()}

    def without(name: str) -> JSON:
        return {"root": canonical.encode({key: value for key, value in root().items() if key != name}).hex()}

    exposed = {"threshold": 1, "keys": [keys.public_bytes(keys.test_key(15))]}
    behind = hashlib.sha256(b"ctwl-registry/test-key" + bytes([16])).digest()
    no_test_key = keys.public_bytes(Ed25519PrivateKey.from_private_bytes(behind))
    yield "a root for production", case()
    yield "a key made as a seventeenth test key", case(registry={"threshold": 1, "keys": [no_test_key]})
    yield "a root for tests, with a test key", case(use="test", registry=exposed)
    yield "32 keys", case(root=role(32, "".join(chr(0x4E00 + i) for i in range(32))))
    yield "the largest version", case(version=2**63 - 1)
    yield "the last second", case(expires=253_402_300_799)
    for name in root():
        yield f"{name} missing", without(name)
    yield "an unknown field", case(more=1)
    yield "another format", case(format="ctwl-root/2")
    yield "another use", case(use="trial")
    yield "version 0", case(version=0)
    yield "a truth value for a version", case(version=True)
    yield "a time before 1970", case(expires=-1)
    yield "a time after the year 9999", case(expires=253_402_300_800)
    yield "a threshold of 0", case(root=role(0, "abc"))
    yield "a threshold above the number of keys", case(root=role(4, "abc"))
    yield "no keys", case(root={"threshold": 1, "keys": []})
    yield "33 keys", case(root=role(1, "".join(chr(0x4E00 + i) for i in range(33))))
    yield "a key twice", case(root=role(1, "aa"))
    yield "keys in descending order", case(root=role(2, "abc") | {"keys": role(2, "abc")["keys"][::-1]})
    yield "a key of 31 bytes", case(root={"threshold": 1, "keys": [bytes(31)]})
    yield "a key of low order", case(registry={"threshold": 1, "keys": [b"\x01" + bytes(31)]})
    yield "a test key in a root for production", case(registry=exposed)
    yield "truncated", {"root": canonical.encode(root())[:-1].hex()}
    yield (
        "an overlong number",
        {"root": canonical.encode(root()).replace(b"\xa7version\x01", b"\xa7version\xcc\x01").hex()},
    )


def _listed(*entries: JSON, **changes: Any) -> JSON:
    return {"registry": canonical.encode(registry(*entries, **changes)).hex()}


def _model(**changes: Any) -> JSON:
    return {"version": 1, "name": "a", "since": 1, "until": None} | changes


def _sound_registries() -> Iterator[Case]:

    yield "providers", _listed()
    yield "no entries", _listed(entries=[])
    yield "every kind of entry", _listed(provider(), layout(), certificate())
    yield "a retired provider", _listed(provider(state="retired", until=NOW))
    yield "a revoked provider", _listed(provider(state="revoked", until=NOW))
    yield "a contact of 200 characters", _listed(provider(contact="https://a.example/" + "a" * 182))
    yield "a mail address", _listed(provider(contact="mail@provider.example"))
    yield "names of 100 characters", _listed(provider(name="a" * 100))
    yield "a name in another script", _listed(provider(name="\u4e2d\u6587 caf\u00e9"))
    yield (
        "all numbers at their ends",
        _listed(
            provider(
                1023,
                models=[_model(version=0), _model(version=15, until=1)],
                epochs=[{"epoch": 0, "since": 0}, {"epoch": 65535, "since": 253_402_300_799}],
            ),
            version=2**63 - 1,
        ),
    )
    yield (
        "the first and the last registered layout",
        _listed(provider(), layout(), layout(number=127, name="a" * 32, fields=[*BEACON, ["a_1", 60]])),
    )
    yield "the provider of trials", _listed(provider(0))
    yield (
        "a field of one bit",
        _listed(provider(), layout(number=64, name="bits", fields=[*BEACON, ["one", 1], ["rest", 19]])),
    )
    yield "a certificate of the day of issue", _listed(certificate(since=NOW - DAY))


def _faulty_registries() -> Iterator[Case]:
    yield "version 0", _listed(version=0)
    yield "version 2^63", _listed(version=2**63)
    yield "another format", _listed(format="ctwl-registry/2")
    yield "an unknown field", _listed(more=1)
    yield "expires when it is issued", _listed(expires=NOW - DAY)
    yield "a time after the year 9999", _listed(expires=253_402_300_800)
    yield "entries that are no array", _listed(entries={})
    yield "an entry of an unknown kind", _listed({"kind": "other"})
    yield "an unknown field in an entry", _listed(provider(more=1))
    yield "provider 1024", _listed(provider(1024))
    yield "provider -1", _listed(provider(-1))
    yield "an empty name", _listed(provider(name=""))
    yield "a name of 101 characters", _listed(provider(name="a" * 101))
    yield "a control in a name", _listed(provider(name="a\x1bb"))
    yield "a mark of direction in a name", _listed(provider(name="a\u202eb"))
    yield "a line end in a name", _listed(provider(name="a\nb"))
    yield "a no-break space in a name", _listed(provider(name="a\u00a0b"))
    yield "a space at the end of a name", _listed(provider(name="a "))
    yield "a contact that is no address", _listed(provider(contact="javascript:alert(1)"))
    yield "a contact of 201 characters", _listed(provider(contact="https://a.example/" + "a" * 183))
    yield "a letter of another script in a contact", _listed(provider(contact="https://\u0430.example/"))
    yield "a mail address of one label", _listed(provider(contact="mail@example"))
    yield "a contact over http", _listed(provider(contact="http://provider.example/"))
    yield "another state", _listed(provider(state="gone"))
    yield "retired without a time", _listed(provider(state="retired"))
    yield "active with a time", _listed(provider(until=NOW))
    yield "until before since", _listed(provider(state="retired", until=1))
    yield "model version 16", _listed(provider(models=[_model(version=16)]))
    yield "a model version twice", _listed(provider(models=[_model(), _model()]))
    yield "a model that ends before it begins", _listed(provider(models=[_model(until=0)]))
    many = [{"epoch": number, "since": number + 1} for number in range(1025)]
    yield "1025 epochs", _listed(provider(epochs=many))
    yield "epoch 65536", _listed(provider(epochs=[{"epoch": 65536, "since": 1}]))
    yield "epochs that descend", _listed(provider(epochs=[{"epoch": 2, "since": 1}, {"epoch": 1, "since": 2}]))
    yield "epochs of one time", _listed(provider(epochs=[{"epoch": 1, "since": 2}, {"epoch": 2, "since": 2}]))


def _faulty_entries() -> Iterator[Case]:
    yield "layout 63", _listed(provider(), layout(number=63))
    yield "layout 128", _listed(provider(), layout(number=128))
    yield "a layout before its owner", _listed(layout(), provider())
    yield "a layout of one code", _listed(provider(), layout(fields=BEACON))
    yield "a layout of 39 bits", _listed(provider(), layout(fields=[*BEACON, ["room", 19]]))
    yield "a layout of 100 bits", _listed(provider(), layout(fields=[*BEACON, ["room", 20], ["hall", 60]]))
    yield "a field of 65 bits", _listed(provider(), layout(fields=[*BEACON, ["room", 65]]))
    yield "a field's name in capitals", _listed(provider(), layout(fields=[*BEACON, ["Room", 20]]))
    yield "a layout's name that is no word", _listed(provider(), layout(name="the theatre"))
    yield "a layout's name of 33 letters", _listed(provider(), layout(name="a" * 33))
    yield "two layouts of one name", _listed(provider(), layout(), layout(number=65))
    yield "a commitment of 31 bytes", _listed(certificate(commitment=bytes(31)))
    yield "a certificate after the day of issue", _listed(certificate(since=NOW - DAY + 1))
    yield "a provider's code twice", _listed(provider(), provider())
    yield "a layout's number twice", _listed(provider(), layout(), layout(name="other"))
    yield "a commitment twice", _listed(certificate(), certificate(owner="Other"))
    yield "truncated", {"registry": canonical.encode(registry())[:-1].hex()}
    yield "a byte behind it", {"registry": canonical.encode(registry()).hex() + "c0"}
    yield "keys out of order", {"registry": "82a16202a16101"}


def _registry_cases() -> Iterator[Case]:
    return chain(_sound_registries(), _faulty_registries(), _faulty_entries())


def _epoch_cases() -> Iterator[Case]:
    epochs = [{"epoch": 1, "since": 100}, {"epoch": 5, "since": 200}]
    listed = canonical.encode(registry(provider(epochs=epochs), provider(43))).hex()
    times = [0, 99, 100, 199, 200, NOW]
    yield "two epochs", {"registry": listed, "provider": 42, "times": times}
    yield "no epochs", {"registry": listed, "provider": 43, "times": times}
    yield "no such provider", {"registry": listed, "provider": 44, "times": times}


FAMILIES = (
    Family(
        "pre-authentication", "9.6", "A type and a payload to the bytes that are signed.",
        shape(type=TEXT, payload=HEX), shape(bytes=HEX), _encoding, _encoding_cases,
    ),
    Family(
        "registry-key", "9.6", "A public key to ok where it may be enrolled, or the status code of the refusal.",
        shape(key=HEX), STATUS, _key, _key_cases,
    ),
    Family(
        "envelope", "9.6",
        "An envelope, the type that is wanted and a role to the SHA-256 of the payload, which is not parsed, or the "
        "status code of the refusal.",
        shape(
            envelope=BYTES, type={"enum": [ROOT, REGISTRY]}, role=shape(threshold=COUNT, keys=array(HEX32, 1, 32))
        ),
        either(shape(payload=HEX32), STATUS), _envelope, _envelope_cases,
    ),
    Family(
        "root", "9.6", "A root, as payload, to ok where it may be one, or the status code of the refusal.",
        shape(root=BYTES), STATUS, _root, _root_cases,
    ),
    Family(
        "registry", "9.6",
        "A registry, as payload, to ok and the number of its entries, or the status code of the refusal.",
        shape(registry=BYTES), either(shape(status={"const": "ok"}, entries=COUNT), STATUS), _registry, _registry_cases,
    ),
    Family(
        "epochs", "9.6", "A registry, a provider's code and times to the key epochs in force, null for none.",
        shape(registry=BYTES, provider=COUNT, times=array(COUNT)), shape(epochs=array(nullable(COUNT))),
        _epoch, _epoch_cases,
    ),
)  # fmt: skip

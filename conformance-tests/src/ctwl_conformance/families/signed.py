"""Documents of a registry to make vectors from, sound and not (spec section 9.6).

Keys have names of one letter. Their seeds are the digests of the names, so that everything can be made anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ctwl_protocol import canonical
from ctwl_protocol.registry import keys
from ctwl_protocol.registry.documents import REGISTRY, ROOT
from ctwl_protocol.registry.envelope import pre_authentication_encoding

from .family import JSON, Case

__all__ = [
    "BEACON",
    "DAY",
    "NOW",
    "certificate",
    "envelope",
    "envelope_cases",
    "layout",
    "provider",
    "registry",
    "role",
    "root",
]

DAY = 86_400
NOW = 1_800_000_000


def signing_key(name: str) -> Ed25519PrivateKey:
    """The key of a name."""
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest())


def role(threshold: int, names: str) -> JSON:
    """A role of named keys."""
    return {"threshold": threshold, "keys": sorted(keys.public_bytes(signing_key(name)) for name in names)}


def envelope(kind: str, payload: bytes | JSON, signers: str, **changes: Any) -> bytes:
    """Signed bytes of any payload, sound or not."""
    data = payload if isinstance(payload, bytes) else canonical.encode(payload)
    signed = [signing_key(name) for name in signers]
    message = pre_authentication_encoding(kind, data)
    signatures = sorted(({"key": keys.public_bytes(key), "signature": key.sign(message)} for key in signed), key=by_key)
    made = {"format": "ctwl-envelope/1", "type": kind, "payload": data, "signatures": signatures}
    return canonical.encode({name: value for name, value in (made | changes).items() if value is not ...})


def by_key(signature: dict[str, bytes]) -> bytes:
    """What signatures are in order of."""
    return signature["key"]


def provider(code: int = 42, **changes: Any) -> JSON:
    """An entry of a provider."""
    model = {"version": 0, "name": "Model", "since": NOW - 9 * DAY, "until": None}
    entry: JSON = {"kind": "provider", "code": code, "name": f"Provider {code}"}
    entry |= {"contact": "https://provider.example/", "state": "active", "since": NOW - 9 * DAY, "until": None}
    return entry | {"models": [model], "epochs": []} | changes


BEACON = [["provider", 10], ["version", 4], ["nonce", 6]]


def layout(**changes: Any) -> JSON:
    """An entry of a layout."""
    fields = [*BEACON, ["room", 12], ["seat", 8]]
    return {"kind": "layout", "number": 64, "name": "theatre", "owner": 42, "fields": fields} | changes


def certificate(**changes: Any) -> JSON:
    """An entry of a certificate."""
    entry = {"kind": "certificate", "commitment": bytes(range(32)), "owner": "Somebody", "since": NOW - 2 * DAY}
    return entry | changes


def root(**changes: Any) -> JSON:
    """A root: keys a, b, c of the root (two sign), x, y of the registry (one signs)."""
    made: JSON = {"format": ROOT, "use": "production", "version": 1, "expires": NOW + 900 * DAY}
    return made | {"root": role(2, "abc"), "registry": role(1, "xy")} | changes


def registry(*entries: JSON, **changes: Any) -> JSON:
    """A registry."""
    listed = list(entries or (provider(42), provider(43)))
    made: JSON = {"format": REGISTRY, "version": 5, "issued": NOW - DAY, "expires": NOW + 90 * DAY}
    return made | {"entries": listed} | changes


def _shown(given: JSON) -> JSON:
    return {"threshold": given["threshold"], "keys": [key.hex() for key in given["keys"]]}


def envelope_cases() -> Iterator[Case]:
    """Envelopes, sound and not: a table."""
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

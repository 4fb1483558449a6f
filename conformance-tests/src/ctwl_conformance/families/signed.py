"""Documents of a registry to make vectors from, sound and not (spec section 9.6).

Keys have names of one letter. Their seeds are the digests of the names, so that everything can be made anew.
"""

from __future__ import annotations

import hashlib
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ctwl_protocol import canonical
from ctwl_protocol.registry import keys
from ctwl_protocol.registry.documents import REGISTRY, ROOT
from ctwl_protocol.registry.envelope import pre_authentication_encoding

from .family import JSON

__all__ = [
    "BEACON", "DAY", "NOW", "by_key", "certificate", "envelope", "layout", "provider", "registry", "role", "root",
    "signing_key",
]  # fmt: skip

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

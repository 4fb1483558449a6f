"""The registry: signed bytes, keys, documents, and updates step by step (spec section 9.6)."""

from __future__ import annotations

import hashlib

from ctwl_protocol.registry import Envelope, Registry, Role, Root, keys
from ctwl_protocol.registry.envelope import pre_authentication_encoding
from ctwl_protocol.registry.workflow import resume, update

from .family import CLIENT, JSON, family, unhex


@family("pre-authentication", asked_of=(CLIENT,))
def _encoding(data: JSON) -> JSON:
    return {"bytes": pre_authentication_encoding(data["type"], bytes.fromhex(data["payload"])).hex()}


@family("registry-key", asked_of=(CLIENT,))
def _key(data: JSON) -> JSON:
    keys.check_key(bytes.fromhex(data["key"]))
    return {"status": "ok"}


@family("envelope", asked_of=(CLIENT,))
def _envelope(data: JSON) -> JSON:
    role = Role(threshold=data["role"]["threshold"], keys=tuple(map(bytes.fromhex, data["role"]["keys"])))
    payload = Envelope.from_bytes(unhex(data["envelope"])).verify(data["type"], role)
    return {"payload": hashlib.sha256(payload).hexdigest()}


@family("root", asked_of=(CLIENT,))
def _root(data: JSON) -> JSON:
    Root.from_bytes(unhex(data["root"]))
    return {"status": "ok"}


@family("registry", asked_of=(CLIENT,))
def _registry(data: JSON) -> JSON:
    found = Registry.from_bytes(unhex(data["registry"]))
    return {"status": "ok", "entries": len(found.entries)}


@family("epochs", asked_of=(CLIENT,))
def _epoch(data: JSON) -> JSON:
    found = Registry.from_bytes(unhex(data["registry"]))
    return {"epochs": [found.epoch(data["provider"], at) for at in data["times"]]}


@family("registry-update", asked_of=(CLIENT,))
def _update(data: JSON) -> JSON:
    root, listed = (unhex(data["trusted"][name]) for name in ("root", "registry"))
    trusted = update(
        resume(root, listed, seen=data["trusted"]["latest"]),
        now=data["clock"],
        roots=[unhex(each) for each in data["roots"]],
        registry=None if data["registry"] is None else unhex(data["registry"]),
    )
    return {
        "status": "ok", "root": trusted.root.version, "registry": trusted.registry.version, "latest": trusted.seen,
    }  # fmt: skip

"""An operator's changes: from a signed document to the unsigned draft of the next one (spec 9.6).

Each function takes a document and returns another. It refuses what clients would refuse.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ctwl_protocol import canonical
from ctwl_protocol.errors import RegistryError
from ctwl_protocol.registry import (
    REGISTRY,
    ROOT,
    Envelope,
    ModelVersion,
    ProviderEntry,
    Registry,
    Root,
    Use,
    check_append_only,
)

_DAY = 86_400

_Kind = TypeVar("_Kind", Root, Registry)

Change = Callable[[Registry], Registry]
"""A change of a registry's entries."""


def role(threshold: int, keys: Sequence[bytes]) -> dict[str, Any]:
    """A role as a root states it, with its keys in order; :class:`~ctwl_protocol.registry.Root` validates it."""
    return {"threshold": threshold, "keys": sorted(keys)}


def first(
    *, use: Use, root: dict[str, Any], registry: dict[str, Any], now: int, root_days: int, days: int
) -> tuple[Root, Registry]:
    """The first root, with two roles, and an empty registry.

    Args:
        use: what the registry is for.
        root: its role, see :func:`role`.
        registry: its role.
        now: Unix seconds.
        root_days: days until the root expires.
        days: days until the registry expires.

    Raises:
        RegistryError: ``key-unsuitable`` or ``test-key-in-production``: the root may not list a key; ``root-malformed``
            or ``registry-malformed``: a key is given twice, or a threshold or a time is out of range.
    """
    head = {"format": ROOT, "use": use, "version": 1, "expires": now + root_days * _DAY}
    empty = {"format": REGISTRY, "version": 1, "issued": now, "expires": now + days * _DAY, "entries": []}
    made = Root.from_bytes(canonical.encode(head | {"root": root, "registry": registry}))
    return made, Registry.from_bytes(canonical.encode(empty))


def next_root(
    old: Root, *, root: dict[str, Any] | None, registry: dict[str, Any] | None, now: int, root_days: int
) -> Root:
    """The next root after ``old``; a role that is None stays as it is.

    Raises:
        RegistryError: as for :func:`first`.
    """
    roles = {name: new for name, new in (("root", root), ("registry", registry)) if new is not None}
    return _changed(old, version=old.version + 1, expires=now + root_days * _DAY, **roles)


def revise(envelope: Envelope, change: Change | None, *, now: int, days: int, version: int | None = None) -> Envelope:
    """The registry of an envelope, changed and with new dates, unsigned.

    The draft of a signed envelope has the next version. An unsigned envelope is itself a draft and keeps its version.

    Args:
        envelope: the registry.
        change: None only sets new dates, before the registry expires.
        now: Unix seconds.
        days: days until the draft expires.
        version: of the draft, where a thief ran the version ahead (section 9.6, Recovery).

    Raises:
        RegistryError: clients would refuse the change. They compare dates with what was signed before, which a draft
            no longer shows, so in a draft these are left to ``verify``.
    """
    old = Registry.from_bytes(envelope.payload)
    issued = max(now, old.issued)
    version = old.version + bool(envelope.signatures) if version is None else version
    new = _changed(old, version=version, issued=issued, expires=issued + days * _DAY)
    if change is not None:
        new = change(new)
    check_append_only(old if envelope.signatures else old.model_copy(update={"issued": 0}), new)
    return Envelope.unsigned(new)


def add(registry: Registry, kind: str, **fields: Any) -> Registry:
    """Append an entry, or a model or an epoch of a provider. A certificate's challenge is drawn here.

    Args:
        registry: the registry.
        kind: "provider", "layout", "certificate", "model" or "epoch".
        fields: the fields; for a model or an epoch also the provider's ``code``. Where ``since`` is None, it is the
            registry's own date.

    Raises:
        RegistryError: ``code-reused``: the code, number or commitment is taken; ``entry-unknown``: there is no such
            provider; ``registry-malformed``: a field is missing or out of range, the version is taken, or an epoch does
            not ascend.
    """
    if "since" in fields and fields["since"] is None:
        fields["since"] = registry.issued
    if fields.get("nonces", fields) is None:  # not named
        del fields["nonces"]
    if kind == "certificate":
        fields["challenge"] = os.urandom(32)
    if kind in ("model", "epoch"):
        owner = _provider(registry, fields.pop("code"))
        return _with_provider(registry, owner.code, {f"{kind}s": [*owner.model_dump()[f"{kind}s"], fields]})
    return _changed(registry, entries=[*registry.model_dump()["entries"], {"kind": kind, **fields}])


def set_contact(registry: Registry, code: int, contact: str) -> Registry:
    """Change the contact of a provider.

    Raises:
        RegistryError: ``entry-unknown``: there is no such provider; ``registry-malformed``: the contact is neither a
            web page (https) nor a mail address.
    """
    return _with_provider(registry, code, {"contact": contact})


def set_detector(registry: Registry, code: int, detector: dict[str, str] | None) -> Registry:
    """Name a provider's own detector, by its ``scheme`` and ``url``; None takes it away.

    Raises:
        RegistryError: ``entry-unknown``: there is no such provider; ``registry-malformed``: the scheme is no name, or
            the address breaks a rule of spec section 9.6.
    """
    return _with_provider(registry, code, {"detector": detector})


def set_reading_model(registry: Registry, code: int, reading_model: str | None) -> Registry:
    """Name the open language model that reads a provider's texts best; None takes it away.

    Raises:
        RegistryError: ``entry-unknown``: there is no such provider; ``registry-malformed``: it is no name on a hub.
    """
    return _with_provider(registry, code, {"reading_model": reading_model})


def set_nonces(registry: Registry, code: int, version: int, nonces: int) -> Registry:
    """Raise the number of nonces that the texts of a model version have.

    Raises:
        RegistryError: ``entry-unknown``: there is no such provider or version; ``registry-malformed``: the number is
            not 1 to 64; ``entry-altered``: it has as many already, or more.
    """
    has = _model(registry, code, version).nonce_count
    if 1 <= nonces <= has:
        raise RegistryError(
            "entry-altered",
            f"version {version} of provider {code} has {has} nonces, and its texts must still be found; give more, or "
            "begin a new version with fewer",
        )
    models = [model.model_dump() for model in _provider(registry, code).models]
    changed = [model | ({"nonces": nonces} if model["version"] == version else {}) for model in models]
    return _with_provider(registry, code, {"models": changed})


def retire(
    registry: Registry, code: int, *, at: int | None = None, version: int | None = None, revoke: bool = False
) -> Registry:
    """End a provider with all its models, or one model version. The code stays taken, and decoders still read it.

    Args:
        registry: the registry.
        code: the provider's.
        at: when, in Unix seconds; None is the registry's own date, or the old date where the provider ended before.
        version: end only this model version.
        revoke: texts found from then on are no evidence.

    Raises:
        RegistryError: ``entry-unknown``: there is no such provider or version; ``registry-malformed``: ``at`` lies
            before it began, or it ended before, and its date may not change.
    """
    owner = _provider(registry, code)
    ended = owner if version is None else _model(registry, code, version)
    if ended.until is not None and (at is not None or version is not None):
        raise RegistryError("registry-malformed", "that has ended already, and its date may not change; leave it out")
    at = registry.issued if at is None else at
    models = [model.model_dump() for model in owner.models]
    for model in models:
        if version in (None, model["version"]) and model["until"] is None:
            model["until"] = max(at, model["since"]) if version is None else at
    changes: dict[str, Any] = {"models": models}
    if version is None:
        changes["state"] = "revoked" if revoke else "retired"
        changes["until"] = at if owner.until is None else owner.until
    return _with_provider(registry, code, changes)


def _provider(registry: Registry, code: int) -> ProviderEntry:
    owner = registry.provider(code)
    if owner is None:
        raise RegistryError(
            "entry-unknown",
            f"the registry has no provider {code}; add it first, or look for it with ctwl-registry show",
        )
    return owner


def _model(registry: Registry, code: int, version: int) -> ModelVersion:
    found = registry.model(_provider(registry, code).code, version)
    if found is None:
        raise RegistryError(
            "entry-unknown", f"provider {code} has no model version {version}; ctwl-registry show lists them"
        )
    return found


def _with_provider(registry: Registry, code: int, changes: dict[str, Any]) -> Registry:
    owner = _provider(registry, code)
    entries = [entry.model_dump() | (changes if entry == owner else {}) for entry in registry.entries]
    for entry in entries:
        for name in ProviderEntry.OPTIONAL:  # the field is there, or it is not: it is never nil
            if entry.get(name, entry) is None:
                del entry[name]
    return _changed(registry, entries=entries)


def _changed(document: _Kind, **changes: Any) -> _Kind:
    return type(document).from_bytes(canonical.encode(document.model_dump() | changes))

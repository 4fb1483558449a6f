"""An operator's changes: from a signed document to the unsigned draft of the next (spec 9.6).

Each function takes a document and gives another; what clients would refuse is refused here already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ... import canonical
from ...errors import EntryUnknown, RegistryMalformed
from ..append_only import check_append_only
from ..documents import REGISTRY, ROOT, Registry, Root, Use
from ..entries import ProviderEntry
from ..envelope import Envelope

__all__ = ["Change", "add_entry", "add_to_provider", "first", "next_root", "retire", "revise", "role", "set_contact"]

_DAY = 86_400

_Kind = TypeVar("_Kind", Root, Registry)

Change = Callable[[Registry], Registry]
"""One change of the entries."""


def role(threshold: int, keys: Sequence[bytes]) -> dict[str, Any]:
    """A role as it stands in a root, its keys in order; the root says whether it is sound."""
    return {"threshold": threshold, "keys": sorted(keys)}


def first(
    *, use: Use, root: dict[str, Any], registry: dict[str, Any], now: int, root_days: int, days: int
) -> tuple[Root, Registry]:
    """The first root, with two roles (:func:`role`), and an empty registry.

    Raises:
        KeyUnsuitable, KeyIsForTests: a key may not be enrolled, or not for production.
        RootMalformed, RegistryMalformed: a key stands twice, or a threshold or a time is out of range.
    """
    head = {"format": ROOT, "use": use, "version": 1, "expires": now + root_days * _DAY}
    empty = {"format": REGISTRY, "version": 1, "issued": now, "expires": now + days * _DAY, "entries": []}
    made = Root.from_bytes(canonical.encode(head | {"root": root, "registry": registry}))
    return made, Registry.from_bytes(canonical.encode(empty))


def next_root(
    old: Root, *, root: dict[str, Any] | None, registry: dict[str, Any] | None, now: int, root_days: int
) -> Root:
    """The root after another; a role that is None stays as it is.

    Raises:
        KeyUnsuitable, KeyIsForTests, RootMalformed: see :func:`first`.
    """
    roles = {name: new for name, new in (("root", root), ("registry", registry)) if new is not None}
    return _changed(old, version=old.version + 1, expires=now + root_days * _DAY, **roles)


def revise(envelope: Envelope, change: Change | None, *, now: int, days: int) -> Envelope:
    """The registry of an envelope, changed, dated anew and unsigned.

    Where the envelope is signed the draft has the next version; an unsigned one is a draft that goes on. Without a
    change the registry is only dated anew, before it expires.

    Raises:
        RegistryError: the change is one that clients refuse.
    """
    old = Registry.from_bytes(envelope.payload)
    issued = max(now, old.issued)
    version = old.version + bool(envelope.signatures)
    new = _changed(old, version=version, issued=issued, expires=issued + days * _DAY)
    if change is not None:
        new = change(new)
    check_append_only(old, new)
    return Envelope.unsigned(new)


def add_entry(registry: Registry, **entry: Any) -> Registry:
    """Append a provider, a layout or a certificate, given by its fields.

    Raises:
        CodeReused: its code, number or commitment is taken.
        RegistryMalformed: a field is missing or out of range.
    """
    return _changed(registry, entries=[*registry.model_dump()["entries"], entry])


def add_to_provider(registry: Registry, code: int, field: str, **item: Any) -> Registry:
    """Append to a provider's ``models`` or ``epochs``.

    Raises:
        EntryUnknown: no such provider.
        RegistryMalformed: the version is taken, an epoch does not ascend, or a field is out of range.
    """
    owner = _provider(registry, code).model_dump()
    return _with_provider(registry, code, {field: [*owner[field], item]})


def set_contact(registry: Registry, code: int, contact: str) -> Registry:
    """Change how a provider is reached.

    Raises:
        EntryUnknown: no such provider.
        RegistryMalformed: neither a page (https) nor a mail address.
    """
    _provider(registry, code)
    return _with_provider(registry, code, {"contact": contact})


def retire(
    registry: Registry, code: int, *, at: int | None = None, version: int | None = None, revoke: bool = False
) -> Registry:
    """End a provider, all its models included, or one model version; the code stays taken and still decodes.

    Args:
        registry: the registry.
        code: the provider's.
        at: when, in seconds since 1970; None for the registry's own date, or for when it ended already.
        version: this model version alone.
        revoke: what is found from then on is no evidence.

    Raises:
        EntryUnknown: no such provider or version.
        RegistryMalformed: ``at`` lies before it began; it ended already, and what has ended keeps its day.
    """
    owner = _provider(registry, code)
    ended = owner if version is None else registry.model(code, version)
    if ended is None:
        raise EntryUnknown(f"provider {code} has no model version {version}; ctwl-registry show lists them")
    if ended.until is not None and (at is not None or version is not None):
        raise RegistryMalformed("that has ended already, and what has ended keeps its day")
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
        raise EntryUnknown(f"the registry has no provider {code}; add it first, or look for it with ctwl-registry show")
    return owner


def _with_provider(registry: Registry, code: int, changes: dict[str, Any]) -> Registry:
    entries: Sequence[dict[str, Any]] = registry.model_dump()["entries"]
    return _changed(
        registry,
        entries=[
            entry | changes if (entry["kind"], entry.get("code")) == ("provider", code) else entry for entry in entries
        ],
    )


def _changed(document: _Kind, **changes: Any) -> _Kind:
    return type(document).from_bytes(canonical.encode(document.model_dump() | changes))

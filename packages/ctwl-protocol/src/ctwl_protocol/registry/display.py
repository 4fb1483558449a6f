"""What the command prints: plain columns for people, JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .documents import Registry, Role, Root
from .entries import ProviderEntry
from .envelope import Envelope
from .workflow import Trusted, date


def trusted_text(trusted: Trusted, now: int) -> str:
    """What is trusted, for people."""
    return f"{trusted.label(now)}\n{_root_text(trusted.root)}\n\n{_registry_text(trusted.registry)}"


def trusted_json(trusted: Trusted, now: int) -> dict[str, Any]:
    """The same for programs."""
    return {
        "use": trusted.use,
        "expired": trusted.expired(now),
        "seen": trusted.seen,
        "root": trusted.root.model_dump(mode="json"),
        "registry": trusted.registry.model_dump(mode="json"),
    }


def document_text(envelope: Envelope) -> str:
    """What an envelope holds, unverified, for people."""
    document = envelope.document()
    signers = ", ".join(f"{signature.key.hex()[:16]}..." for signature in envelope.signatures) or "nobody"
    body = _root_text(document) if isinstance(document, Root) else _registry_text(document)
    return f"NOT VERIFIED: {summary(envelope)}\nsignatures claim the keys: {signers}\n{body}"


def held_text(envelope: Envelope) -> str:
    """All that an envelope's document says, for who signs it."""
    document = envelope.document()
    return _root_text(document) if isinstance(document, Root) else f"{summary(envelope)}\n{_registry_text(document)}"


def document_json(envelope: Envelope) -> dict[str, Any]:
    """The same for programs."""
    signatures = [signature.model_dump(mode="json") for signature in envelope.signatures]
    return {"verified": False, "signatures": signatures, "document": envelope.document().model_dump(mode="json")}


def summary(envelope: Envelope) -> str:
    """The document of an envelope in one line: its kind, version and dates."""
    document = envelope.document()
    if isinstance(document, Root):
        return f"root {document.version} for {document.use}, expires {date(document.expires)}"
    what = f"registry {document.version} of {date(document.issued)}, expires {date(document.expires)}"
    count = len(document.entries)
    return f"{what}, {count} {'entry' if count == 1 else 'entries'}"


def _root_text(root: Root) -> str:
    lines = [f"root {root.version} for {root.use}, expires {date(root.expires)}"]
    roles: tuple[tuple[str, Role], ...] = (("root", root.root), ("registry", root.registry))
    for name, role in roles:
        lines.append(f"  the {name} is signed by {role.threshold} of")
        lines += [f"    {key.hex()}" for key in role.keys]
    return "\n".join(lines)


def _registry_text(registry: Registry) -> str:
    owners = sorted(registry.providers(), key=lambda owner: owner.code)
    tables = {
        ("provider", "name", "state", "versions", "epochs", "contact"): [
            [str(owner.code), owner.name, _state(owner), _versions(owner), _epochs(owner), owner.contact]
            for owner in owners
        ],
        ("provider", "detector of", "url"): [
            [str(owner.code), owner.detector.scheme, owner.detector.url] for owner in owners if owner.detector
        ],
        ("provider", "is read best by"): [
            [str(owner.code), owner.reading_model] for owner in owners if owner.reading_model
        ],
        ("number", "layout", "owner", "fields"): [
            [str(entry.number), entry.name, str(entry.owner), " ".join(f"{name}:{bits}" for name, bits in entry.fields)]
            for entry in registry.layouts()
        ],
        ("since", "certificate of", "commitment"): [
            [date(entry.since), entry.owner, entry.commitment.hex()] for entry in registry.certificates()
        ],
    }
    return "\n\n".join(_table(head, rows) for head, rows in tables.items() if rows) or "no entries"


def _state(owner: ProviderEntry) -> str:
    return owner.state if owner.until is None else f"{owner.state} {date(owner.until)}"


def _versions(owner: ProviderEntry) -> str:
    """The versions, with the number of nonces that one declares; in brackets if no longer in use."""
    few = {model.version: f" with {model.nonces} nonces" for model in owner.models if model.nonces}
    named = [(model, f"{model.version}{few.get(model.version, '')}") for model in owner.models]
    return ", ".join(name if model.until is None else f"({name})" for model, name in named)


def _epochs(owner: ProviderEntry) -> str:
    return ", ".join(str(epoch.epoch) for epoch in owner.epochs)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [head, *rows]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )

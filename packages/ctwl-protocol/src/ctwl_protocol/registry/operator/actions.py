"""What each subcommand of ``ctwl-registry`` does; each returns its exit status."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ...errors import CTWLError, EnvelopeMalformed, FileUnwritable
from ...files import write_atomically
from .. import store, workflow
from ..documents import REGISTRY, ROOT, Role, Root
from ..envelope import Envelope
from ..keys import public_bytes, read_key, write_key
from ..workflow import Trusted
from . import display, drafts
from .drafts import Change

__all__ = ["Action"]

Action = Callable[[argparse.Namespace], int]


def keygen(arguments: argparse.Namespace) -> int:
    """Make a signing key; its public half is the output, its secret half the file."""
    key = Ed25519PrivateKey.generate()
    write_key(arguments.key, key)
    print(public_bytes(key).hex())
    return 0


def init(arguments: argparse.Namespace) -> int:
    """Write the first root and an empty registry, unsigned."""
    for path in (arguments.root, arguments.registry):
        _must_be_new(path)
    root, registry = drafts.first(
        use=arguments.use,
        root=drafts.role(_or_one(arguments.root_threshold), arguments.root_keys),
        registry=drafts.role(_or_one(arguments.registry_threshold), arguments.registry_keys),
        now=_now(),
        root_days=arguments.root_days,
        days=arguments.days,
    )
    _write(arguments.root, Envelope.unsigned(root))
    _write(arguments.registry, Envelope.unsigned(registry))
    return 0


def add_provider(arguments: argparse.Namespace) -> int:
    """Give a provider code to an owner."""
    entry = {"code": arguments.code, "name": arguments.name, "contact": arguments.contact, "since": _since(arguments)}
    entry |= {"kind": "provider", "state": "active", "until": None, "models": [], "epochs": []}
    return _revise(arguments, lambda registry: drafts.add_entry(registry, **entry))


def add_model(arguments: argparse.Namespace) -> int:
    """Append a model version to a provider."""
    item = {"version": arguments.version, "name": arguments.name, "since": _since(arguments), "until": None}
    return _revise(arguments, lambda registry: drafts.add_to_provider(registry, arguments.code, "models", **item))


def add_epoch(arguments: argparse.Namespace) -> int:
    """Append a key epoch to a provider."""
    item = {"epoch": arguments.epoch, "since": _since(arguments)}
    return _revise(arguments, lambda registry: drafts.add_to_provider(registry, arguments.code, "epochs", **item))


def add_layout(arguments: argparse.Namespace) -> int:
    """Register a layout; the beacon's three fields come by themselves."""
    fields = [("provider", 10), ("version", 4), ("nonce", 6), *arguments.fields]
    entry = {"kind": "layout", "number": arguments.number, "name": arguments.name, "owner": arguments.owner}
    return _revise(arguments, lambda registry: drafts.add_entry(registry, **entry, fields=fields))


def add_certificate(arguments: argparse.Namespace) -> int:
    """Certify a commitment to a private profile, as of now."""
    entry = {"kind": "certificate", "commitment": arguments.commitment, "owner": arguments.owner}
    return _revise(arguments, lambda registry: drafts.add_entry(registry, **entry, since=registry.issued))


def contact(arguments: argparse.Namespace) -> int:
    """Change how a provider is reached."""
    return _revise(arguments, lambda registry: drafts.set_contact(registry, arguments.code, arguments.contact))


def retire(arguments: argparse.Namespace) -> int:
    """Retire or revoke a provider, or end one model version."""
    how = {"at": arguments.at, "version": arguments.version, "revoke": arguments.revoke}
    return _revise(arguments, lambda registry: drafts.retire(registry, arguments.code, **how))


def renew(arguments: argparse.Namespace) -> int:
    """Date the registry anew."""
    return _revise(arguments, None)


def rotate(arguments: argparse.Namespace) -> int:
    """Write the next root, unsigned."""
    _must_be_new(arguments.out)
    old = Root.from_bytes(_read(arguments.file, ROOT).payload)
    new = drafts.next_root(
        old,
        root=_role(old.root, arguments.root_threshold, arguments.root_keys),
        registry=_role(old.registry, arguments.registry_threshold, arguments.registry_keys),
        now=_now(),
        root_days=arguments.root_days,
    )
    _write(arguments.out, Envelope.unsigned(new))
    return 0


def sign(arguments: argparse.Namespace) -> int:
    """Say what a file holds, then sign it with each key."""
    envelope = _read(arguments.file)
    print(f"{arguments.file}: {display.summary(envelope)}", flush=True)  # before a passphrase is asked for
    for path in arguments.keys:
        key = read_key(path)
        envelope = envelope.sign(key)
        print(f"signed with {path}, {public_bytes(key).hex()}")
    write_atomically(arguments.file, envelope.to_bytes())
    return 0


def verify(arguments: argparse.Namespace) -> int:
    """Say whether an update would take the files; 1 where it would not."""
    now = _now()
    try:
        roots, registry = _offered(arguments.files)
        start = _start(arguments, registry) or store.load_trusted(arguments.folder)
        trusted = workflow.update(start, now=now, roots=roots, registry=registry)
    except CTWLError as error:
        if not arguments.json:
            print(f"ctwl-registry: refused: {error.code}: {error}")
        else:
            print(json.dumps({"accepted": False, "code": error.code, "message": str(error)}, indent=2))
        return 1
    if arguments.json:
        print(json.dumps({"accepted": True, **display.trusted_json(trusted, now)}, indent=2))
    else:
        print(f"accepted: {trusted.label(now)}, under root {trusted.root.version}")
    return 0


def update(arguments: argparse.Namespace) -> int:
    """Take the files into the trusted state."""
    roots, registry = _offered(arguments.files)
    start = _start(arguments, registry)
    trusted = store.update_trusted(roots=roots, registry=registry, folder=arguments.folder, start=start)
    print(f"trusted: {trusted.label(_now())}, under root {trusted.root.version}")
    return 0


def show(arguments: argparse.Namespace) -> int:
    """Print what is trusted, or what a file says of itself."""
    if arguments.file is not None:
        envelope = _read(arguments.file)
        found = display.document_json(envelope) if arguments.json else display.document_text(envelope)
    else:
        trusted = store.load_trusted(arguments.folder)
        found = display.trusted_json(trusted, _now()) if arguments.json else display.trusted_text(trusted, _now())
    print(json.dumps(found, indent=2) if arguments.json else found)
    return 0


def _now() -> int:
    return int(time.time())


def _since(arguments: argparse.Namespace) -> int:
    return _now() if arguments.since is None else int(arguments.since)


def _or_one(threshold: int | None) -> int:
    return 1 if threshold is None else threshold


def _role(old: Role, threshold: int | None, keys: list[bytes] | None) -> dict[str, Any] | None:
    """The role with other keys, another threshold or both; None where neither is given."""
    if threshold is None and keys is None:
        return None
    return drafts.role(old.threshold if threshold is None else threshold, keys or list(old.keys))


def _must_be_new(path: Path) -> None:
    if path.exists():
        raise FileUnwritable(f"{path} is there already; move it away, or name another file")


def _read(path: Path, kind: str | None = None) -> Envelope:
    envelope = Envelope.from_bytes(store.read_file(path))
    if kind not in (None, envelope.type):
        raise EnvelopeMalformed(f"{path} holds {envelope.type}; what is wanted is {kind}")
    return envelope


def _write(path: Path, envelope: Envelope) -> None:
    write_atomically(path, envelope.to_bytes())
    print(f"{path}: {display.summary(envelope)}, to be signed")


def _revise(arguments: argparse.Namespace, change: Change | None) -> int:
    envelope = _read(arguments.file, REGISTRY)
    _write(arguments.file, drafts.revise(envelope, change, now=_now(), days=arguments.days))
    return 0


def _offered(paths: Sequence[Path]) -> tuple[list[bytes], bytes | None]:
    """Roots and registry among the files; the type is signed, so a wrong one opens nothing."""
    roots: list[bytes] = []
    registry: bytes | None = None
    for path in paths:
        data = store.read_file(path)
        if Envelope.from_bytes(data).type == ROOT:
            roots.append(data)
        elif registry is not None:
            raise EnvelopeMalformed(f"{path} is a second registry; offer the newest alone")
        else:
            registry = data
    return roots, registry


def _start(arguments: argparse.Namespace, registry: bytes | None) -> Trusted | None:
    if arguments.root is None:
        return None
    if registry is None:
        raise EnvelopeMalformed("no registry among the files; a root to start from wants the registry as well")
    return workflow.begin(store.read_file(arguments.root), registry)

"""What each subcommand of ``ctwl-registry`` does."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ctwl_protocol.errors import FileUnwritable, RegistryError
from ctwl_protocol.files import locked, write_atomically
from ctwl_protocol.registry import (
    REGISTRY,
    ROOT,
    Envelope,
    Registry,
    Role,
    Root,
    held_text,
    public_bytes,
    read_file,
    read_key,
    summary,
    write_key,
)

from . import drafts
from .request import Request
from .request import enter as enter_request

ROOT_FILES = "root*.ctwl"
"""The names of all roots' files in a folder: ``root.ctwl``, ``root-2.ctwl`` and so on."""

_PATIENCE = 10.0
"""Seconds to wait for another command that works on the same file."""

Action = Callable[[argparse.Namespace], None]
"""Does a subcommand's work."""


def keygen(arguments: argparse.Namespace) -> None:
    """Write a new signing key to a file and print its public half."""
    key = Ed25519PrivateKey.generate()
    write_key(arguments.key, key)
    print(public_bytes(key).hex())


def init(arguments: argparse.Namespace) -> None:
    """Write the first root and an empty registry, unsigned."""
    for path in (arguments.root, arguments.registry):
        _must_be_new(path)
    root, registry = drafts.first(
        use=arguments.use,
        root=drafts.role(arguments.root_threshold, arguments.root_keys),
        registry=drafts.role(arguments.registry_threshold, arguments.registry_keys),
        now=_now(),
        root_days=arguments.root_days,
        days=arguments.days,
    )
    _write(arguments.root, Envelope.unsigned(root), new=True)
    _write(arguments.registry, Envelope.unsigned(registry), new=True)


def change(arguments: argparse.Namespace) -> None:
    """Change a registry as a function of :mod:`.drafts` says; the arguments are named as its parameters."""
    fields = {
        name: value for name, value in vars(arguments).items() if name not in ("action", "change", "days", "file")
    }
    _revise(arguments, partial(arguments.change, **fields))


def enter(arguments: argparse.Namespace) -> None:
    """Enter a provider as its request says, or only print the hosts whose owner must agree."""
    request = Request.read(arguments.request)
    if arguments.hosts:
        print("\n".join(request.hosts))
        return
    before = Registry.from_bytes(_read(arguments.file, REGISTRY).payload)
    if enter_request(before, request) == before:
        print(f"{arguments.file}: it has provider {request.provider} as {arguments.request} says; nothing to do")
        return
    _revise(arguments, partial(enter_request, request=request))


def detector(arguments: argparse.Namespace) -> None:
    """Name the detector of a provider, or take it away."""
    named = [value for value in (arguments.scheme, arguments.url) if value is not None]
    if len(named) != (0 if arguments.none else 2):
        raise RegistryError("registry-malformed", "give --scheme and --url, or --none alone")
    found = None if arguments.none else {"scheme": arguments.scheme, "url": arguments.url}
    _revise(arguments, partial(drafts.set_detector, code=arguments.code, detector=found))


def renew(arguments: argparse.Namespace) -> None:
    """Give the registry new dates, and a version of its own choice where one is named."""
    _revise(arguments, None, arguments.version)


def rotate(arguments: argparse.Namespace) -> None:
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
    _write(arguments.out, Envelope.unsigned(new), new=True)


def sign(arguments: argparse.Namespace) -> None:
    """Print what a file holds, then sign it with each key, if every one has the role."""
    with _alone(arguments.file):
        _sign(arguments)


def _sign(arguments: argparse.Namespace) -> None:
    envelope = _read(arguments.file)
    print(f"{arguments.file}: {held_text(envelope)}", flush=True)  # before a passphrase is asked for
    counted = _counted_keys(envelope, arguments.roots or _beside(arguments.file))
    keys = {path: read_key(path) for path in arguments.keys}
    for path, key in keys.items():
        if public_bytes(key) not in counted:
            raise RegistryError(
                "key-without-role",
                f"{path}: no root that is known here lets this key sign {arguments.file}, so nobody would count its "
                "signature; use another key, or name the root that lists it by --root",
            )
        envelope = envelope.sign(key)
    write_atomically(arguments.file, envelope.to_bytes())
    for path, key in keys.items():
        print(f"signed with {path}, {public_bytes(key).hex()}")


def _now() -> int:
    return int(time.time())


def _role(old: Role, threshold: int | None, keys: list[bytes] | None) -> dict[str, Any] | None:
    """The role with other keys, another threshold or both; None where neither is given."""
    if threshold is None and keys is None:
        return None
    return drafts.role(old.threshold if threshold is None else threshold, keys or list(old.keys))


def _counted_keys(envelope: Envelope, roots: Sequence[Path]) -> set[bytes]:
    """The keys whose signatures count on an envelope: by roots, and on a root also by itself."""
    known = [Root.from_bytes(_read(path, ROOT).payload) for path in roots]
    if envelope.type == REGISTRY:
        return {key for root in known for key in root.registry.keys}
    return {key for root in [*known, Root.from_bytes(envelope.payload)] for key in root.root.keys}


def _beside(file: Path) -> list[Path]:
    """The roots in a file's folder, by their names; none where there is none."""
    return sorted(file.parent.glob(ROOT_FILES))


def _must_be_new(path: Path) -> None:
    if path.exists():
        raise FileUnwritable(f"{path} exists already; move it away, or name another file")


def _read(path: Path, kind: str | None = None) -> Envelope:
    envelope = Envelope.from_bytes(read_file(path))
    if kind not in (None, envelope.type):
        raise RegistryError("envelope-malformed", f"{path} holds {envelope.type}; give a file that holds {kind}")
    return envelope


def _write(path: Path, envelope: Envelope, *, new: bool = False) -> None:
    write_atomically(path, envelope.to_bytes(), new=new)
    print(f"{path}: {summary(envelope)}, to be signed")


def _alone(path: Path) -> AbstractContextManager[None]:
    """Nobody else changes the file meanwhile, so that no change is lost; the lock's own file stays beside it."""
    read_file(path)  # without it there is nothing to lock
    held = FileUnwritable(f"another command works on {path}; let it end, then try again")
    return locked(path.with_name(f".{path.name}.lock"), _PATIENCE, held)


def _revise(arguments: argparse.Namespace, change: drafts.Change | None, version: int | None = None) -> None:
    with _alone(arguments.file):
        old = _read(arguments.file, REGISTRY)
        _write(arguments.file, drafts.revise(old, change, now=_now(), days=arguments.days, version=version))

"""The trusted state on disk: one file, written as a whole. Without it, the wheel's registry is trusted (spec 9.6)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import ClassVar, Literal

import platformdirs

from ..environment import REGISTRY
from ..errors import FileUnwritable, RegistryError
from ..files import explaining, locked, make_folder, read_bounded, write_atomically
from ..schema import Document
from . import workflow
from .entries import Time
from .envelope import Envelope
from .workflow import Trusted

_FILE, _LOCK = "trusted.state", ".lock"

OFFERED = "a signed registry, signed under the root that is trusted here (default: the stored registry)"
"""The help of an option that names a registry for :func:`trusted_with`."""

_PATIENCE = 60.0
"""Seconds that an update waits for another one."""


class State(Document):
    """Root, registry and the latest time seen, in one file, so that a crash cannot separate them."""

    MAX_BYTES: ClassVar[int] = 2 * Envelope.MAX_BYTES + 1024
    MALFORMED = partial(RegistryError, "registry-state-malformed")

    format: Literal["ctwl-registry-state/1"]
    root: bytes
    registry: bytes
    seen: Time


def state_folder() -> Path:
    """The folder of the trusted state: ``$CTWL_REGISTRY``, else ``ctwl/registry`` in the user's data folder.

    Raises:
        RegistryError: ``registry-unreadable``: the user has no data folder.
    """
    named = REGISTRY.value()
    if named:
        return Path(named)
    with suppress(RuntimeError):  # no home folder
        folder = Path(platformdirs.user_data_dir("ctwl", appauthor=False)) / "registry"
        if folder.is_absolute():  # a relative one would be trusted in whatever folder a program runs
            return folder
    raise RegistryError("registry-unreadable", f"this user has no home folder; set {REGISTRY.name} to a folder")


@cache
def bundled() -> Trusted:
    """The root and the registry in the wheel. Both are for tests, until a registry for production exists."""
    folder = resources.files(__package__) / "bundled"
    return workflow.begin((folder / "root.ctwl").read_bytes(), (folder / "registry.ctwl").read_bytes())


def load_trusted(folder: str | Path | None = None) -> Trusted:
    """Step 1: the stored state; where there is none, the bundled one.

    Raises:
        RegistryError: ``registry-unreadable``: the state's file cannot be read; ``registry-state-malformed``: it is
            damaged.
    """
    path = Path(folder or state_folder()) / _FILE
    try:
        data = read_file(path, State.MAX_BYTES, follow=False)
    except RegistryError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return bundled()
        raise
    try:
        state = State.from_bytes(data)
        return workflow.resume(state.root, state.registry, seen=state.seen)
    except RegistryError as error:
        message = f"{path}: {error}; remove the file to start again from the wheel's registry"
        raise RegistryError("registry-state-malformed", message) from error


def trusted_with(registry: str | Path | None) -> Trusted:
    """What is trusted, with a registry from a file where one is given: verified as an update, and not stored.

    Raises:
        RegistryError: see :func:`load_trusted`, :func:`read_file` and :func:`~.workflow.update`.
    """
    trusted = load_trusted()
    if registry is None:
        return trusted
    return workflow.update(trusted, now=int(time.time()), registry=read_file(registry))


def save_trusted(trusted: Trusted, folder: str | Path | None = None) -> None:
    """Step 9: store root, registry and time together.

    Raises:
        FileUnwritable: the folder cannot be made or written.
    """
    folder = Path(folder or state_folder())
    make_folder(folder)
    state = State(
        format="ctwl-registry-state/1", root=trusted.root_bytes, registry=trusted.registry_bytes, seen=trusted.seen
    )
    write_atomically(folder / _FILE, state.to_bytes())


def update_trusted(
    *,
    roots: Sequence[bytes] = (),
    registry: bytes | None = None,
    folder: str | Path | None = None,
    start: Trusted | None = None,
    now: int | None = None,
) -> Trusted:
    """Steps 1 to 9: update the stored state by what is offered, or refuse it and leave the state alone.

    Args:
        roots: envelopes of the offered roots, in sequence.
        registry: envelope of the offered registry.
        folder: the state's folder; the default is :func:`state_folder`.
        start: what to trust first where nothing is stored, instead of the wheel's registry (:func:`~.workflow.begin`).
        now: Unix seconds; the default is the clock.

    Raises:
        RegistryError: see :func:`load_trusted` and :func:`~.workflow.update`.
        FileUnwritable: see :func:`save_trusted`; also where ``start`` is given and a state is stored already, or where
            another update does not end.
    """
    folder = Path(folder or state_folder())
    make_folder(folder)
    now = int(time.time()) if now is None else now
    held = FileUnwritable(f"another program has locked {folder / _LOCK}; end it, and run this again")
    with locked(folder / _LOCK, _PATIENCE, held):  # else, of two updates at once, the older one could be stored last
        if start is not None and (folder / _FILE).exists():
            raise FileUnwritable(f"{folder / _FILE} exists already; remove it to start from another root")
        trusted = workflow.update(start or load_trusted(folder), now=now, roots=roots, registry=registry)
        save_trusted(trusted, folder)
    return trusted


def read_file(path: str | Path, limit: int = Envelope.MAX_BYTES, *, follow: bool = True) -> bytes:
    """The bytes of a file.

    Raises:
        RegistryError: ``registry-unreadable``: the file does not exist, cannot be read (see
            :func:`ctwl_protocol.files.open_file`), or has more than ``limit`` bytes.
    """
    with explaining(f"read {path}", partial(RegistryError, "registry-unreadable")):
        return read_bounded(path, limit, follow=follow)

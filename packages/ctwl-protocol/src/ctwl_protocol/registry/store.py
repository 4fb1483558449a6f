"""Where the trusted state rests: one file, written as a whole; without one, what the wheel brings (spec 9.6)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import resources
from pathlib import Path
from typing import ClassVar, Literal

from ..errors import FileUnwritable, RegistryError, RegistryUnreadable, StateMalformed
from ..files import write_atomically
from . import workflow
from .envelope import Envelope
from .schema import Document, Time
from .workflow import Trusted

__all__ = [
    "VARIABLE",
    "State",
    "bundled",
    "load_trusted",
    "read_file",
    "save_trusted",
    "state_folder",
    "update_trusted",
]

VARIABLE = "CTWL_REGISTRY"
"""Environment variable that names the folder of the trusted state."""

_FILE = "trusted.state"


class State(Document):
    """Root, registry and time in one file, so that no crash can part them."""

    MAX_BYTES: ClassVar[int] = 2 * Envelope.MAX_BYTES + 1024
    MALFORMED = StateMalformed

    format: Literal["ctwl-registry-state/1"]
    root: bytes
    registry: bytes
    seen: Time


def state_folder() -> Path:
    """The folder of the trusted state: ``$CTWL_REGISTRY``, else ``ctwl/registry`` in the user's data folder.

    Raises:
        RegistryUnreadable: nothing says where the user's folders are.
    """
    given = os.environ.get(VARIABLE)
    if given:
        return Path(given)
    try:
        return Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "ctwl" / "registry"
    except RuntimeError as error:
        raise RegistryUnreadable(f"this user has no home folder; name the registry's folder in {VARIABLE}") from error


@cache
def bundled() -> Trusted:
    """What the wheel brings: today a test root and a test registry, for there has been no ceremony yet."""
    folder = resources.files(__package__) / "bundled"
    return workflow.begin((folder / "root.ctwl").read_bytes(), (folder / "registry.ctwl").read_bytes())


def load_trusted(folder: str | Path | None = None) -> Trusted:
    """Step 1: the stored state, else the bundled one.

    Raises:
        RegistryUnreadable: there is a state, but it cannot be read.
        StateMalformed: what is stored does not hold together.
    """
    path = Path(folder or state_folder()) / _FILE
    try:
        data = read_file(path, State.MAX_BYTES)
    except RegistryUnreadable as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return bundled()
        raise
    try:
        state = State.from_bytes(data)
        return workflow.resume(state.root, state.registry, seen=state.seen)
    except RegistryError as error:
        raise StateMalformed(f"{path}: {error}; remove the file to start from what the wheel brings") from error


def save_trusted(trusted: Trusted, folder: str | Path | None = None) -> None:
    """Step 9: persist root, registry and time, all or nothing.

    Raises:
        FileUnwritable: the folder cannot be made or written.
    """
    folder = Path(folder or state_folder())
    _make(folder)
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
    """Steps 1 to 9: take what is offered into the stored state, or refuse it and leave the state alone.

    Args:
        roots: envelopes of the roots offered, in sequence.
        registry: envelope of the registry offered.
        folder: of the state; the default is :func:`state_folder`.
        start: what to trust first where nothing is stored, instead of what the wheel brings (:func:`~.client.begin`).
        now: Unix seconds; the default is the clock.

    Raises:
        RegistryError: see :func:`load_trusted` and :func:`~.client.update`.
        FileUnwritable: see :func:`save_trusted`; also where ``start`` is given and a state is stored already.
    """
    folder = Path(folder or state_folder())
    now = int(time.time()) if now is None else now
    with _locked(folder):
        if start is not None and (folder / _FILE).exists():
            raise FileUnwritable(f"{folder / _FILE} is there already; remove it to start from another root")
        trusted = workflow.update(start or load_trusted(folder), now=now, roots=roots, registry=registry)
        save_trusted(trusted, folder)
    return trusted


def read_file(path: str | Path, limit: int = Envelope.MAX_BYTES) -> bytes:
    """The bytes of a file, at most one more than the limit, so that nothing large is ever read.

    Raises:
        RegistryUnreadable: there is no such file, or it cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            return file.read(limit + 1)
    except OSError as error:
        raise RegistryUnreadable(f"cannot read {path}: {error.strerror}") from error


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileUnwritable(f"cannot make the folder {folder}: {error.strerror}") from error


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One update at a time: of two at once, the older must not be the one that stays."""
    try:
        import fcntl
    except ImportError:  # Windows: updates there are for people to keep apart
        yield
        return
    _make(folder)
    try:
        file = (folder / ".lock").open("wb")
    except OSError as error:
        raise FileUnwritable(f"cannot write in {folder}: {error.strerror}") from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

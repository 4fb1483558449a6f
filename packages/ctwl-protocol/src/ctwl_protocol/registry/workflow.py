"""The client's workflow: from what is trusted and what is offered to what is trusted next (spec 9.6, Update).

It follows the client workflow of The Update Framework (TUF), with two roles. Nothing here touches a disk: an update
that is refused has left no trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ..errors import (
    ClockSetBack,
    RegistryError,
    RegistryExpired,
    RegistryForked,
    RegistryRolledBack,
    RootExpired,
    RootOutOfSequence,
    RootUseDiffers,
    StateMalformed,
)
from .append_only import check_append_only
from .documents import REGISTRY, ROOT, Registry, Root, Use
from .envelope import Envelope

__all__ = ["SLACK", "Trusted", "begin", "date", "resume", "update"]

SLACK = 86_400
"""A clock may lie so many seconds before a time already seen: clocks differ, but not by more than a day."""


@dataclass(frozen=True, slots=True)
class Trusted:
    """What a client trusts: a root, the registry under it, and the latest time it has seen.

    Attributes:
        root, registry: the documents.
        root_bytes, registry_bytes: the envelopes that they came in.
        seen: Unix seconds.
    """

    root: Root
    registry: Registry
    root_bytes: bytes
    registry_bytes: bytes
    seen: int

    def without_entries(self) -> Trusted:
        """The same with no entries in its registry: to a decoder all codes are then alike (spec section 10.2)."""
        return replace(self, registry=self.registry.model_copy(update={"entries": ()}))

    @property
    def use(self) -> Use:
        """Whether this is a registry for production or for tests; a report says so."""
        return self.root.use

    def expired(self, at: int) -> bool:
        """Whether a newer registry should be there by now. The old one still decodes; a report says so."""
        return self.registry.expired(at) or at >= self.root.expires

    def label(self, at: int) -> str:
        """One line for a report: which registry, of when, and whether it has expired."""
        kind = "test registry" if self.use == "test" else "registry"
        ends = min(self.registry.expires, self.root.expires)
        state = "expired on" if self.expired(at) else "good until"
        return f"{kind}, version {self.registry.version} of {date(self.registry.issued)}, {state} {date(ends)}"


def date(seconds: int) -> str:
    """A time as the day it lies on, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def begin(root: bytes, registry: bytes, *, seen: int = 0) -> Trusted:
    """Trust a root because somebody vouches for it: it came with the wheel, or from the operator by a safe way.

    Both envelopes must still hold together: the root is signed by its own keys, the registry by the root's.

    Raises:
        RegistryError: they do not.
    """
    envelope = Envelope.from_bytes(root)
    found = Root.from_bytes(envelope.payload)  # vouched for: there is no older root to verify it with
    envelope.verify(ROOT, found.root)
    listed = Registry.from_bytes(Envelope.from_bytes(registry).verify(REGISTRY, found.registry))
    return Trusted(found, listed, root, registry, max(seen, listed.issued))


def resume(root: bytes, registry: bytes, *, seen: int) -> Trusted:
    """Step 1: what was trusted and stored.

    Raises:
        StateMalformed: it does not hold together, see :func:`begin`.
    """
    try:
        return begin(root, registry, seen=seen)
    except RegistryError as error:
        raise StateMalformed(str(error)) from error


def update(trusted: Trusted, *, now: int, roots: Sequence[bytes] = (), registry: bytes | None = None) -> Trusted:
    """What is trusted once the offered files are.

    Args:
        trusted: step 1, what is trusted so far.
        now: the clock, in Unix seconds.
        roots: envelopes of the roots after the trusted one, in sequence.
        registry: envelope of a registry; where None, the trusted one must be signed by the last root's keys.

    Raises:
        RegistryError: something offered is refused; each reason has a class of its own. Nothing changes.
    """
    # Step 2: the roots in sequence, each vouched for by the one before; those on the way may have expired.
    root, root_bytes = trusted.root, trusted.root_bytes
    for data in roots:
        root, root_bytes = _next_root(root, data), data
    # Step 3: the last one has not expired.
    if now >= root.expires:
        raise RootExpired(
            f"root {root.version} expired on {date(root.expires)}; ask the registry's operator for the next"
        )
    # Step 4: signatures first, then the document. A registry that is not offered anew must be signed by the new keys.
    data = trusted.registry_bytes if registry is None else registry
    offered = Registry.from_bytes(Envelope.from_bytes(data).verify(REGISTRY, root.registry))
    # Step 5: the version does not go back, unless keys were taken away: who held one may have run it ahead.
    _check_version(trusted.registry, offered, recovering=_took_keys_away(trusted.root, root))
    # Step 6: what was said stays said, whoever signs.
    check_append_only(trusted.registry, offered)
    # Step 7: an old registry that is offered as the newest is a freeze.
    if registry is not None and offered.expired(now):
        raise RegistryExpired(
            f"registry {offered.version} expired on {date(offered.expires)}, so a newer one is being held back; get it "
            "from the registry's operator"
        )
    # Step 8: a clock that was set back would make all that look fresh.
    seen = max(trusted.seen, offered.issued)
    if now < seen - SLACK:
        raise ClockSetBack(
            f"this machine's clock says {date(now)}, but {date(seen)} has been seen; set it right, or if it ran "
            "ahead before, remove the trusted state and update again"
        )
    # Step 9: the caller persists root, registry and time, all or nothing.
    return Trusted(root, offered, root_bytes, data, max(seen, now))


def _next_root(root: Root, data: bytes) -> Root:
    envelope = Envelope.from_bytes(data)
    new = Root.from_bytes(envelope.verify(ROOT, root.root))
    envelope.verify(ROOT, new.root)
    if new.use != root.use:
        raise RootUseDiffers(
            f"a root for {new.use} cannot follow one for {root.use}; keep that registry in a folder of its own"
        )
    if new.version != root.version + 1:
        raise RootOutOfSequence(
            f"root {new.version} was offered after root {root.version}; offer every root from {root.version + 1} on, "
            "in order"
        )
    return new


def _took_keys_away(old: Root, new: Root) -> bool:
    return not set(old.registry.keys) <= set(new.registry.keys)


def _check_version(old: Registry, new: Registry, *, recovering: bool) -> None:
    if new.version == old.version and new != old:
        raise RegistryForked(
            f"two registries of version {new.version} were signed; tell its operator, and take neither until they speak"
        )
    if new.version < old.version and not recovering:
        raise RegistryRolledBack(f"registry {new.version} was offered, but {old.version} is trusted; get the newest")
    if new.issued < old.issued:
        raise RegistryRolledBack(
            f"a registry of {date(new.issued)} was offered, but one of {date(old.issued)} is trusted; get the newest"
        )

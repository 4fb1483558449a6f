"""The client's workflow: it checks an offered update against what is trusted so far (spec 9.6, Update).

It follows the client workflow of The Update Framework (TUF), with two roles. Nothing here writes to disk, so a refused
update leaves no trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ..errors import RegistryError
from .append_only import check_append_only
from .documents import REGISTRY, ROOT, Registry, Root, Use
from .envelope import Envelope

SLACK = 86_400
"""Seconds by which the clock may be behind the latest time seen: clocks differ, but not by more than a day (step 8)."""


@dataclass(frozen=True, slots=True)
class Trusted:
    """What a client trusts: a root, the registry under it, and the latest time it has seen.

    Attributes:
        root, registry: the documents.
        root_bytes, registry_bytes: the bytes of their envelopes.
        seen: the latest time seen, in Unix seconds.
    """

    root: Root
    registry: Registry
    root_bytes: bytes
    registry_bytes: bytes
    seen: int

    def without_entries(self) -> Trusted:
        """The same with an empty registry: a decoder then prefers no code to another (spec section 10.2)."""
        # Made anew: a copy would take the index of the old entries with it.
        return replace(self, registry=Registry(**{**dict(self.registry), "entries": ()}))

    @property
    def use(self) -> Use:
        """Whether this registry is for production or for tests; a report says which."""
        return self.root.use

    def expired(self, at: int) -> bool:
        """Whether root or registry have expired at a time in Unix seconds. Decoders use them all the same."""
        return self.registry.expired(at) or at >= self.root.expires

    def label(self, at: int) -> str:
        """One line for a report: which registry this is, when it was issued, and whether it has expired."""
        kind = "test registry" if self.use == "test" else "registry"
        ends = min(self.registry.expires, self.root.expires)
        state = "expired on" if self.expired(at) else "good until"
        return f"{kind}, version {self.registry.version} of {date(self.registry.issued)}, {state} {date(ends)}"


def date(seconds: int) -> str:
    """The day of a time in Unix seconds, in UTC, as YYYY-MM-DD."""
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def begin(root: bytes, registry: bytes, *, roots: Sequence[bytes] = (), seen: int = 0) -> Trusted:
    """Trust a root without an older one: it came with the wheel, or from the operator over a channel that is trusted.

    The root must still be signed by its own keys, and the registry by the keys that the last root lists.

    Args:
        root: its envelope.
        registry: its envelope.
        roots: envelopes of the roots after it, in sequence.
        seen: the latest time seen, in Unix seconds.

    Raises:
        RegistryError: they are not, or one of them is malformed; see also :func:`update`, step 2.
    """
    envelope = Envelope.from_bytes(root)
    last = Root.from_bytes(envelope.payload)  # no older root verifies it; the caller vouches for it
    envelope.verify(ROOT, last.root)
    for data in roots:
        last, root = _next_root(last, data), data
    listed = Registry.from_bytes(Envelope.from_bytes(registry).verify(REGISTRY, last.registry))
    return Trusted(last, listed, root, registry, max(seen, listed.issued))


def resume(root: bytes, registry: bytes, *, seen: int) -> Trusted:
    """Step 1: what was trusted before and stored.

    Raises:
        RegistryError: ``registry-state-malformed``, for any of the reasons of :func:`begin`.
    """
    try:
        return begin(root, registry, seen=seen)
    except RegistryError as error:
        raise RegistryError("registry-state-malformed", str(error)) from error


def update(trusted: Trusted, *, now: int, roots: Sequence[bytes] = (), registry: bytes | None = None) -> Trusted:
    """What is trusted after the offered files were checked.

    Args:
        trusted: what is trusted so far (step 1).
        now: the clock, in Unix seconds.
        roots: envelopes of the roots after the trusted one, in sequence.
        registry: envelope of a registry; where None, the keys of the last root must have signed the trusted one.

    Raises:
        RegistryError: something offered is refused; each reason has a code of its own (spec section 11).
    """
    # Step 2: each root is signed by the keys of the one before. All but the last may have expired.
    root, root_bytes = trusted.root, trusted.root_bytes
    for data in roots:
        root, root_bytes = _next_root(root, data), data
    # Step 3: the last root has not expired.
    if now >= root.expires:
        raise RegistryError(
            "root-expired",
            f"root {root.version} expired on {date(root.expires)}; ask the registry's operator for the next root",
        )
    # Step 4: signatures first, then the document. Where no registry is offered, the new keys must have signed the old.
    data = trusted.registry_bytes if registry is None else registry
    offered = Registry.from_bytes(Envelope.from_bytes(data).verify(REGISTRY, root.registry))
    # Step 5: the version does not go back, except where a key was removed: a thief may have raised the version.
    key_removed = not set(trusted.root.registry.keys) <= set(root.registry.keys)
    _check_version(trusted.registry, offered, key_removed=key_removed)
    # Step 6: entries stay, whoever signs.
    check_append_only(trusted.registry, offered)
    # Step 7: an expired registry that is offered as the newest is a freeze attack.
    if registry is not None and offered.expired(now):
        raise RegistryError(
            "registry-expired",
            f"registry {offered.version} expired on {date(offered.expires)}, so a newer one must exist; get it from "
            "the registry's operator",
        )
    # Step 8: if the clock was set back, an expired registry would look fresh.
    seen = max(trusted.seen, offered.issued)
    if now < seen - SLACK:
        raise RegistryError(
            "clock-set-back",
            f"this machine's clock says {date(now)}, but {date(seen)} was seen before; correct the clock, or, if it "
            "was ahead then, remove the trusted state and update again",
        )
    # Step 9: the caller stores root, registry and time together.
    return Trusted(root, offered, root_bytes, data, max(seen, now))


def _next_root(root: Root, data: bytes) -> Root:
    envelope = Envelope.from_bytes(data)
    new = Root.from_bytes(envelope.verify(ROOT, root.root))
    envelope.verify(ROOT, new.root)
    if new.use != root.use:
        raise RegistryError(
            "root-use-differs",
            f"a root for {new.use} cannot follow one for {root.use}; keep that registry in a folder of its own",
        )
    if new.version != root.version + 1:
        raise RegistryError(
            "root-out-of-sequence",
            f"root {new.version} was offered after root {root.version}; offer every root from {root.version + 1} on, "
            "in order",
        )
    return new


def _check_version(old: Registry, new: Registry, *, key_removed: bool) -> None:
    if new.version == old.version and new != old:
        raise RegistryError(
            "registry-forked",
            f"two registries of version {new.version} were signed; tell the operator, and use neither until then",
        )
    if new.version < old.version and not key_removed:
        raise RegistryError(
            "registry-rolled-back", f"registry {new.version} was offered, but {old.version} is trusted; get the newest"
        )
    if new.issued < old.issued:
        raise RegistryError(
            "registry-rolled-back",
            f"a registry of {date(new.issued)} was offered, but one of {date(old.issued)} is trusted; get the newest",
        )

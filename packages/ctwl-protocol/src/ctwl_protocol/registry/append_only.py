"""What a registry may say after another: more, and never something else about the past (spec 9.6, step 6)."""

from __future__ import annotations

from ..errors import EntryAltered, EntryBackdated, EntryRemoved
from .documents import Registry
from .entries import CertificateEntry, Entry, Epoch, ModelVersion, ProviderEntry

__all__ = ["check_append_only"]

_ORDER = ("active", "retired", "revoked")


def check_append_only(old: Registry, new: Registry) -> None:
    """Whether the new registry keeps all that the old one says.

    Allowed are: entries appended, a contact changed, a state moved on from active to retired to revoked, ``until`` set
    once, models and epochs appended. Where a time decides what a thing means, the past is closed: certificates and
    epochs that are appended do not lie before the old registry's ``issued``.

    Raises:
        EntryRemoved, EntryAltered, EntryBackdated: it does not.
    """
    kept = {entry.identity for entry in new.entries}
    for was in old.entries:
        if was.identity not in kept:
            raise EntryRemoved(f"the registry no longer has {_name(was)}; entries stay for good, so put it back")
    # The identities of a registry are distinct, so the first entries being the old ones means that none moved.
    for was, now in zip(old.entries, new.entries, strict=False):
        if not _may_follow(was, now):
            raise EntryAltered(f"the registry changes {_name(was)} beyond what may change; restore what it said")
        if isinstance(was, ProviderEntry) and isinstance(now, ProviderEntry):
            _check_epochs(now, now.epochs[len(was.epochs) :], old.issued)
    for entry in new.entries[len(old.entries) :]:
        if isinstance(entry, CertificateEntry) and entry.since < old.issued:
            raise EntryBackdated(f"{_name(entry)} is dated before the trusted registry; date it when it is added")


def _may_follow(was: Entry, now: Entry) -> bool:
    if not (isinstance(was, ProviderEntry) and isinstance(now, ProviderEntry)):
        return was == now
    free = {"contact": now.contact, "state": now.state, "until": now.until, "models": now.models, "epochs": now.epochs}
    return (
        was.model_copy(update=free) == now
        and _ORDER.index(was.state) <= _ORDER.index(now.state)
        and was.until in (None, now.until)
        and now.epochs[: len(was.epochs)] == was.epochs
        and len(now.models) >= len(was.models)
        and all(_may_end(a, b) for a, b in zip(was.models, now.models, strict=False))
    )


def _may_end(was: ModelVersion, now: ModelVersion) -> bool:
    return was in (now, now.model_copy(update={"until": None}))


def _check_epochs(owner: ProviderEntry, appended: tuple[Epoch, ...], issued: int) -> None:
    if appended and appended[0].since < issued:  # they ascend in time
        raise EntryBackdated(
            f"epoch {appended[0].epoch} of {_name(owner)} begins before the trusted registry was issued; "
            "what was written then is under another epoch, so let it begin later"
        )


def _name(entry: Entry) -> str:
    what = entry.identity[1]
    return f"{entry.kind} {what.hex() if isinstance(what, bytes) else what}"

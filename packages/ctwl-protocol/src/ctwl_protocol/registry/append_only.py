"""A newer registry may say more than an older one, but may not change what the older one says (spec 9.6, step 6)."""

from __future__ import annotations

from ..errors import RegistryError
from .documents import Registry
from .entries import CertificateEntry, Entry, Epoch, ModelVersion, ProviderEntry

_ORDER = ("active", "retired", "revoked")


def check_append_only(old: Registry, new: Registry) -> None:
    """Check that the new registry keeps all that the old one says.

    These changes are allowed: append an entry, a model or an epoch; change a contact; name, change or take away a
    detector or a reading model; raise the number of a model's nonces; move a state on, from active to retired to
    revoked; set ``until`` once. Nobody may lower that number: texts were written with all nonces that it allowed, and
    readers have to find them. An appended certificate or epoch may not begin, and a provider may not end, before the
    old registry's ``issued``, because these times decide what earlier texts mean. Else a thief of the keys could revoke
    a code for all of the past.

    Raises:
        RegistryError: ``entry-removed``, ``entry-altered`` or ``entry-backdated``.
    """
    kept = {entry.identity for entry in new.entries}
    for was in old.entries:
        if was.identity not in kept:
            raise RegistryError(
                "entry-removed", f"the registry no longer has {was.label}; entries stay for good, so put it back"
            )
    # No two entries have one identity. So if the new registry begins with the old entries, none has moved.
    for was, now in zip(old.entries, new.entries, strict=False):
        if not _may_follow(was, now):
            raise RegistryError(
                "entry-altered", f"the registry changes {was.label} beyond what may change; restore what it said"
            )
        if isinstance(was, ProviderEntry) and isinstance(now, ProviderEntry):
            _check_end(was, now, old.issued)
            _check_epochs(now, now.epochs[len(was.epochs) :], old.issued)
    for entry in new.entries[len(old.entries) :]:
        if isinstance(entry, CertificateEntry) and entry.since < old.issued:
            raise RegistryError(
                "entry-backdated",
                f"{entry.label} is dated before the trusted registry was issued; date it when it is added",
            )


def _may_follow(was: Entry, now: Entry) -> bool:
    if not (isinstance(was, ProviderEntry) and isinstance(now, ProviderEntry)):
        return was == now
    names = "contact", "detector", "reading_model", "state", "until", "models", "epochs"
    free = {name: getattr(now, name) for name in names}
    return (
        was.model_copy(update=free) == now
        and _ORDER.index(was.state) <= _ORDER.index(now.state)
        and was.until in (None, now.until)
        and now.epochs[: len(was.epochs)] == was.epochs
        and len(now.models) >= len(was.models)
        and all(_may_go_on(a, b) for a, b in zip(was.models, now.models, strict=False))
    )


def _may_go_on(was: ModelVersion, now: ModelVersion) -> bool:
    same = was.model_copy(update={"until": now.until, "nonces": now.nonces}) == now
    return same and was.until in (None, now.until) and was.nonce_count <= now.nonce_count


def _check_end(was: ProviderEntry, now: ProviderEntry, issued: int) -> None:
    if was.until is None and now.until is not None and now.until < issued:
        raise RegistryError(
            "entry-backdated",
            f"{now.label} ends before the trusted registry was issued, which said that it was active; let it end "
            "now, or later",
        )


def _check_epochs(owner: ProviderEntry, appended: tuple[Epoch, ...], issued: int) -> None:
    if appended and appended[0].since < issued:  # they ascend in time
        raise RegistryError(
            "entry-backdated",
            f"epoch {appended[0].epoch} of {owner.label} begins before the trusted registry was issued; texts "
            "from that time use another epoch, so let it begin later",
        )

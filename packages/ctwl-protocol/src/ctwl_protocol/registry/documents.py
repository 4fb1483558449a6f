"""The two signed documents: the root, which says whose signatures count, and the registry itself (spec 9.6)."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from ..errors import CodeReused, KeyIsForTests, RegistryMalformed, RootMalformed
from ..records.layouts import LAYOUTS, Layout
from .entries import CertificateEntry, Entry, LayoutEntry, ModelVersion, ProviderEntry
from .keys import check_key, test_public_keys
from .schema import Bytes32, Document, Many, Part, Time

__all__ = ["REGISTRY", "ROOT", "Registry", "Role", "Root", "Use"]

ROOT: Final = "ctwl-root/1"
REGISTRY: Final = "ctwl-registry/1"

Use = Literal["production", "test"]
Counter = Annotated[int, Field(ge=1, lt=1 << 63)]


class Role(Part):
    """Whose signatures count, and how many it takes.

    Attributes:
        threshold: 1 to the number of keys.
        keys: Ed25519 public keys, distinct and ascending, each enrolable (:func:`~.keys.check_key`).
    """

    threshold: Annotated[int, Field(ge=1)]
    keys: Annotated[Many[Bytes32], Field(min_length=1, max_length=32)]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if any(a >= b for a, b in pairwise(self.keys)):
            raise ValueError("a role's keys are distinct and ascending")
        if self.threshold > len(self.keys):
            raise ValueError("a role's threshold exceeds the number of its keys")
        for key in self.keys:
            check_key(key)
        return self


class Root(Document):
    """Who signs: the keys of the next root and of the registry.

    Attributes:
        use: "production", or "test" for a registry that binds nobody.
        version: 1, 2, 3 ... without a gap.
        expires: from then on it allows no update.
        root, registry: the two roles.
    """

    MAX_BYTES: ClassVar[int] = 1 << 16
    MALFORMED = RootMalformed

    format: Literal["ctwl-root/1"]
    use: Use
    version: Counter
    expires: Time
    root: Role
    registry: Role

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        exposed = test_public_keys().intersection(self.root.keys + self.registry.keys)
        if self.use == "production" and exposed:
            raise KeyIsForTests(
                f"a root for production enrols the test key {min(exposed).hex()}, whose secret everyone knows; "
                "generate keys with ctwl-registry keygen"
            )
        return self


class Registry(Document):
    """Who owns which code: the entries in the order in which they were added, and what decoders ask of them.

    Attributes:
        version: grows with every change.
        issued: when this version was made.
        expires: from then on it still decodes, but is no longer known to be the newest.
        entries: append-only.
    """

    MAX_BYTES: ClassVar[int] = 1 << 20
    MALFORMED = RegistryMalformed

    format: Literal["ctwl-registry/1"]
    version: Counter
    issued: Time
    expires: Time
    entries: Annotated[Many[Entry], Field(max_length=1 << 14)]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.expires <= self.issued:
            raise ValueError("expires lies after issued")
        seen: set[tuple[str, int] | tuple[str, bytes]] = set()
        for entry in self.entries:
            if entry.identity in seen:
                what = entry.identity[1]
                raise CodeReused(
                    f"two entries for {entry.kind} {what.hex() if isinstance(what, bytes) else what}; "
                    "a code belongs to its first owner for good, so take one that is free"
                )
            seen.add(entry.identity)
            if isinstance(entry, LayoutEntry) and ("provider", entry.owner) not in seen:
                raise ValueError("a layout's owner is a provider that was registered before it")
            if isinstance(entry, CertificateEntry) and entry.since > self.issued:
                raise ValueError("a certificate is dated after the registry that states it")
        if len({entry.name for entry in self.layouts()}) < len(self.layouts()):
            raise ValueError("two layouts have one name")
        return self

    @cached_property
    def _by_identity(self) -> dict[object, ProviderEntry | LayoutEntry | CertificateEntry]:
        return {entry.identity: entry for entry in self.entries}

    def provider(self, code: int) -> ProviderEntry | None:
        """Who owns a provider code; also those who are retired or revoked."""
        found = self._by_identity.get(("provider", code))
        return found if isinstance(found, ProviderEntry) else None

    def model(self, code: int, version: int) -> ModelVersion | None:
        """A provider's model version."""
        owner = self.provider(code)
        return next((model for model in owner.models if model.version == version), None) if owner else None

    def beacons(self) -> list[tuple[int, int]]:
        """Every registered pair of provider and version, ascending; also what is no longer in use."""
        owners = (entry for entry in self.entries if isinstance(entry, ProviderEntry))
        return sorted((owner.code, model.version) for owner in owners for model in owner.models)

    def epoch(self, code: int, at: int) -> int | None:
        """The key epoch that a provider's sealed user ids are under at a time (Unix seconds)."""
        owner = self.provider(code)
        begun = [epoch.epoch for epoch in owner.epochs if epoch.since <= at] if owner else []
        return begun[-1] if begun else None

    def layout(self, number: int) -> LayoutEntry | None:
        """A registered layout."""
        found = self._by_identity.get(("layout", number))
        return found if isinstance(found, LayoutEntry) else None

    def layouts(self) -> list[LayoutEntry]:
        """The registered layouts, in the order of their registration."""
        return [entry for entry in self.entries if isinstance(entry, LayoutEntry)]

    def known_layouts(self) -> list[Layout]:
        """The specification's layouts and the registered ones."""
        return [*LAYOUTS, *(entry.layout for entry in self.layouts())]

    def certificate(self, commitment: bytes) -> CertificateEntry | None:
        """When a commitment to a private profile was certified, and for whom."""
        found = self._by_identity.get(("certificate", commitment))
        return found if isinstance(found, CertificateEntry) else None

    def expired(self, at: int) -> bool:
        """Whether this version's time is over; it decodes all the same."""
        return at >= self.expires

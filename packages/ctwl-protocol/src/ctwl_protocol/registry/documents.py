"""The two signed documents: the root says whose signatures count; the registry says who owns a code (spec 9.6)."""

from __future__ import annotations

from functools import cached_property, partial
from itertools import pairwise
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from ..errors import RegistryError
from ..numbers import NUMBERS
from ..records.beacon import NONCE_COUNT
from ..records.layouts import LAYOUTS, Layout
from ..schema import Bytes32, Document, Many, Part
from .entries import CertificateEntry, Entry, LayoutEntry, ModelVersion, ProviderEntry, Time
from .keys import check_key, test_public_keys
from .spelling import looks

ROOT: Final = "ctwl-root/1"
REGISTRY: Final = "ctwl-registry/1"

Use = Literal["production", "test"]
Counter = Annotated[int, Field(ge=1, lt=1 << 63)]


class Role(Part):
    """Whose signatures count, and how many are needed.

    Attributes:
        threshold: 1 to the number of keys.
        keys: Ed25519 public keys, distinct and ascending, each one that :func:`~.keys.check_key` accepts.
    """

    threshold: Annotated[int, Field(ge=1)]
    keys: Annotated[Many[Bytes32], Field(min_length=1, max_length=NUMBERS.registry.keys)]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if any(a >= b for a, b in pairwise(self.keys)):
            raise ValueError("a role's keys must be distinct and ascending")
        if self.threshold > len(self.keys):
            raise ValueError("a role's threshold exceeds the number of its keys")
        for key in self.keys:
            check_key(key)
        return self


class Root(Document):
    """Whose keys sign the next root, and whose keys sign the registry. No key does both.

    Attributes:
        use: "production", or "test" for a registry that binds nobody.
        version: 1, 2, 3 ... without a gap.
        expires: no update is allowed at or after this time.
        root, registry: the two roles.
    """

    MAX_BYTES: ClassVar[int] = NUMBERS.registry.root_bytes
    MALFORMED = partial(RegistryError, "root-malformed")

    format: Literal["ctwl-root/1"]
    use: Use
    version: Counter
    expires: Time
    root: Role
    registry: Role

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        shared = set(self.root.keys).intersection(self.registry.keys)
        if shared:
            raise RegistryError(
                "key-in-two-roles",
                f"{min(shared).hex()} signs roots and registries; its theft would cost both, so generate one for each",
            )
        exposed = test_public_keys().intersection(self.root.keys + self.registry.keys)
        if self.use == "production" and exposed:
            raise RegistryError(
                "test-key-in-production",
                f"a root for production lists the test key {min(exposed).hex()}, whose secret is public; "
                "generate keys with ctwl-registry keygen",
            )
        return self


class Registry(Document):
    """Who owns which code: the entries, in the order in which they were added, and what decoders look up in them.

    Attributes:
        version: grows with every change.
        issued: when this version was made, in Unix seconds.
        expires: at this time a newer version should be there; decoders still use this one.
        entries: append-only.
    """

    MAX_BYTES: ClassVar[int] = NUMBERS.registry.bytes
    MALFORMED = partial(RegistryError, "registry-malformed")

    format: Literal["ctwl-registry/1"]
    version: Counter
    issued: Time
    expires: Time
    entries: Annotated[Many[Entry], Field(max_length=NUMBERS.registry.entries)]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.expires <= self.issued:
            raise ValueError("expires must lie after issued")
        seen: set[tuple[str, int | bytes]] = set()
        for entry in self.entries:
            if entry.identity in seen:
                raise RegistryError(
                    "code-reused",
                    f"two entries for {entry.label}; a code belongs to its first owner for good, so take a free one",
                )
            seen.add(entry.identity)
            if isinstance(entry, LayoutEntry) and ("provider", entry.owner) not in seen:
                raise ValueError("a layout's owner must be a provider that was registered before it")
            if isinstance(entry, CertificateEntry) and entry.since > self.issued:
                raise ValueError("a certificate is dated after the registry that states it")
        if len({entry.name for entry in self.layouts()}) < len(self.layouts()):
            raise ValueError("two layouts have one name")
        if len({entry.challenge for entry in self.certificates()}) < len(self.certificates()):
            raise ValueError("two certificates have one challenge, which the second owner knew before")
        self._check_names()
        return self

    def _check_names(self) -> None:
        """No two active providers have names that a reader takes for one."""
        taken: dict[str, int] = {}
        active = [owner for owner in self.providers() if owner.state == "active"]
        for owner in active:
            for look in looks(owner.name):
                if (other := taken.setdefault(look, owner.code)) != owner.code:
                    raise RegistryError(
                        "names-alike",
                        f"the names of the active providers {other} and {owner.code} look alike; choose another name",
                    )

    @cached_property
    def _by_identity(self) -> dict[object, ProviderEntry | LayoutEntry | CertificateEntry]:
        return {entry.identity: entry for entry in self.entries}

    def providers(self) -> list[ProviderEntry]:
        """The owners of codes, in the order in which they were added."""
        return [entry for entry in self.entries if isinstance(entry, ProviderEntry)]

    def provider(self, code: int) -> ProviderEntry | None:
        """The owner of a provider code, which may be retired or revoked; None where the code is free."""
        entry = self._by_identity.get(("provider", code))
        return entry if isinstance(entry, ProviderEntry) else None

    def model(self, code: int, version: int) -> ModelVersion | None:
        """A model version of a provider; None where there is none."""
        owner = self.provider(code)
        return next((model for model in owner.models if model.version == version), None) if owner else None

    def nonces(self, code: int, version: int) -> int:
        """How many nonces the texts of a provider's model version have, from 0 on: 64 where it declares no fewer."""
        model = self.model(code, version)
        return model.nonce_count if model else NONCE_COUNT

    def beacons(self) -> list[tuple[int, int]]:
        """Every registered pair of provider and version, ascending, with pairs that are no longer in use."""
        return sorted((owner.code, model.version) for owner in self.providers() for model in owner.models)

    def epoch(self, code: int, at: int) -> int | None:
        """The key epoch of a provider's sealed user ids at a time in Unix seconds; None before the first."""
        owner = self.provider(code)
        begun = [epoch.epoch for epoch in owner.epochs if epoch.since <= at] if owner else []
        return begun[-1] if begun else None

    def layouts(self) -> list[LayoutEntry]:
        """The registered layouts, in the order of their registration."""
        return [entry for entry in self.entries if isinstance(entry, LayoutEntry)]

    def known_layouts(self) -> list[Layout]:
        """The specification's layouts and the registered ones."""
        return [*LAYOUTS, *(entry.layout for entry in self.layouts())]

    def certificates(self) -> list[CertificateEntry]:
        """The certificates, in the order in which they were added."""
        return [entry for entry in self.entries if isinstance(entry, CertificateEntry)]

    def certificate(self, commitment: bytes) -> CertificateEntry | None:
        """Who had a commitment to a private profile certified, and when; None where nobody had."""
        entry = self._by_identity.get(("certificate", commitment))
        return entry if isinstance(entry, CertificateEntry) else None

    def certificates_of(self, owner: str) -> list[CertificateEntry]:
        """The certificates whose owner's name looks like this one: who has one spelled otherwise is no other owner."""
        alike = looks(owner)
        return [entry for entry in self.certificates() if not alike.isdisjoint(looks(entry.owner))]

    def expired(self, at: int) -> bool:
        """Whether this version has expired at a time in Unix seconds; decoders still use it."""
        return at >= self.expires

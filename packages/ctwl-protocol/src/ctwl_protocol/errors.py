"""The error tree of the protocol package.

Every error carries a stable ``code`` (the status code of the specification, section 11) and a message that says what to
do next. The encoder's and the decoder's own errors derive from the same base, so one ``except CTWLError`` catches all.
"""

from __future__ import annotations

from typing import Literal

__all__ = [
    "CTWLError",
    "DeviceUnavailable",
    "FieldOutOfRange",
    "FileUnwritable",
    "KeyFileLocked",
    "KeyFileMalformed",
    "LayoutMalformed",
    "LayoutUnknown",
    "NonCanonical",
    "PassphraseMissing",
    "ProfileMalformed",
    "ProfileNotPrivate",
    "ProfileUnknown",
    "ProxyDigestMismatch",
    "ProxyMalformed",
    "ProxyNotFound",
    "RegistryCode",
    "RegistryError",
    "RelayFull",
    "SealRefused",
    "TokenOutOfRange",
    "UserMalformed",
    "first_line",
]


class CTWLError(Exception):
    """Base of every error that the CTWL packages raise on purpose."""

    code: str = "error"


def first_line(error: BaseException) -> str:
    """What another library's error says, in a line."""
    said = str(error).strip()
    return said.splitlines()[0] if said else type(error).__name__


class NonCanonical(CTWLError):
    """Bytes that are not the one canonical encoding of a value."""

    code = "non-canonical"


class ProfileUnknown(CTWLError):
    """A name that is no published profile and no readable profile file."""

    code = "profile-unknown"


class ProfileMalformed(CTWLError):
    """A profile document that breaks the schema or a bound."""

    code = "profile-malformed"


class ProfileNotPrivate(CTWLError):
    """A profile that anyone can write under, where a private one is needed."""

    code = "profile-not-private"


class UserMalformed(CTWLError):
    """A user's id that no profile can be bound to."""

    code = "user-malformed"


class ProxyNotFound(CTWLError):
    """The proxy LM's files are in none of the places that were searched."""

    code = "proxy-not-found"


class ProxyDigestMismatch(CTWLError):
    """A proxy file whose bytes are not the profile's."""

    code = "proxy-digest-mismatch"


class ProxyMalformed(CTWLError):
    """Proxy files that do not fit the architecture or the tokenizer that the profile states."""

    code = "proxy-malformed"


class DeviceUnavailable(CTWLError):
    """A torch device that this machine does not have."""

    code = "device-unavailable"


class FieldOutOfRange(CTWLError):
    """A record's field that does not fit its width."""

    code = "field-out-of-range"


class TokenOutOfRange(CTWLError):
    """A token id outside the proxy's vocabulary."""

    code = "token-out-of-range"


class KeyFileMalformed(CTWLError):
    """A file that holds no secret of the kind that is wanted, or that cannot be read."""

    code = "key-file-malformed"


class KeyFileLocked(CTWLError):
    """A file of a secret that the passphrase does not open."""

    code = "key-file-locked"


class PassphraseMissing(CTWLError):
    """A passphrase that nobody gave."""

    code = "passphrase-missing"


class FileUnwritable(CTWLError):
    """A file that cannot be written, or must not be overwritten."""

    code = "file-unwritable"


class LayoutUnknown(CTWLError):
    """A layout that this implementation does not know."""

    code = "layout-unknown"


class LayoutMalformed(CTWLError):
    """A layout whose fields do not fill whole codes."""

    code = "layout-malformed"


class RelayFull(CTWLError):
    """A chain of models that has no room for another."""

    code = "relay-full"


class SealRefused(CTWLError):
    """A sealed user that does not open."""

    code = "seal-refused"


RegistryCode = Literal[
    "registry-error",  # any other failure
    "registry-unreadable",  # a file of the registry that cannot be read
    "envelope-malformed",  # bytes that are no envelope of the type that is wanted
    "signature-repeated",  # an envelope that a key signed twice
    "threshold-not-met",  # too few valid signatures by the keys of a role
    "key-unsuitable",  # a public key that is enrolled nowhere: low order, not canonical, or off the curve
    "test-key-in-production",  # a root for production that enrols a key whose secret is public
    "root-malformed",  # a root document that breaks the schema or a bound
    "root-out-of-sequence",  # a root whose version is not the next after the trusted one's
    "root-use-differs",  # a test root over a production one, or the other way
    "root-expired",  # an update under a root whose time is over
    "registry-malformed",  # a registry document that breaks the schema or a bound
    "registry-rolled-back",  # a registry that is older than the trusted one
    "registry-forked",  # two registries of one version
    "registry-expired",  # an update to a registry whose time is over (freeze)
    "code-reused",  # two entries of a registry for one provider code, layout number or commitment
    "entry-unknown",  # an entry that the registry does not have
    "entry-removed",  # a registry that lacks an entry of the trusted one
    "entry-altered",  # a registry that changes what a trusted entry says, beyond what may change
    "entry-backdated",  # a registry that appends a certificate or an epoch to the past
    "clock-set-back",  # a clock that says less than a time already seen
    "registry-state-malformed",  # a stored trusted state that does not hold together
]
"""What can be wrong with a registry (spec section 11)."""


class RegistryError(CTWLError):
    """A registry, one of its files, or an update that is refused.

    Attributes:
        code: tells the reasons apart; one class is enough, because no caller treats two of them differently.
    """

    def __init__(self, code: RegistryCode, message: str) -> None:
        super().__init__(code, message)
        self.code = code

    def __str__(self) -> str:
        return str(self.args[1])

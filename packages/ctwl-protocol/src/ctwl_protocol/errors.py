"""The error tree of the protocol package.

Every error carries a stable ``code`` (the status code of the specification, section 11) and a message that says what to
do next. The encoder's and the decoder's own errors derive from the same base, so one ``except CTWLError`` catches all.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "CTWLError",
    "ClockSetBack",
    "CodeReused",
    "DeviceUnavailable",
    "EntryAltered",
    "EntryBackdated",
    "EntryRemoved",
    "EntryUnknown",
    "EnvelopeMalformed",
    "FieldOutOfRange",
    "FileUnwritable",
    "KeyFileLocked",
    "KeyFileMalformed",
    "KeyIsForTests",
    "KeyUnsuitable",
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
    "RegistryError",
    "RegistryExpired",
    "RegistryForked",
    "RegistryMalformed",
    "RegistryRolledBack",
    "RegistryUnreadable",
    "RelayFull",
    "RootExpired",
    "RootMalformed",
    "RootOutOfSequence",
    "RootUseDiffers",
    "SealRefused",
    "SignatureRepeated",
    "StateMalformed",
    "ThresholdNotMet",
    "TokenOutOfRange",
    "UserMalformed",
    "first_line",
]


class CTWLError(Exception):
    """Base of every error that the CTWL packages raise on purpose."""

    code: ClassVar[str] = "error"


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


class RegistryError(CTWLError):
    """Base of the registry's errors."""

    code = "registry-error"


class RegistryUnreadable(RegistryError):
    """A file of the registry that cannot be read."""

    code = "registry-unreadable"


class EnvelopeMalformed(RegistryError):
    """Bytes that are no envelope of the type that is wanted."""

    code = "envelope-malformed"


class SignatureRepeated(RegistryError):
    """An envelope that a key signed twice."""

    code = "signature-repeated"


class ThresholdNotMet(RegistryError):
    """Too few valid signatures by the keys of a role."""

    code = "threshold-not-met"


class KeyUnsuitable(RegistryError):
    """A public key that is enrolled nowhere: low order, not canonical, or off the curve."""

    code = "key-unsuitable"


class KeyIsForTests(RegistryError):
    """A root for production that enrols a key whose secret is public."""

    code = "test-key-in-production"


class RootMalformed(RegistryError):
    """A root document that breaks the schema or a bound."""

    code = "root-malformed"


class RootOutOfSequence(RegistryError):
    """A root whose version is not the next after the trusted one's."""

    code = "root-out-of-sequence"


class RootUseDiffers(RegistryError):
    """A test root over a production one, or the other way."""

    code = "root-use-differs"


class RootExpired(RegistryError):
    """An update under a root whose time is over."""

    code = "root-expired"


class RegistryMalformed(RegistryError):
    """A registry document that breaks the schema or a bound."""

    code = "registry-malformed"


class RegistryRolledBack(RegistryError):
    """A registry that is older than the trusted one."""

    code = "registry-rolled-back"


class RegistryForked(RegistryError):
    """Two registries of one version."""

    code = "registry-forked"


class RegistryExpired(RegistryError):
    """An update to a registry whose time is over (freeze)."""

    code = "registry-expired"


class CodeReused(RegistryError):
    """Two entries of a registry for one provider code, layout number or commitment."""

    code = "code-reused"


class EntryUnknown(RegistryError):
    """An entry that the registry does not have."""

    code = "entry-unknown"


class EntryRemoved(RegistryError):
    """A registry that lacks an entry of the trusted one."""

    code = "entry-removed"


class EntryAltered(RegistryError):
    """A registry that changes what a trusted entry says, beyond what may change."""

    code = "entry-altered"


class EntryBackdated(RegistryError):
    """A registry that appends a certificate or an epoch to the past."""

    code = "entry-backdated"


class ClockSetBack(RegistryError):
    """A clock that says less than a time already seen."""

    code = "clock-set-back"


class StateMalformed(RegistryError):
    """A stored trusted state that does not hold together."""

    code = "registry-state-malformed"

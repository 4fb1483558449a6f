"""The error tree of the protocol package.

Every error carries a stable ``code`` (the status code of the specification, section 11) and a message that says what to
do next. The encoder's and the decoder's own errors derive from the same base, so one ``except CTWLError`` catches all.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "CTWLError",
    "DeviceUnavailable",
    "FieldOutOfRange",
    "FileUnwritable",
    "KeyFileLocked",
    "KeyFileMalformed",
    "NonCanonical",
    "PassphraseMissing",
    "ProfileMalformed",
    "ProfileNotPrivate",
    "ProfileUnknown",
    "ProxyDigestMismatch",
    "ProxyMalformed",
    "ProxyNotFound",
    "TokenOutOfRange",
    "UserMalformed",
]


class CTWLError(Exception):
    """Base of every error that the CTWL packages raise on purpose."""

    code: ClassVar[str] = "error"


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

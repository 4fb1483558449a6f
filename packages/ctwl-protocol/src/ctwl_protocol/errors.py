"""The error tree of the protocol package.

Every error carries a stable ``code`` (the status code of the specification, section 11) and a message that says what to
do next. The encoder's and the decoder's own errors derive from the same base, so one ``except CTWLError`` catches all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal


class CTWLError(Exception):
    """Base of every error that the CTWL packages raise on purpose.

    Attributes:
        code: the status code: the name of the class in small letters with hyphens, unless the class states another.
    """

    code: str = "error"

    def __init_subclass__(cls, **more: object) -> None:
        """Name the code after the class."""
        super().__init_subclass__(**more)
        if "code" not in vars(cls):
            cls.code = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", cls.__name__).lower()


def first_line(error: BaseException) -> str:
    """The first line of another library's error message; its type where there is no message."""
    message = str(error).strip()
    return message.splitlines()[0] if message else type(error).__name__


class PackageMissing(CTWLError):
    """A command is in a package that is not installed."""

    code = "extra-missing"


@contextmanager
def needing(package: str, missing: type[CTWLError], extra: str, what: str) -> Iterator[None]:
    """Say which extra of a package of ours to install where an import in this block fails: ``what`` needs it."""
    try:
        yield
    except ImportError as error:
        raise missing(
            f"{what} needs {error.name or error}; install it with: pip install '{package}[{extra}]'"
        ) from error


class NonCanonical(CTWLError):
    """The bytes are not the canonical encoding of a value."""


class ProfileUnknown(CTWLError):
    """The name is neither a published profile nor a readable file."""


class ProfileMalformed(CTWLError):
    """The profile document breaks the schema or a bound."""


class ProfileNotPrivate(CTWLError):
    """A private profile is needed, but anyone can write under this one."""


class ProofUncertified(CTWLError):
    """No registry that is known here certified the private profile."""


class UserMalformed(CTWLError):
    """No profile can be derived for this user id."""


class ProxyNotFound(CTWLError):
    """The proxy LM's files were not found."""

    def __init__(self, message: str, fetch: str = "") -> None:
        """Say what is missing, and the command that gets it, if there is one."""
        super().__init__(message)
        self.fetch = fetch


class ProxyDigestMismatch(CTWLError):
    """A proxy file has other bytes than the profile states."""


class ProxyMalformed(CTWLError):
    """The proxy's files do not fit the profile's architecture or tokenizer."""


class DeviceUnavailable(CTWLError):
    """This machine does not have the torch device."""


class FieldOutOfRange(CTWLError):
    """A record's field does not fit its width."""


class TokenOutOfRange(CTWLError):
    """A token id is outside the proxy's vocabulary."""


class ModelFailed(CTWLError):
    """A causal LM gave no usable logits, or did not fit on its device."""


class ModelNotFound(CTWLError):
    """A causal LM cannot be loaded."""


class ModelUnsuitable(CTWLError):
    """A model is no causal LM."""


class TokenizerUnsupported(CTWLError):
    """A model's tokenizer is missing, or its tokens cannot be turned into bytes."""


class KeyFileMalformed(CTWLError):
    """The file cannot be read, or holds no secret for this purpose."""


class KeyFileLocked(CTWLError):
    """The passphrase does not open the secret file."""


class PassphraseMissing(CTWLError):
    """A passphrase is needed, but none was given."""


class FileUnwritable(CTWLError):
    """The file cannot be written, or must not be overwritten."""


class LayoutUnknown(CTWLError):
    """This implementation does not know the layout."""


class LayoutMalformed(CTWLError):
    """The layout's fields do not fill whole codes."""


class RelayFull(CTWLError):
    """The chain of models has no room for another one."""


class SealRefused(CTWLError):
    """These keys do not open the sealed user."""


class QuestionMalformed(CTWLError):
    """The bytes are no question to a detector."""


class FormatUnknown(QuestionMalformed):
    """The question is of a form that this detector does not know."""


class QuestionTooLarge(CTWLError):
    """The question, or its text, is longer than one may be."""

    code = "input-too-large"


class AnswerMalformed(CTWLError):
    """The bytes are no answer of a detector, or contradict the question."""


RegistryCode = Literal[
    "registry-error",  # any other failure
    "registry-unreadable",  # a file of the registry that cannot be read
    "envelope-malformed",  # bytes that are no envelope, or one of another type
    "signature-repeated",  # an envelope that a key signed twice
    "threshold-not-met",  # too few valid signatures by the keys of a role
    "key-unsuitable",  # a public key that no root may list: low order, not canonical, or off the curve
    "key-in-two-roles",  # a root that lets one key sign roots and registries
    "key-without-role",  # a signature that nobody would count
    "test-key-in-production",  # a root for production that lists a key whose secret is public
    "root-malformed",  # a root document that breaks the schema or a bound
    "root-out-of-sequence",  # a root whose version is not the one after the trusted root's
    "root-use-differs",  # a test root that follows a root for production, or the reverse
    "root-expired",  # an update under a root that has expired
    "registry-malformed",  # a registry document that breaks the schema or a bound
    "registry-rolled-back",  # a registry that is older than the trusted one
    "registry-forked",  # two different registries of one version
    "registry-expired",  # an update to a registry that has expired (freeze attack)
    "code-reused",  # two entries of a registry for one provider code, layout number or commitment
    "names-alike",  # two active providers whose names look alike
    "entry-unknown",  # the registry has no such entry
    "entry-removed",  # a registry that lacks an entry of the trusted one
    "entry-altered",  # a registry that changes what a trusted entry says, beyond what may change
    "entry-backdated",  # a new certificate or epoch, or the end of a provider, dated in the past
    "clock-set-back",  # a clock that is behind a time already seen
    "registry-state-malformed",  # a stored trusted state that is damaged
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

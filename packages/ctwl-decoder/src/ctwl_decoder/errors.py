"""The decoder's errors; each derives from :class:`ctwl_protocol.CTWLError`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ctwl_protocol import CTWLError


class DecoderError(CTWLError):
    """Base of the decoder's own errors."""


# ---- the input and what is asked of it ----


class InputUnreadable(DecoderError):
    """The input file cannot be opened or read."""


class NotText(DecoderError):
    """The input is no text: not UTF-8, with lone surrogates, or with too many combining marks on one letter."""


class InputTooLarge(DecoderError):
    """The input is larger than its bound."""


class NotOpened(DecoderError):
    """The input is a container, such as a picture or an archive of another kind, whose words are not read here."""


class DocumentRefused(DecoderError):
    """A document is broken, locked, hostile, or would cost too much to open."""


class OptionOutOfRange(DecoderError, ValueError):
    """An option has a value outside its range."""


class OutputExists(DecoderError):
    """The output exists, and it was not asked to replace it."""


class ExtraMissing(DecoderError):
    """An optional package is needed and not installed."""


@contextmanager
def needing(extra: str, what: str) -> Iterator[None]:
    """Say which extra to install where an import in this block fails: ``what`` needs it."""
    try:
        yield
    except ImportError as error:
        told = f"{what} needs {error.name or error}; install it with: pip install 'ctwl-decoder[{extra}]'"
        raise ExtraMissing(told) from error


# ---- scan ----


class RecordMalformed(DecoderError):
    """A record of a corpus cannot be parsed."""


class TextMissing(DecoderError):
    """A record of a corpus has no text where one was expected."""


class ScanSettingsDiffer(DecoderError):
    """A scan was begun with other inputs, options or arithmetic, so it cannot go on with these."""


class ScanRunning(DecoderError):
    """Another process works on the same output."""


class ClusterFailed(DecoderError):
    """The Ray cluster cannot be reached, or has given up."""


# ---- serve ----


class CannotServe(DecoderError):
    """The service cannot start here."""


class UnsupportedType(DecoderError):
    """A request's body has a media type that its endpoint does not read."""


class ManifestsMalformed(DecoderError):
    """The file is no map from codes to C2PA manifests."""


class ManifestsUnavailable(DecoderError):
    """The provider's own Soft Binding Resolution API does not answer, or not in its form."""


class ServiceError(DecoderError):
    """Base of the reasons for which the service refuses a request that may be valid."""


class ServiceBusy(ServiceError):
    """The service works on as many requests as it takes, and as many wait."""

    code = "busy"


class TooManyAtOnce(ServiceError):
    """One client address has as many open requests as it may."""


class TimedOut(ServiceError):
    """A request took longer than the service allows."""


class BodyTooSlow(TimedOut):
    """A request's body did not arrive in time."""


class HostUnknown(ServiceError):
    """A request names another host than this machine, which alone the service is for."""


class ForeignOrigin(ServiceError):
    """A page of somebody else has a browser ask the service for something."""


class ServiceClosing(ServiceError):
    """The service is shutting down."""

    code = "closing"


class RequestCancelled(ServiceError):
    """The client no longer waits for this work."""

    code = "cancelled"


# ---- ask ----


class NoDetector(DecoderError):
    """The registry names no detector to ask, or not that of a provider."""


class NoConsent(DecoderError):
    """Nobody agreed that the text is sent."""


class AddressRefused(DecoderError):
    """A detector's address is no public one."""


class NoAnswer(DecoderError):
    """A detector does not answer, or not within the bounds."""


# ---- a detector as a service ----


class DetectorMalformed(DecoderError):
    """The file describes no detector."""


class DetectorFailed(DecoderError):
    """The provider's own command fails."""


class TokenRefused(DecoderError):
    """A question without a bearer token that this detector knows."""


class ProviderUnknown(DecoderError):
    """A question about a provider whose detector this is not."""


class KeepRefused(DecoderError):
    """The detector keeps texts longer than the question allows."""


class RateExceeded(DecoderError):
    """One asker asks too often.

    Attributes:
        after: seconds until the asker may ask again.
    """

    def __init__(self, message: str, after: int) -> None:
        super().__init__(message, after)
        self.after = after

    def __str__(self) -> str:
        return str(self.args[0])


# ---- prove and verify ----


class ProofMalformed(DecoderError):
    """The bytes are not a proof."""


class ProofRefused(DecoderError):
    """Base of the reasons for which a proof is refused."""


class ProofLate(ProofRefused):
    """The proof's profile was certified when the text was known already."""


class ProofTextDiffers(ProofRefused):
    """The proof is of another text than the one in question."""


class ProofUnfounded(ProofRefused):
    """The text does not carry the proof's code clearly enough."""

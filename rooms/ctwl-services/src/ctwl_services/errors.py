"""The errors of the services and of asking a detector; each derives from :class:`ctwl_decoder.DecoderError`."""

from __future__ import annotations

from ctwl_decoder import DecoderError


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


class NoDetector(DecoderError):
    """The registry names no detector to ask, or not that of a provider."""


class NoConsent(DecoderError):
    """Nobody agreed that the text is sent."""


class AddressRefused(DecoderError):
    """A detector's address is no public one."""


class NoAnswer(DecoderError):
    """A detector does not answer, or not within the bounds."""


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
        super().__init__(message)
        self.after = after

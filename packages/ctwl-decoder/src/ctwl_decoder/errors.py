"""The decoder's errors; each derives from :class:`ctwl_protocol.CTWLError`."""

from __future__ import annotations

from ctwl_protocol import CTWLError

__all__ = [
    "BodyTooSlow",
    "CannotServe",
    "ClusterFailed",
    "DecoderError",
    "ExtraMissing",
    "InputTooLarge",
    "InputUnreadable",
    "NotText",
    "OptionOutOfRange",
    "OutputExists",
    "ProofLate",
    "ProofMalformed",
    "ProofRefused",
    "ProofTextDiffers",
    "ProofUncertified",
    "ProofUnfounded",
    "RecordMalformed",
    "RequestCancelled",
    "ScanRunning",
    "ScanSettingsDiffer",
    "ServiceBusy",
    "ServiceClosing",
    "ServiceError",
    "TextMissing",
    "TimedOut",
    "TooManyAtOnce",
    "UnsupportedType",
]


class DecoderError(CTWLError):
    """Base of the decoder's own errors."""

    code = "decoder-error"


class InputUnreadable(DecoderError):
    """The input file cannot be opened or read."""

    code = "input-unreadable"


class NotText(DecoderError):
    """The input is not UTF-8 text."""

    code = "not-text"


class InputTooLarge(DecoderError):
    """The input exceeds the bound on its size."""

    code = "input-too-large"


class OptionOutOfRange(DecoderError, ValueError):
    """An option has a value outside its range."""

    code = "option-out-of-range"


class RecordMalformed(DecoderError):
    """A record of a corpus that cannot be parsed."""

    code = "record-malformed"


class TextMissing(DecoderError):
    """A record of a corpus without a text where one was expected."""

    code = "text-missing"


class ScanSettingsDiffer(DecoderError):
    """A scan that was begun with other inputs or options cannot go on with these."""

    code = "scan-settings-differ"


class OutputExists(DecoderError):
    """The output is there already, and nobody said that it may be replaced."""

    code = "output-exists"


class ExtraMissing(DecoderError):
    """What was asked for needs an optional package that is not installed."""

    code = "extra-missing"


class ClusterFailed(DecoderError):
    """The Ray cluster cannot be reached, or gave the work up."""

    code = "cluster-failed"


class ServiceError(DecoderError):
    """Base class of refusals by ``ctwl-decode serve`` of requests that may be fine in themselves."""

    code = "service-error"


class ServiceBusy(ServiceError):
    """As many requests as the service takes are being worked on or waiting."""

    code = "busy"


class TooManyAtOnce(ServiceError):
    """One client address has as many requests under way as it may."""

    code = "too-many-at-once"


class TimedOut(ServiceError):
    """A request took longer than the service allows."""

    code = "timed-out"


class BodyTooSlow(TimedOut):
    """A request's body did not arrive in time."""

    code = "body-too-slow"


class ServiceClosing(ServiceError):
    """The service is shutting down."""

    code = "closing"


class RequestCancelled(ServiceError):
    """Nobody waits for this work any more."""

    code = "cancelled"


class CannotServe(DecoderError):
    """``ctwl-decode serve`` cannot start here."""

    code = "cannot-serve"


class ScanRunning(DecoderError):
    """Another process is at work on the same output."""

    code = "scan-running"


class UnsupportedType(DecoderError):
    """A request's body is of a media type that its endpoint does not read."""

    code = "unsupported-type"


class ProofMalformed(DecoderError):
    """Bytes that are no proof."""

    code = "proof-malformed"


class ProofRefused(DecoderError):
    """Base of what a proof is refused for."""

    code = "proof-refused"


class ProofUncertified(ProofRefused):
    """A proof under a profile that nobody had certified."""

    code = "proof-uncertified"


class ProofLate(ProofRefused):
    """A proof under a profile that was certified when the text was known already."""

    code = "proof-late"


class ProofTextDiffers(ProofRefused):
    """A proof of another text than the one in question."""

    code = "proof-text-differs"


class ProofUnfounded(ProofRefused):
    """A proof of a code that the text does not carry clearly enough."""

    code = "proof-unfounded"

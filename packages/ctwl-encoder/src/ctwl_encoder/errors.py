"""The encoder's errors; each derives from :class:`ctwl_protocol.CTWLError`."""

from __future__ import annotations

from functools import partial

from ctwl_protocol import CTWLError, errors


class EncoderError(CTWLError):
    """Base of the encoder's own errors."""


class ExtraMissing(EncoderError):
    """An optional package is needed and not installed."""


needing = partial(errors.needing, "ctwl-encoder", ExtraMissing)
"""Takes the extra, and what needs it; see :func:`ctwl_protocol.errors.needing`."""


class OptionOutOfRange(EncoderError):
    """A generation option outside its range, or an input that cannot be used."""


class ConfigMalformed(OptionOutOfRange):
    """A watermarking config that cannot be read, or a field of it of another type or outside its bounds."""


class NotLeftToClients(EncoderError):
    """A request to a server asks for what its operator has not left to clients."""


class WeakMark(UserWarning):
    """A reader may not find a text's code."""


class ShortText(WeakMark):
    """A text may turn out too short for a reader to find its code."""


class FaintText(WeakMark):
    """A text came out so short or so predictable that a reader will hardly find its code."""


class StrategyUnsuitable(EncoderError):
    """A strategy that cannot work with the profile or the way of decoding."""


class SamplingUnknown(StrategyUnsuitable):
    """No strategy is named, and it is not known how tokens are chosen, from which one would follow."""

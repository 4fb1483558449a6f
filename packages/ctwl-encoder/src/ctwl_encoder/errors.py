"""The encoder's errors; each derives from :class:`ctwl_protocol.CTWLError`."""

from __future__ import annotations

from ctwl_protocol import CTWLError

__all__ = [
    "EncoderError",
    "ModelFailed",
    "ModelNotFound",
    "OptionOutOfRange",
    "StrategyUnsuitable",
    "TokenizerMismatch",
]


class EncoderError(CTWLError):
    """Base of the encoder's own errors."""

    code = "encoder-error"


class ModelFailed(EncoderError):
    """The provider's model gave no usable logits, or did not fit on its device."""

    code = "model-failed"


class ModelNotFound(EncoderError):
    """The provider's model cannot be loaded."""

    code = "model-not-found"


class OptionOutOfRange(EncoderError):
    """A generation option outside its range, or an input that cannot be used."""

    code = "option-out-of-range"


class StrategyUnsuitable(EncoderError):
    """A strategy that cannot work with the profile or the way of decoding."""

    code = "strategy-unsuitable"


class TokenizerMismatch(EncoderError):
    """The provider's model has another vocabulary than the proxy."""

    code = "tokenizer-mismatch"

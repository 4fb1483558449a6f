"""The decoder's errors; each derives from :class:`ctwl_protocol.CTWLError`."""

from __future__ import annotations

from ctwl_protocol import CTWLError

__all__ = ["DecoderError", "InputTooLarge", "InputUnreadable", "NotText"]


class DecoderError(CTWLError):
    """Base of the decoder's own errors."""

    code = "decoder-error"


class InputUnreadable(DecoderError):
    """The input file cannot be opened or read."""

    code = "input-unreadable"


class NotText(DecoderError):
    """The input is no UTF-8 text."""

    code = "not-text"


class InputTooLarge(DecoderError):
    """The input exceeds the bound on its size."""

    code = "input-too-large"

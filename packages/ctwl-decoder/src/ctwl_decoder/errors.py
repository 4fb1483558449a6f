"""The decoder's errors; each derives from :class:`ctwl_protocol.CTWLError`."""

from __future__ import annotations

from functools import partial

from ctwl_protocol import CTWLError, errors


class DecoderError(CTWLError):
    """Base of the decoder's own errors."""


class InputUnreadable(DecoderError):
    """The input file cannot be opened or read."""


class InputRefused(DecoderError):
    """Base of what is wrong with a text, a file or an option that was given: another one is needed."""


class TextRefused(InputRefused):
    """Base of what is wrong with one text: among several, the others are read."""


class NotText(TextRefused):
    """The input is no text: not UTF-8, with lone surrogates, or with too many combining marks on one letter."""


class InputTooLarge(TextRefused):
    """The input is larger than its bound."""


class NotOpened(InputRefused):
    """The input is a container, such as a picture or an archive of another kind, whose words are not read here."""


class DocumentRefused(InputRefused):
    """A document is broken, locked, hostile, or would cost too much to open."""


class OptionOutOfRange(InputRefused, ValueError):
    """An option has a value outside its range."""


class OutputExists(DecoderError):
    """The output exists, and it was not asked to replace it."""


class ExtraMissing(DecoderError):
    """An optional package is needed and not installed."""


needing = partial(errors.needing, "ctwl-decoder", ExtraMissing)
"""Takes the extra, and what needs it; see :func:`ctwl_protocol.errors.needing`."""

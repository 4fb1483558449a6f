"""The decoder's errors; each derives from :class:`ctwl_protocol.CTWLError`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ctwl_protocol import CTWLError


class DecoderError(CTWLError):
    """Base of the decoder's own errors."""


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

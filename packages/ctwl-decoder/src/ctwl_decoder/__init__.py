"""CTWL decoder: what the public installs."""

from typing import TYPE_CHECKING, Any

from ctwl_protocol import __version__ as __version__

from .errors import DecoderError
from .report.model import Report, Span
from .report.wording import describe

if TYPE_CHECKING:
    from .decoder import Decoder
    from .profiles import Decoders, decode

__all__ = ["Decoder", "DecoderError", "Decoders", "Report", "Span", "decode", "describe"]


def __getattr__(name: str) -> Any:
    """Load the decoder when it is asked for: what reads no text starts sooner without it."""
    if name in ("Decoder", "Decoders", "decode"):
        from . import profiles

        return getattr(profiles, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

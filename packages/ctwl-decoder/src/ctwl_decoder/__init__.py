"""CTWL decoder: what the public installs."""

from typing import TYPE_CHECKING, Any

from ctwl_protocol import __version__ as __version__

from .errors import DecoderError
from .report import Report, describe
from .report.model import Span

if TYPE_CHECKING:
    from .decoder import Decoder, Search
    from .profiles import Decoders, decode, open_proxies, paying
    from .reading import Reading, Screened

__all__ = [
    "Decoder",
    "DecoderError",
    "Decoders",
    "Reading",
    "Report",
    "Screened",
    "Search",
    "Span",
    "decode",
    "describe",
    "open_proxies",
    "paying",
]

_HOMES = {
    ".decoder": ("Decoder", "Search"),
    ".profiles": ("Decoders", "decode", "open_proxies", "paying"),
    ".reading": ("Reading", "Screened"),
}


def __getattr__(name: str) -> Any:
    """Load the decoder when it is asked for: what reads no text starts sooner without it."""
    from importlib import import_module

    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(module, __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

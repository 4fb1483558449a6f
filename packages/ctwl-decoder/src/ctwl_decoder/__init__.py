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
    "Decoder": ".decoder",
    "Decoders": ".profiles",
    "Reading": ".reading",
    "Screened": ".reading",
    "Search": ".decoder",
    "decode": ".profiles",
    "open_proxies": ".profiles",
    "paying": ".profiles",
}


def __getattr__(name: str) -> Any:
    """Load the decoder when it is asked for: what reads no text starts sooner without it."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

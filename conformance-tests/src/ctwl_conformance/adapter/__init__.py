"""Adapters: how the suite talks to an implementation that it knows nothing of (``ADAPTERS.md``)."""

from .driver import Adapter, AdapterErrored, Limits
from .messages import (
    PROTOCOL,
    Decode,
    Decoded,
    Encode,
    Encoded,
    Refused,
    Skipped,
    Span,
    Started,
    TrustedState,
    VectorRequest,
    Verified,
    VerifyRegistry,
    Weigh,
    Weighed,
)
from .serving import Implementation, NotDone, serve

__all__ = [
    "PROTOCOL",
    "Adapter",
    "AdapterErrored",
    "Decode",
    "Decoded",
    "Encode",
    "Encoded",
    "Implementation",
    "Limits",
    "NotDone",
    "Refused",
    "Skipped",
    "Span",
    "Started",
    "TrustedState",
    "VectorRequest",
    "Verified",
    "VerifyRegistry",
    "Weigh",
    "Weighed",
    "serve",
]

"""Adapters: how the suite talks to an implementation that it knows nothing of (``ADAPTERS.md``)."""

from .driver import Adapter, AdapterErrored, Limits
from .messages import Ask, Decode, Decoded, Encode, Encoded, Heard, Span, Started
from .serving import Implementation, NotDone, serve

__all__ = [
    "Adapter", "AdapterErrored", "Ask", "Decode", "Decoded", "Encode", "Encoded", "Heard", "Implementation", "Limits",
    "NotDone", "Span", "Started", "serve",
]  # fmt: skip

"""CTWL encoder: what providers install."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ctwl_protocol import __version__ as __version__

from .core.strategies import Strategy
from .errors import EncoderError

if TYPE_CHECKING:
    from ctwl_protocol.bridge import Bridge

    from .core.device.marker import DeviceMarker
    from .core.device.step import to_device, to_host
    from .core.expected_evidence import Evidence, warn_of_short_text
    from .core.host import host_marker
    from .core.marker import FIRST_TOKENS, Marker
    from .core.payload import Payload
    from .core.strategies.race.shares import share_for
    from .core.text_so_far import PROMPT_TOKENS
    from .encoder import Encoder, Generation
    from .integrations.transformers import CTWLLogitsProcessor, CTWLWatermarkingConfig
    from .models import has_chat_template, open_bridge
    from .nonces import nonces_for

__all__ = [
    "FIRST_TOKENS", "PROMPT_TOKENS", "Bridge", "CTWLLogitsProcessor", "CTWLWatermarkingConfig", "DeviceMarker",
    "Encoder", "EncoderError", "Evidence", "Generation", "Marker", "Payload", "Strategy", "has_chat_template",
    "host_marker", "nonces_for", "open_bridge", "share_for", "to_device", "to_host", "warn_of_short_text",
]  # fmt: skip

_HOMES = {
    "ctwl_protocol.bridge": ["Bridge"],
    ".core.device.marker": ["DeviceMarker"],
    ".core.device.step": ["to_device", "to_host"],
    ".core.expected_evidence": ["Evidence", "warn_of_short_text"],
    ".core.host": ["host_marker"],
    ".core.marker": ["FIRST_TOKENS", "Marker"],
    ".core.payload": ["Payload"],
    ".core.strategies.race.shares": ["share_for"],
    ".core.text_so_far": ["PROMPT_TOKENS"],
    ".encoder": ["Encoder", "Generation"],
    ".integrations.transformers": ["CTWLLogitsProcessor", "CTWLWatermarkingConfig"],
    ".models": ["has_chat_template", "open_bridge"],
    ".nonces": ["nonces_for"],
}
"""The imports above, line by line."""


def __getattr__(name: str) -> Any:
    """Load what needs torch when it is asked for: that takes seconds."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home, __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

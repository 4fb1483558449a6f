"""CTWL encoder: what providers install."""

from typing import TYPE_CHECKING, Any

from ctwl_protocol import __version__ as __version__

from .core.strategies import Strategy
from .errors import EncoderError

if TYPE_CHECKING:
    from ctwl_protocol.bridge import Bridge

    from .core.expected_evidence import Evidence
    from .core.payload import Payload
    from .encoder import Encoder, Generation
    from .integrations.log import FIRST_TOKENS
    from .integrations.transformers import CTWLLogitsProcessor, CTWLWatermarkingConfig
    from .models import has_chat_template
    from .nonces import nonces_for

__all__ = [
    "FIRST_TOKENS", "Bridge", "CTWLLogitsProcessor", "CTWLWatermarkingConfig", "Encoder", "EncoderError",
    "Evidence", "Generation", "Payload", "Strategy", "has_chat_template", "nonces_for",
]  # fmt: skip

_HOMES = {
    "Bridge": "ctwl_protocol.bridge",
    "CTWLLogitsProcessor": ".integrations.transformers",
    "CTWLWatermarkingConfig": ".integrations.transformers",
    "Encoder": ".encoder",
    "Evidence": ".core.expected_evidence",
    "FIRST_TOKENS": ".integrations.log",
    "Generation": ".encoder",
    "Payload": ".core.payload",
    "has_chat_template": ".models",
    "nonces_for": ".nonces",
}


def __getattr__(name: str) -> Any:
    """Load what needs torch when it is asked for: that takes seconds."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""CTWL encoder: what providers install."""

from typing import TYPE_CHECKING, Any

from ctwl_protocol import __version__ as __version__

from .core.strategies import Strategy
from .errors import EncoderError

if TYPE_CHECKING:
    from ctwl_protocol.bridge import Bridge

    from .encoder import Encoder, Generation
    from .integrations.transformers import CTWLLogitsProcessor, CTWLWatermarkingConfig

__all__ = [
    "Bridge", "CTWLLogitsProcessor", "CTWLWatermarkingConfig", "Encoder", "EncoderError", "Generation", "Strategy",
]  # fmt: skip

_HOMES = {
    "Bridge": "ctwl_protocol.bridge",
    "CTWLLogitsProcessor": ".integrations.transformers",
    "CTWLWatermarkingConfig": ".integrations.transformers",
    "Encoder": ".encoder",
    "Generation": ".encoder",
}


def __getattr__(name: str) -> Any:
    """Load what needs torch when it is asked for: that takes seconds."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""CTWL encoder: what providers install."""

from .bridge import Bridge
from .encoder import Encoder, Generation
from .errors import EncoderError
from .huggingface import CTWLLogitsProcessor, CTWLWatermarkingConfig
from .strategies import Strategy

__all__ = [
    "Bridge",
    "CTWLLogitsProcessor",
    "CTWLWatermarkingConfig",
    "Encoder",
    "EncoderError",
    "Generation",
    "Strategy",
]

__version__ = "0.1.0"

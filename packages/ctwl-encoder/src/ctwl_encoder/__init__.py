"""CTWL encoder: what providers install."""

from .encoder import Encoder, Generation
from .errors import EncoderError
from .processor import CTWLLogitsProcessor
from .strategies import Strategy

__all__ = ["CTWLLogitsProcessor", "Encoder", "EncoderError", "Generation", "Strategy"]

__version__ = "0.1.0"

"""CTWL decoder: what the public installs."""

from .decode import Decoder, decode
from .errors import DecoderError
from .report import Report

__all__ = ["Decoder", "DecoderError", "Report", "decode"]

__version__ = "0.1.0"

"""CTWL conformance: vectors for the exact parts of the protocol, and a check of an implementation against them."""

from ctwl_protocol import __version__ as __version__

from .errors import VectorsAltered
from .vectors import FAMILIES, Vector, check, load

__all__ = ["FAMILIES", "Vector", "VectorsAltered", "check", "load"]

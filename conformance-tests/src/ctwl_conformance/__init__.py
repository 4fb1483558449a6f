"""CTWL conformance: vectors for the exact parts of the protocol, and a check of an implementation against them."""

from ctwl_protocol import __version__ as __version__

from .vectors import FAMILIES, Vector, VectorsAltered, check, load

__all__ = ["FAMILIES", "Vector", "VectorsAltered", "check", "load"]

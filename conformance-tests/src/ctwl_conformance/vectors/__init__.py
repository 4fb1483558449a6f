"""The vectors: the files, and the answers of the reference."""

from .files import FAMILIES, Vector, load, load_numeric
from .manifest import VectorsAltered
from .reference import check

__all__ = ["FAMILIES", "Vector", "VectorsAltered", "check", "load", "load_numeric"]

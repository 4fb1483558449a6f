"""The vectors: the files, the answers of the reference, and the sections of the specification that they test."""

from .files import FAMILIES, Vector, load, load_numeric
from .manifest import VectorsAltered
from .reference import check

__all__ = ["FAMILIES", "Vector", "VectorsAltered", "check", "load", "load_numeric"]

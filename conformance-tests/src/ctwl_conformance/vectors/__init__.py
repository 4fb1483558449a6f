"""The vectors: files that anyone can read, what the reference answers, and which sections they hold anyone to."""

from .files import FAMILIES, Vector, load, load_numeric
from .manifest import VectorsAltered
from .reference import check

__all__ = ["FAMILIES", "Vector", "VectorsAltered", "check", "load", "load_numeric"]

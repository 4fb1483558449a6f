"""The families of exact vectors (spec section 14): a name and the reference's answer, a pure function of the input.

The vectors themselves are data: each family's file holds its section, what is asked, and the inputs.
"""

from . import asking, decoding, documents, partition, records, registry, secrets, statistics, text  # noqa: F401 - add theirs
from .agreement import agree
from .family import FAMILIES, Family

__all__ = ["FAMILIES", "Family", "agree"]

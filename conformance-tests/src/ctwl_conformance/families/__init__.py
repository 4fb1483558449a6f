"""The families of exact vectors (spec section 14): a name and the reference's answer, a pure function of the input.

The vectors themselves are data: each family's file holds its section, what is asked, and the inputs.
"""

from . import decoding, documents, partition, records, registry, secrets, statistics, text
from .agreement import agree
from .family import Answer, Family

__all__ = ["ANSWERS", "FAMILIES", "Answer", "Family", "agree"]

_AREAS = (documents, secrets, text, partition, records, registry, statistics, decoding)

FAMILIES: dict[str, Family] = {family.name: family for area in _AREAS for family in area.FAMILIES}
"""The families by name."""

ANSWERS: dict[str, Answer] = {name: family.answer for name, family in FAMILIES.items()}
"""The reference's answers by family; one that needs a package which is missing raises ``ImportError``."""

"""The families of exact vectors (spec section 14): what each asks, and the reference's answer.

A family is data, the inputs, and a pure function from an input to an answer, both JSON; each has a schema. To add one,
add it to the module of its area.
"""

from . import (
    codes,
    decoding,
    encoding,
    evidence,
    hashing,
    partition,
    private,
    profiles,
    registry,
    statistics,
    text,
    updates,
)
from .family import Answer, Family, Schema, agree

__all__ = ["ANSWERS", "FAMILIES", "Answer", "Family", "Schema", "agree"]

_AREAS = (
    encoding,
    profiles,
    private,
    text,
    hashing,
    partition,
    codes,
    registry,
    updates,
    evidence,
    statistics,
    decoding,
)

FAMILIES: dict[str, Family] = {family.name: family for area in _AREAS for family in area.FAMILIES}
"""The families by name."""

ANSWERS: dict[str, Answer] = {name: family.answer for name, family in FAMILIES.items()}
"""The reference's answers by family; one that takes a package which is missing raises ``ImportError``."""

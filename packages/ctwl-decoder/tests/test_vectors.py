"""The vectors of the decoder's parts, which take no time. What a vector shows, no other test here shows again."""

import pytest

from ctwl_conformance import check
from ctwl_conformance.families import FAMILIES

SLOW = ("decode", "read-one-code", "units")
"""Beginnings of the names of families that take seconds."""

QUICK = [name for name, family in FAMILIES.items() if family.needs == "ctwl_decoder" and not name.startswith(SLOW)]


@pytest.mark.parametrize("family", QUICK)
def test_the_reference_answers_as_the_vectors_say(family: str) -> None:
    assert [(vector.id, answer) for vector, answer in check([family])] == []

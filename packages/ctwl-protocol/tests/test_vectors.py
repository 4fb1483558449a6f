"""The vectors that ask the protocol quick questions. What a vector shows, no other test here shows again."""

import pytest

from ctwl_conformance import check
from ctwl_conformance.families import FAMILIES

SLOW = {"locked-keys", "locked-profile", "secret-file"}
"""Families of secret files take seconds."""

QUICK = [name for name, family in FAMILIES.items() if family.needs in (None, "tokenizers") and name not in SLOW]


@pytest.mark.parametrize("family", QUICK)
def test_the_reference_answers_as_the_vectors_say(family: str) -> None:
    assert [(vector.id, answer) for vector, answer in check([family])] == []

"""The vectors that ask the protocol quick questions. What a vector shows, no other test here shows again."""

import pytest

from ctwl_conformance import check

FAMILIES = [
    "beacon", "beacon-fields", "blocks", "canonical", "commitment", "epochs", "envelope", "layout", "members",
    "mixing", "normalization", "permutation", "personal-profile", "positions", "pre-authentication", "profile",
    "profile-document", "public-key", "record", "registry", "registry-key", "registry-update", "relay", "rivals",
    "root", "sealing", "slot", "tensors", "tokenizer", "tokenizer-files", "toy-tokenizer", "toy-weights", "weights",
]  # fmt: skip
"""Of the protocol's families, all but those of secret files and of units, which take seconds."""


@pytest.mark.parametrize("family", FAMILIES)
def test_the_reference_answers_as_the_vectors_say(family: str) -> None:
    assert [(vector.id, answer) for vector, answer in check([family])] == []

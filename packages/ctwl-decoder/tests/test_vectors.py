"""The vectors of the decoder's parts, which take no time. What a vector shows, no other test here shows again."""

import pytest

from ctwl_conformance import check

FAMILIES = [
    "counted-positions", "e-value", "light-units", "null", "randomised", "record-doubts", "scores", "tests",
    "window-scores", "windows",
]  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_the_reference_answers_as_the_vectors_say(family: str) -> None:
    assert [(vector.id, answer) for vector, answer in check([family])] == []

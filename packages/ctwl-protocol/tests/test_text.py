"""Normalization and beacons: what holds for all texts and numbers. The vectors have the cases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctwl_protocol import Beacon
from ctwl_protocol.text.normalization import normalize


@given(st.text(max_size=200))
def test_normalisation_is_idempotent(text: str) -> None:
    assert normalize(normalize(text)) == normalize(text)


@pytest.mark.slow
def test_normalisation_is_idempotent_on_every_character_and_pair_with_an_accent() -> None:
    """In the planes that have any: the others are unassigned or for private use."""
    for point in (*range(0xD800), *range(0xE000, 0x40000), *range(0xE0000, 0xF0000)):
        for text in (f"a{chr(point)}b", f"a{chr(point)}\u0301", f"e\u200b{chr(point)}"):
            once = normalize(text)
            assert normalize(once) == once, hex(point)


def test_fresh_beacons_spread_over_the_nonces() -> None:
    assert len({Beacon.fresh(1, 1).nonce for _ in range(400)}) > 32

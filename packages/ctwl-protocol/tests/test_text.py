"""Normalization, windows and codes."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctwl_protocol import Beacon
from ctwl_protocol.errors import FieldOutOfRange
from ctwl_protocol.text.normalization import normalize
from ctwl_protocol.text.positions import positions


@given(st.text(max_size=200))
def test_normalisation_is_idempotent(text: str) -> None:
    assert normalize(normalize(text)) == normalize(text)


@pytest.mark.slow
def test_normalisation_is_idempotent_on_every_character_and_pair_with_an_accent() -> None:
    for point in range(0x110000):
        if not 0xD800 <= point < 0xE000:
            for text in (f"a{chr(point)}b", f"a{chr(point)}\u0301", f"e\u200b{chr(point)}"):
                once = normalize(text)
                assert normalize(once) == once, hex(point)


@pytest.mark.parametrize(
    ("pasted", "text"),
    [
        ("\u201cIt\u2019s\u201d", '"It\'s"'),
        ("wait\u2026", "wait..."),
        ("a\u00a0b\u2009c", "a b c"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("soft\u00adhyphen", "softhyphen"),
        ("cafe\u0301", "caf\u00e9"),
        ("e\u200b\u0301", "\u00e9"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("  text\n\n", "text"),
    ],
)
def test_what_pasting_does_is_undone(pasted: str, text: str) -> None:
    assert normalize(pasted) == text


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=80))
def test_plain_text_is_left_alone(text: str) -> None:
    assert normalize(text) == text


@given(st.lists(st.integers(0, 99), max_size=40), st.integers(1, 12), st.data())
def test_positions_are_windows_contexts_and_the_token_after(ids: list[int], length: int, data: st.DataObject) -> None:
    h = data.draw(st.integers(1, length))
    cut = positions(np.array(ids, dtype=np.int64), length, h)
    assert len(cut) == max(0, len(ids) - length)
    for i in range(len(cut)):
        assert cut.prefixes[i].tolist() == ids[i : i + length]
        assert cut.contexts[i].tolist() == ids[i + length - h : i + length]
        assert cut.observed[i] == ids[i + length]


@given(st.integers(0, 2**20 - 1))
def test_every_code_is_a_beacon_and_back(code: int) -> None:
    assert Beacon.from_code(code).code == code


def test_a_beacons_fields_stand_most_significant_first() -> None:
    assert Beacon(provider=1, version=2, nonce=3).code == 1 << 10 | 2 << 6 | 3


@pytest.mark.parametrize(
    "fields", [(1024, 0, 0), (-1, 0, 0), (0, 16, 0), (0, 0, 64), ("1", 0, 0), (True, 0, 0), (1.0, 0, 0)]
)
def test_a_field_out_of_range_is_refused_with_its_range(fields: tuple[int, int, int]) -> None:
    with pytest.raises(FieldOutOfRange, match="from 0 to"):
        Beacon(*fields)


@pytest.mark.parametrize("code", [-1, 2**20])
def test_a_code_out_of_range_is_refused(code: int) -> None:
    with pytest.raises(FieldOutOfRange):
        Beacon.from_code(code)


def test_fresh_beacons_spread_over_the_nonces() -> None:
    assert len({Beacon.fresh(1, 1).nonce for _ in range(400)}) > 32


def test_normalisation_follows_nfc() -> None:
    assert unicodedata.is_normalized("NFC", normalize("A\u030a \u1100\u1161"))

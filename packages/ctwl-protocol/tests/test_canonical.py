"""Canonical MessagePack: one value, one byte string; everything else refused."""

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctwl_protocol import canonical
from ctwl_protocol.errors import NonCanonical

leaves = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=40) | st.binary(max_size=40)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=20,
)


@given(values)
def test_a_value_survives_and_its_encoding_is_the_only_one(value: object) -> None:
    data = canonical.encode(value)
    assert canonical.decode(data) == value
    assert canonical.encode(canonical.decode(data)) == data


@given(st.dictionaries(st.text(max_size=5), st.integers(0, 9), min_size=2))
def test_the_order_of_insertion_leaves_no_trace(value: dict[str, int]) -> None:
    assert canonical.encode(value) == canonical.encode(dict(reversed(value.items())))


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_decoded_exactly_or_refused(data: bytes) -> None:
    try:
        value = canonical.decode(data)
    except NonCanonical:
        return
    assert canonical.encode(value) == data


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\x82\xa1b\x01\xa1a\x02", id="keys out of order"),
        pytest.param(b"\x82\xa1a\x01\xa1a\x02", id="duplicate key"),
        pytest.param(b"\xcc\x05", id="overlong integer"),
        pytest.param(b"\xd9\x01a", id="overlong string"),
        pytest.param(b"\xdc\x00\x01\x05", id="overlong array"),
        pytest.param(b"\x05\x05", id="trailing byte"),
        pytest.param(b"\xcb" + bytes(8), id="float"),
        pytest.param(b"\xc7\x01\x05a", id="extension"),
        pytest.param(b"\x81\x01\x02", id="integer key"),
        pytest.param(b"\xa1\xff", id="string that is no UTF-8"),
        pytest.param(b"\x92\x01", id="truncated"),
        pytest.param(b"\x91" * 20 + b"\x01", id="too deep"),
        pytest.param(b"\x91" * 8 + b"\x90", id="nine arrays"),
        pytest.param(b"\xdd\xff\xff\xff\xff", id="array that claims four billion items"),
        pytest.param(b"\xc6\xff\xff\xff\xff", id="bytes that claim four gigabytes"),
        pytest.param(bytes(canonical.MAX_BYTES + 1), id="too long"),
        pytest.param(b"", id="empty"),
    ],
)
def test_attacks_are_refused(data: bytes) -> None:
    with pytest.raises(NonCanonical):
        canonical.decode(data)


@pytest.mark.parametrize("value", [1.5, 2**64, {1: 2}, {"a": {3}}, "\ud800", {"\ud800": 1}, object()])
def test_values_outside_the_subset_are_refused(value: object) -> None:
    with pytest.raises(NonCanonical):
        canonical.encode(value)


def test_it_is_plain_messagepack_to_any_other_reader() -> None:
    assert msgpack.unpackb(canonical.encode({"a": [1, b"x", None]})) == {"a": [1, b"x", None]}

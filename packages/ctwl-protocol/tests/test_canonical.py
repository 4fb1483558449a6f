"""Canonical MessagePack: one value, one byte string; everything else refused."""

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


@pytest.mark.parametrize("data", [b"\xc6\xff\xff\xff\xff", b"\x91" * 100_000, bytes(canonical.MAX_BYTES + 1)])
def test_bytes_that_would_cost_much_are_refused(data: bytes) -> None:
    """What else is no canonical encoding stands in the vectors."""
    with pytest.raises(NonCanonical):
        canonical.decode(data)


@pytest.mark.parametrize("value", [1.5, 2**64, {1: 2}, {"a": {3}}, "\ud800", {"\ud800": 1}, object()])
def test_values_outside_the_subset_are_refused(value: object) -> None:
    with pytest.raises(NonCanonical):
        canonical.encode(value)

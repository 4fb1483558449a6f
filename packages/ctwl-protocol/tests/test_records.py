"""Layouts, records and framing. The vectors have the layouts and fields that are refused, and chains that grow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctwl_protocol import Beacon
from ctwl_protocol.errors import FieldOutOfRange, LayoutUnknown
from ctwl_protocol.records.layouts import LAYOUTS, Field, Layout, find_layout
from ctwl_protocol.records.record import Record, RecordDocument

NAMES = [layout.name for layout in LAYOUTS]
CODE = st.integers(0, 2**20 - 1)


@given(st.sampled_from(LAYOUTS), st.lists(CODE, min_size=4, max_size=4))
def test_packing_is_a_bijection(layout: Layout, codes: list[int]) -> None:
    values = layout.unpack(codes[: layout.codes])
    assert list(values) == [field.name for field in layout.fields]
    assert all(0 <= values[name] < 1 << bits for name, bits in layout.fields)
    assert layout.pack(values) == tuple(codes[: layout.codes])


@given(st.sampled_from(NAMES), st.lists(CODE, min_size=4, max_size=4))
def test_a_record_survives_json_and_begins_with_its_beacon(name: str, codes: list[int]) -> None:
    layout = find_layout(name)
    record = Record(layout, tuple(codes[: layout.codes]))
    again = RecordDocument.model_validate_json(record.document().model_dump_json()).record()
    assert again == record
    assert record.beacon == Beacon.from_code(codes[0])
    assert [hop.code for hop in record.chain] == codes[: layout.hops]
    assert layout.hops == (layout.codes if name.startswith("relay") else 1)


@pytest.mark.parametrize("tag", [1 << 20, True, None, "1", 1.0])
def test_a_field_that_does_not_fit_is_named(tag: int) -> None:
    with pytest.raises(FieldOutOfRange, match=f"tag is {tag!r}; it must be an integer from 0 to"):
        Record.of("tagged", provider=1, version=2, nonce=3, tag=tag)


def test_an_unknown_layout_is_refused_unless_it_is_given() -> None:
    own = Layout(200, "shop", (*LAYOUTS[0].fields, Field("shop", 12), Field("till", 8)))
    with pytest.raises(LayoutUnknown, match="beacon") as error:
        find_layout(201, [*LAYOUTS, own])
    assert str(error.value).count("wide (8)") == 1
    assert find_layout("shop", [own]) is own
    assert Record.of(own, provider=1, version=2, nonce=3, shop=4, till=5).codes[1] == 4 << 8 | 5


def test_only_whole_beacons_are_hops() -> None:
    high = Layout(200, "high", (*LAYOUTS[0].fields, Field("provider_high", 10), Field("rest", 10)))
    assert high.hops == 1
    assert Record(high, (5, 6)).chain == (Beacon.from_code(5),)

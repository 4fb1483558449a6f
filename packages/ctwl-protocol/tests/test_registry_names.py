"""The names of owners: which look alike, and what a name may be. Vectors have the names that are refused."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctwl_protocol import canonical
from ctwl_protocol.registry import Registry
from ctwl_protocol.registry.spelling import check_name, looks

NOW = 1_800_000_000


def certificate(number: int, owner: str) -> dict[str, Any]:
    drawn = bytes([number]) * 32
    return {"kind": "certificate", "commitment": drawn, "challenge": drawn, "owner": owner, "since": NOW}


def test_what_counts_by_an_owners_name_counts_every_spelling() -> None:
    owners = ["Mallory Ltd", "MALLORY LTD.", "Маllоry Ltd", "MaIIory-Ltd", "ma11ory, 1td", "Mallory & Sons", "Alice"]
    document = {"format": "ctwl-registry/1", "version": 1, "issued": NOW, "expires": NOW + 1}
    entries = [certificate(number, owner) for number, owner in enumerate(owners)]
    registry = Registry.from_bytes(canonical.encode(document | {"entries": entries}))
    assert [entry.owner for entry in registry.certificates_of("Mallory Ltd")] == owners[:5]
    assert all(owners[0] in [entry.owner for entry in registry.certificates_of(owner)] for owner in owners[:5])
    assert [entry.owner for entry in registry.certificates_of("Alice")] == ["Alice"]


@pytest.mark.parametrize("names", [("Fail", "Fall"), ("FAIL", "FALL"), ("नमस्ते", "नमस्ता"), ("Kafe", "Kaffee")])
def test_other_names_do_not_look_alike(names: tuple[str, str]) -> None:
    assert looks(check_name(names[0])).isdisjoint(looks(check_name(names[1])))


letters = st.text(st.sampled_from("aI1l|O0m .-éß\u0301\u0308\u3164\u200d\u2800\ufeffсоνİΣς한"), min_size=1, max_size=12)


@given(st.text(min_size=1, max_size=20) | letters)
def test_what_is_a_name_is_printable_and_has_one_form(name: str) -> None:
    try:
        check_name(name)
    except ValueError:
        return
    assert name.isprintable() and name == unicodedata.normalize("NFC", name)
    assert name == " ".join(name.split()), "one spelling of white space"
    assert not looks(name).isdisjoint(looks(name.upper()))

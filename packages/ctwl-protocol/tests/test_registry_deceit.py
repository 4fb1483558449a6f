"""The registry as a place for deceit: documents that would make people believe what is not so, each refused."""

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


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("\u3164", id="Hangul filler"),
        pytest.param("Provider\u115f", id="Hangul filler of a leading consonant"),
        pytest.param("\u2800", id="Braille without dots"),
        pytest.param("Prov\u034fider", id="grapheme joiner"),
        pytest.param("Prov\u00adider", id="soft hyphen"),
        pytest.param("Prov\u200dider", id="zero-width joiner"),
        pytest.param("Provider\ufe0f", id="variation selector"),
        pytest.param("\ufeffProvider", id="byte order mark"),
        pytest.param("Provider\U000e0041", id="tag"),
        pytest.param("Provider\ue000", id="private use"),
        pytest.param("Provider\u0378", id="unassigned"),
        pytest.param("Ｐrovider", id="full-width"),
        pytest.param("\U0001d40frovider", id="mathematical"),
        pytest.param("cafe\u0301", id="not composed"),
        pytest.param("\u0308Provider", id="leading mark"),
        pytest.param("Provider \u03084", id="mark after a space"),
        pytest.param("x" + "\u0301" * 5, id="tower of marks"),
        pytest.param("Mallory  Ltd", id="two spaces"),
        pytest.param("Mallory ", id="space at the end"),
        pytest.param("Mallory\u2009Ltd", id="thin space"),
        pytest.param("ABC \u05d0\u05d1\u05d2", id="both directions"),
        pytest.param("\u05d0\u05d1\u05d2 ABC", id="both directions, which looks like the one before"),
        pytest.param("\u05d0\u05d1 \u0967", id="a number of the other direction"),
        pytest.param("12 \u05d0\u05d1", id="a number before the other direction"),
        pytest.param("\u0662 \u0627\u0628", id="an Arabic number before letters"),
    ],
)
def test_a_name_has_one_spelling_that_can_be_seen(repository: Any, make_provider: Any, name: str) -> None:
    repository.refuse("registry-malformed", repository.next_registry(make_provider(44, name=name)))
    repository.refuse("registry-malformed", repository.next_registry(certificate(1, name)))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("Example Labs", id="the same"),
        pytest.param("Ехаmрlе Lаbѕ", id="Cyrillic letters"),
        pytest.param("Εxample Labs", id="Greek capital"),
        pytest.param("Examp1e Labs", id="digit one"),
        pytest.param("ExampIe Labs", id="capital I"),
        pytest.param("Exarnple Labs", id="r and n"),
        pytest.param("EXAMPLE LABS", id="capitals"),
        pytest.param("EXAMP1E LABS", id="capitals and a digit"),
        pytest.param("Example-Labs", id="hyphen"),
        pytest.param("ExampleLabs", id="no space"),
        pytest.param("Example, Labs.", id="punctuation"),
    ],
)
def test_no_two_active_owners_look_alike(repository: Any, make_provider: Any, name: str) -> None:
    genuine = make_provider(44, name="Example Labs")
    repository.refuse("names-alike", repository.next_registry(genuine, make_provider(45, name=name)))
    ended = {"state": "retired", "until": repository.now}
    repository.offer(repository.next_registry(genuine | ended, make_provider(45, name=name)))


@pytest.mark.parametrize(
    "contact",
    [
        "https://evil.com#@good.com/",
        "https://good.com@evil.com/",
        "https://good.com:8443/",
        "https://evil.com?good.com/",
        "https://127.0.0.1/",
        "https://localhost/",
        "mail@good.com@evil.com",
        "mail@127.0.0.1",
    ],
)
def test_a_contact_shows_its_one_host(repository: Any, make_provider: Any, contact: str) -> None:
    repository.refuse("registry-malformed", repository.next_registry(make_provider(44, contact=contact)))


@pytest.mark.parametrize("state", ["retired", "revoked"])
def test_a_thief_of_the_keys_cannot_end_a_code_in_the_past(repository: Any, make_provider: Any, state: str) -> None:
    """A revoked code is no evidence from its ``until`` on, so that day must not lie in what was already said."""
    issued = repository.registry["issued"]

    def ended(until: int) -> bytes:
        changed: bytes = repository.next_registry(
            entries=[make_provider(42, state=state, until=until), make_provider(43)]
        )
        return changed

    repository.refuse("entry-backdated", ended(issued - 1))
    repository.refuse("entry-backdated", ended(make_provider()["since"]))
    repository.offer(ended(issued))


def test_a_key_serves_one_role(repository: Any, make_role: Any) -> None:
    for name, changes in (("z", {"registry": make_role(1, "ax")}), ("x", {"root": make_role(2, "abx")})):
        repository.refuse("key-in-two-roles", repository.signed_registry(name), repository.next_root(**changes))


def test_what_counts_by_an_owners_name_counts_every_spelling() -> None:
    owners = ["Mallory Ltd", "MALLORY LTD.", "Маllоry Ltd", "MaIIory-Ltd", "ma11ory, 1td", "Mallory & Sons", "Alice"]
    document = {"format": "ctwl-registry/1", "version": 1, "issued": NOW, "expires": NOW + 1}
    entries = [certificate(number, owner) for number, owner in enumerate(owners)]
    registry = Registry.from_bytes(canonical.encode(document | {"entries": entries}))
    assert [entry.owner for entry in registry.certificates_of("Mallory Ltd")] == owners[:5]
    assert all(owners[0] in [entry.owner for entry in registry.certificates_of(owner)] for owner in owners[:5])
    assert [entry.owner for entry in registry.certificates_of("Alice")] == ["Alice"]


@pytest.mark.parametrize(
    "names",
    [
        ("Muller", "Müller"),
        ("Example 1", "Example 2"),
        ("Fail", "Fall"),
        ("FAIL", "FALL"),
        ("नमस्ते", "नमस्ता"),
        ("Kafe", "Kaffee"),
    ],
)
def test_other_names_do_not_look_alike(names: tuple[str, str]) -> None:
    assert looks(check_name(names[0])).isdisjoint(looks(check_name(names[1])))


@pytest.mark.parametrize(
    "name",
    [
        "Ελληνικά",
        "Кириллица",
        "ภาษาไทย",
        "ខ្មែរ",
        "မြန်မာ",
        "العربية",
        "עברית",
        "מכון 12 (א׳)",
        "معهد ٢",
        "中文・日本",
        "한국어",
        "Tiếng Việt",
        "O’Neill & Co. (2)",
    ],
)
def test_names_of_living_scripts_are_names(name: str) -> None:
    assert check_name(unicodedata.normalize("NFC", name))


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

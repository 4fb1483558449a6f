"""Profiles: pinned documents, refused when anything is off."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctwl_protocol import STANDARD, Profile, canonical, get_profile, load_profile, published_names
from ctwl_protocol.errors import ProfileMalformed, ProfileUnknown


@pytest.mark.parametrize("name", published_names())
def test_a_profile_survives_both_of_its_forms(name: str, tmp_path: Path) -> None:
    profile = get_profile(name)
    assert Profile.from_bytes(profile.to_bytes()) == profile
    (tmp_path / "profile.json").write_text(profile.to_json())
    assert load_profile(tmp_path / "profile.json") == profile


def private(**changes: object) -> dict[str, object]:
    document = json.loads(get_profile().to_json())
    return document | {"name": "org.example.private.1", "key": "ab" * 32} | changes


def test_a_private_profile_is_loaded_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "private.json"
    path.write_text(json.dumps(private(colours=50, prefix_length=5, sigma=[1, 4], code_bits=16)))
    profile = get_profile(path)
    assert (profile.colours, profile.sigma, profile.is_public) == (50, (1, 4), False)
    (tmp_path / "private.ctwl").write_bytes(profile.to_bytes())
    assert load_profile(tmp_path / "private.ctwl") == profile


@pytest.mark.parametrize(
    ("change", "says"), [({"sigma": [2, 4]}, "sigma"), ({"surprise": 1}, "surprise"), ({"name": STANDARD}, "published")]
)
def test_a_profile_that_breaks_a_rule_is_refused_by_its_file(
    change: dict[str, object], says: str, tmp_path: Path
) -> None:
    """The vectors of profile-document have every rule."""
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(private(**change)))
    with pytest.raises(ProfileMalformed, match=says) as caught:
        load_profile(path)
    assert str(path) in str(caught.value)


def test_hostile_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad"
    for data in (b"", b"{" * 100_000, b'{"a":1,"a":2}', b"\xff" * 100, b"\x00" * 10**6, canonical.encode([1])):
        path.write_bytes(data)
        with pytest.raises(ProfileMalformed):
            load_profile(path)


@given(st.binary(max_size=300))
def test_arbitrary_bytes_never_crash_the_reader(data: bytes) -> None:
    with pytest.raises(ProfileMalformed):
        Profile.from_bytes(data)


@pytest.mark.parametrize("name", ["org.ctwl.nothing.1", "x" * 5000, "a\0b"], ids=["unknown", "too long", "zero"])
def test_a_name_of_no_profile_and_no_file_says_which_there_are(name: str) -> None:
    with pytest.raises(ProfileUnknown, match=r"published: org\.ctwl\.gpt2\.1"):
        get_profile(name)

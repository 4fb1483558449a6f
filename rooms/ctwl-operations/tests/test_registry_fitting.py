"""The operator is warned before a beacon is allotted that suits a common kind of text."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ctwl_operations.registry import fitting
from ctwl_protocol.registry import keys
from ctwl_protocol.registry.command import main

TABLE = {"7:6": ["whole numbers", "sums"], "7:9": ["DNA"], "8:0": ["bits"]} | {f"1023:{n}": ["DNA"] for n in range(16)}
Add = Callable[[str], str]
CONTACT = "--contact https://example.org/"


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Add:
    """Add to a new registry; what was said of it on standard error. The status is 0 all the same."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fitting, "_table", lambda: TABLE)
    root, key = (keys.public_bytes(keys.test_key(number)).hex() for number in (0, 1))
    assert main(f"init --root-key {root} --registry-key {key}".split()) == 0

    def call(line: str) -> str:
        capsys.readouterr()
        assert main(["add", *line.split()]) == 0
        said = capsys.readouterr()
        assert "to be signed" in said.out
        return said.err

    return call


def test_a_provider_is_told_which_versions_suit_a_kind(add: Add) -> None:
    said = add(f"provider registry.ctwl --provider 7 --name Seven {CONTACT}")
    assert said.startswith("ctwl-registry: warning: beacon-fits-text: 7:6 suits whole numbers, sums; 7:9 suits DNA. ")
    assert "although nobody marked them; take another number, such as 9, or leave out version 6, 9" in said
    assert said.count("\n") == 1
    assert add(f"provider registry.ctwl --provider 9 --name Nine {CONTACT}") == ""
    assert "such as 10," in add(f"provider registry.ctwl --provider 8 --name Eight {CONTACT}")
    assert "such as 0," in add(f"provider registry.ctwl --provider 1023 --name Last {CONTACT}")


def test_a_model_is_told_of_its_own_version(add: Add) -> None:
    add(f"provider registry.ctwl --provider 7 --name Seven {CONTACT}")
    assert add("model registry.ctwl --provider 7 --version 7 --name One") == ""
    said = add("model registry.ctwl --provider 7 --version 6 --name Two")
    assert "beacon-fits-text: 7:6 suits whole numbers, sums. " in said and said.endswith("version, such as 8\n")
    assert add("epoch registry.ctwl --provider 7 --epoch 1") == ""


def test_where_nothing_is_free_no_number_is_named(add: Add) -> None:
    add(f"provider registry.ctwl --provider 1023 --name Last {CONTACT}")
    said = add("model registry.ctwl --provider 1023 --version 3 --name One")
    assert said.endswith("; take another version\n")


def test_the_table_names_beacons_and_kinds() -> None:
    fitting._table.cache_clear()
    for beacon, kinds in fitting._table().items():
        found = re.fullmatch(r"(\d{1,4}):(\d{1,2})", beacon)
        assert found and int(found[1]) < 1024 and int(found[2]) < 16
        assert kinds and all(isinstance(kind, str) for kind in kinds)

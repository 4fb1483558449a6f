"""The vectors: complete, sound, up to date, and able to fail."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Collection
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ctwl_conformance import FAMILIES, VectorsAltered, check, load
from ctwl_conformance.command import main
from ctwl_conformance.families.agreement import agree, decimal
from ctwl_conformance.families.decoding import _text
from ctwl_conformance.vectors import command, files, load_numeric, manifest, reference
from ctwl_decoder.text.variants import variants_of
from ctwl_protocol import hashing, published_names
from ctwl_protocol.partition import reference as partition
from ctwl_protocol.profile import TOY, TOYS
from ctwl_protocol.records.layouts import LAYOUTS
from ctwl_protocol.text.splitting import SPLITS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "conformance-tests" / "vectors" / "v1"
SPEC = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "spec").glob("*.md")))


@pytest.mark.slow
def test_the_files_are_what_the_reference_writes(tmp_path: Path) -> None:
    assert main(["generate", str(tmp_path)]) == 0
    there, written = files.files_of(FOLDER), files.files_of(tmp_path)
    assert [name for name in there.keys() | written.keys() if there.get(name) != written.get(name)] == []


def test_each_has_a_name_of_its_own() -> None:
    assert [name for name, count in Counter(vector.id for vector in load()).items() if count > 1] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_keeps_to_its_schema(family: str) -> None:
    schema = json.loads((FOLDER / "schemas" / f"{family}.json").read_bytes())
    Draft202012Validator.check_schema(schema)
    document = json.loads((FOLDER / f"{family}.json").read_bytes())
    Draft202012Validator(schema).validate(document)
    for spoiled in ({"input": {}}, {"expected": {"status": 1}}, {"id": "other/1"}, {"more": 1}):
        tests = [document["tests"][0] | spoiled]
        assert not Draft202012Validator(schema).is_valid(document | {"tests": tests}), spoiled


@pytest.mark.parametrize(
    ("family", "field", "every"),
    [
        ("tokenizer", "pre_tokenizer", SPLITS),
        ("layout", "number", [layout.number for layout in LAYOUTS]),
        ("record", "layout", [layout.number for layout in LAYOUTS]),
        ("profile", "name", published_names()),
        ("public-key", "name", published_names()),
    ],
)
def test_every_row_of_a_table_has_vectors(family: str, field: str, every: Collection[str | int]) -> None:
    """``generate`` adds them."""
    asked = {vector.input[field] for vector in load([family]) if "status" not in vector.expected}
    assert asked >= set(every)


@given(st.lists(st.integers(0, 0xFFFF)))
def test_code_units_make_the_text_that_they_come_back_from(units: list[int]) -> None:
    text = _text({"code_units": units})
    data = text.encode("utf-16-le", "surrogatepass")
    assert [int.from_bytes(data[i : i + 2], "little") for i in range(0, len(data), 2)] == units
    assert not re.search("[\ud800-\udbff][\udc00-\udfff]", text)  # two of a character are one character


READ = sorted({vector.family for vector in load() if vector.profile} - {"proof"})
"""The families that read whole texts under a profile of the question; a proof names its own."""


@pytest.mark.parametrize("family", READ)
def test_decoding_is_asked_under_both_toy_profiles(family: str) -> None:
    assert {vector.input.get("profile", TOY) for vector in load([family])} == set(TOYS)


@pytest.mark.parametrize("family", [each for each in READ if each not in ("decode-forms", "read-one-code")])
def test_no_reader_needs_a_second_variant(family: str) -> None:
    for vector in load([family]):
        if "status" not in vector.expected and not vector.id.endswith("marks-of-class-0-in-a-row"):  # odd marks go
            assert len(variants_of(_text(vector.input))) == 1, vector.id


def test_the_command_answers_and_counts(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    few = [
        "beacon", "canonical", "colours", "members", "normalization", "permutation", "profile", "registry-key",
        "registry-update", "sealing",
    ]  # fmt: skip
    monkeypatch.setattr(command, "load_numeric", lambda: [])  # see test_numeric
    monkeypatch.setattr(command, "check", lambda: check(few))
    monkeypatch.setattr(command, "load", lambda: load(few))
    assert main(["check"]) == 0
    total = len(load(few))
    assert f"{total} of {total} vectors agree" in capsys.readouterr().out
    monkeypatch.setattr(hashing, "GOLDEN", 0x9E3779B9)
    assert main(["check"]) == 1
    assert "members/64-tokens-sigma-1-2-seed-9 (64 tokens, sigma [1, 2], seed 9; spec 7.2)" in capsys.readouterr().out


def test_a_crash_is_a_wrong_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr(partition, "members", crash)
    assert [vector.id for vector, _ in check(["members"])] == [vector.id for vector in load(["members"])]


def test_decimal_numbers_need_only_be_near() -> None:
    expected = {"p_value": decimal(0.0123456789), "code": 7}
    assert agree(expected, {"p_value": 0.0123456789, "code": 7})
    assert agree(expected, {"p_value": "0.01234567890000001", "code": 7})
    for answer in (
        {"p_value": 0.0123456799, "code": 7},
        {"p_value": "nan", "code": 7},
        {"p_value": "", "code": 7},
        {"p_value": True, "code": 7},
        {"p_value": 0.0123456789, "code": 7.0},
        {"p_value": 0.0123456789, "code": True},
        {"p_value": 0.0123456789},
        {"p_value": 0.0123456789, "code": 7, "more": 1},
        None,
    ):
        assert not agree(expected, answer), answer
    assert agree(decimal(1e-300), "3.2e-412") and agree(decimal(1e-300), 0)
    assert agree("4.38218939087e+17", 438218939087000100)  # as JavaScript writes it
    assert not agree([1, 2], [1]) and not agree("a", 1)


@pytest.mark.slow
def test_p_values_are_those_of_exact_fractions() -> None:
    for vector in load(["null"]):
        rows, ways = vector.input["units"], Counter({0: 1})
        for row in rows:
            before, ways = ways, Counter()
            for units, times in Counter(row).items():
                for total, count in before.items():
                    ways[total + units] += count * times
        tail = sum(count for total, count in ways.items() if total >= vector.input["score"])
        exact = min(Fraction(1), vector.input["tests"] * Fraction(tail, prod(map(len, rows))))
        assert agree(vector.expected["p_value"], f"{float(exact):.15e}"), vector.id


# Families are data.


def test_a_case_is_a_comment_and_an_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who adds one writes these two; its id, its answer and the manifest follow."""
    monkeypatch.setattr(reference, "FAMILIES", {"mixing": reference.FAMILIES["mixing"]})
    document = json.loads((FOLDER / "mixing.json").read_bytes())
    before = list(document["tests"])
    document["tests"].append({"comment": "Two, once more", "input": {"words": [2]}})
    (tmp_path / "mixing.json").write_text(json.dumps(document))
    reference.write(tmp_path)
    written = json.loads((tmp_path / "mixing.json").read_bytes())["tests"]
    assert written[:-1] == before
    assert (written[-1]["id"], written[-1]["expected"]) == (
        "mixing/two-once-more",
        {"mixed": [int(hashing.fmix32(np.uint32([2]))[0])]},
    )
    once = files.files_of(tmp_path)
    reference.write(tmp_path)
    assert files.files_of(tmp_path) == once
    manifest.verify(once.pop("manifest.json"), once)


def test_one_family_is_answered_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = "mixing", "beacon"
    monkeypatch.setattr(reference, "FAMILIES", {name: reference.FAMILIES[name] for name in names})
    for name in names:
        document = json.loads((FOLDER / f"{name}.json").read_bytes())
        del document["tests"][0]["expected"]
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    reference.write(tmp_path, families=["mixing"])
    tests = {name: json.loads((tmp_path / f"{name}.json").read_bytes())["tests"] for name in names}
    assert "expected" in tests["mixing"][0] and "expected" not in tests["beacon"][0]


def test_a_file_that_holds_no_vectors_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "FAMILIES", {"beacon": reference.FAMILIES["beacon"]})
    for text in ("{", "[]", '{"tests": [{"comment": 1, "input": {}}]}', '{"tests": [{"input": {}}]}'):
        (tmp_path / "beacon.json").write_text(text)
        with pytest.raises(VectorsAltered, match=r"beacon\.json holds no vectors"):
            reference.write(tmp_path)


# The manifest.


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "v1"
    shutil.copytree(FOLDER, folder)
    monkeypatch.setattr(files, "published", lambda: folder)
    return folder


def _altered(folder: Path, name: str, change: Any) -> None:
    """Change the bytes of a file, which may be missing before and after."""
    file = folder / name
    after = change(file.read_bytes() if file.exists() else b"")
    file.unlink() if after is None else file.write_bytes(after)


def test_what_was_altered_is_named_and_not_used(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert load(["beacon"])
    _altered(copied, "beacon.json", lambda data: data.replace(b'"code": 1155', b'"code": 1156'))
    for reading in (lambda: load(["members"]), load_numeric):
        with pytest.raises(VectorsAltered, match=r"^beacon\.json: not as the manifest says"):
            reading()
    assert main(["check"]) == 2
    assert "beacon.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("schemas/beacon.json", lambda data: data + b" ", "schemas/beacon.json"),
        ("more.json", lambda _: b"{}", "more.json"),
        ("null.json", lambda _: None, r"null\.json"),
        ("manifest.json", lambda data: b"{}", "no manifest"),
        ("manifest.json", lambda data: re.sub(b'"sha256": "[0-9a-f]', b'"sha256": "z', data), "no manifest"),
        ("manifest.json", lambda data: re.sub(b'"sha256": "[0-9a-f]{8}', b'"sha256": "01234567', data), "answer.json"),
    ],
)  # fmt: skip
def test_a_folder_that_is_not_as_the_manifest_says_is_refused(copied: Path, name: str, change: Any, says: str) -> None:
    _altered(copied, name, change)
    with pytest.raises(VectorsAltered, match=says):
        load(["beacon"])


# The specification.


_WITHOUT = {
    "purpose": "1",
    "status and changes": "1.1",
    "terms": "2",
    "conventions, which all vectors follow": "3",
    "see its parts": "4 5 6 7 8 9 20",
    "a claim about texts: tested statistically, by reading what an encoder wrote": "8.1",
    "informative": "8.x 19",
    "what people are told, and how services answer; the addresses are tested with 9.6": "9.8",
    "needs a language model; the reference tests it": "10.8",
    "status codes stand in the vectors of the sections that give them": "11",
    "a numeric claim about a proxy runtime: vectors/v1/numeric/": "13",
    "conformance itself": "14",
    "attacks and what is claimed against them": "15",
    "lists what other sections assign": "16",
    "what people do, not bytes": "17 18",
    "statuses of HTTP: the family asked, from outside": "20.3",
    "what askers do, not bytes; the reference tests it": "20.4",
}
ELSEWHERE = {section for sections in _WITHOUT.values() for section in sections.split()}
"""Sections without exact vectors, each with the reason above. ``8.x`` are those of 8 that are not named."""


def test_every_section_has_vectors_or_a_reason() -> None:
    headings = re.findall(r"^#{2,3} (\d+(?:\.\d+)?)", SPEC, re.M)
    covered = {vector.section for vector in load()}
    others = [number for number in headings if number not in covered | ELSEWHERE]
    left = [number for number in others if f"{number.partition('.')[0]}.x" not in ELSEWHERE]
    assert left == [], "without vectors, they need a reason above"
    assert covered | ELSEWHERE - {"8.x"} <= set(headings)


ELSEWHERE_CODES = {
    # Of files, folders, options and machines; no question of the protocol.
    "profile-unknown", "proxy-not-found", "proxy-digest-mismatch", "proxy-malformed", "passphrase-missing",
    "file-unwritable", "registry-error", "registry-unreadable", "entry-unknown", "key-without-role",
    "token-out-of-range", "device-unavailable", "proof-refused",
}  # fmt: skip


def test_every_status_code_of_the_protocol_is_some_vectors_answer() -> None:
    rows = SPEC.split("## 11. Status codes")[1].split("## 13.")[0].splitlines()
    ours = [
        row for row in rows if row.startswith("| `") and not re.search("decoder:|corpora|service|who asks|encoder", row)
    ]
    listed = {code for row in ours for code in re.findall(r"`([a-z-]+)`", row.split("|")[1])}
    given = {vector.expected.get("status", "ok") for vector in load()} - {"ok"}
    assert listed - given - ELSEWHERE_CODES == set()
    assert given - listed == {"not-text", "option-out-of-range"}  # a decoder's own, which families that decode ask for
    assert not given & ELSEWHERE_CODES

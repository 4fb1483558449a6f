"""The core part runs: its code, joined, answers the vectors, and its worked example holds line by line."""

import doctest
import json
import math
import re
import struct
from pathlib import Path
from typing import Any

import pytest
from core_program import ANSWERS, BLOCKS, core

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "conformance-tests" / "vectors" / "v1"


def vectors_of(family: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((VECTORS / f"{family}.json").read_text(encoding="utf-8"))["tests"]
    return found


def asked(family: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The questions of a family with the expected answers."""
    return [(test["input"], test["expected"]) for test in vectors_of(family)]


def near(expected: str, found: float) -> bool:
    return max(found, 1e-300) == pytest.approx(float(expected), rel=1e-9)


def test_the_worked_example_holds_line_by_line() -> None:
    examples = "\n".join(block for block in BLOCKS if block.startswith(">>>"))
    parsed = doctest.DocTestParser().get_doctest(examples, dict(core()), "core.md", "core.md", 0)
    told: list[str] = []
    result = doctest.DocTestRunner().run(parsed, out=told.append)
    assert result.attempted >= 20
    assert not result.failed, "".join(told)


def test_the_code_needs_the_standard_library_alone() -> None:
    imported = {name for block in BLOCKS for line in re.findall(r"^(?:import|from) (.*)$", block, re.M)
                for name in re.split(r", | import .*", line) if name}  # fmt: skip
    assert imported == {"hmac", "math", "re", "struct", "unicodedata", "hashlib", "types"}


OTHERWISE = {"null", "randomised", "e-value", "read-one-code"}
"""Families of the core that are asked below, or would take minutes."""


def test_it_answers_all_families_of_its_sections() -> None:
    headings = set(
        re.findall(r"^#{2,3} (\d+(?:\.\d+)?)", (ROOT / "spec" / "core.md").read_text(encoding="utf-8"), re.M)
    )
    for file in VECTORS.glob("*.json"):
        document = json.loads(file.read_text(encoding="utf-8"))
        if document.get("section") in headings and file.stem not in OTHERWISE:
            assert file.stem in ANSWERS, f"{file.stem} tests {document['section']}: answer it in tools/core_program.py"


@pytest.mark.parametrize("family", ANSWERS)
def test_it_answers_the_vectors(family: str) -> None:
    for given, expected in asked(family):
        assert ANSWERS[family](core(), given) == expected


def test_it_answers_the_vectors_of_the_statistics() -> None:
    tail, p_value = core()["tail"], core()["p_value"]
    for given, expected in asked("null"):
        if len(given["units"]) <= 100:  # maps of sums are slow
            assert near(expected["p_value"], p_value(tail(given["units"], given["score"]), given["tests"]))
    for given, expected in asked("randomised"):
        assert near(expected["p_value"], core()["randomised"](given["units"], given["score"], given["u"]))
    for given, expected in asked("e-value"):
        rows = [[units] for units in given["units"]]  # of one colour, which every code has
        assert near(expected["e_value"], math.exp(core()["log_e_value"](0, rows, [0] * len(rows))))


ONE_CODE_OF = 8 / 7
"""A full reader searches several numbers of codes, and has seven eighths of the level for one (10.2)."""


@pytest.mark.parametrize("about", ["25 tokens by gumbel", "70 tokens", "100 tokens, code 43252"])
def test_it_reads_what_carries_one_code_as_a_whole(about: str) -> None:
    (test,) = [test for test in vectors_of("decode") if test["comment"] == about]
    given, expected = test["input"], test["expected"]
    code = expected["code"]
    few = [*range(40), code]  # all codes would take minutes; the reference searches them
    report = core()["read"](given["text"], given["alpha"], core()["TOY"], few)
    assert report["code"] == code
    assert near(expected["p_value"], ONE_CODE_OF * report["p_value"])


def test_it_reads_the_vectors_of_one_code() -> None:
    short = [test for test in vectors_of("read-one-code") if 0 < len(test["input"].get("text", "")) < 80]
    assert short
    for test in short[:3]:
        given, expected = test["input"], test["expected"]
        profile = core()["TOY_2" if given.get("profile") == core()["TOY_2"].name else "TOY"]
        code = expected.get("code")
        report = core()["read"](given["text"], given["alpha"], profile, range(40) if code is None else [0, code])
        assert (report["detected"], report.get("code")) == (expected["detected"], code)
        assert code is None or near(expected["p_value"], report["p_value"])


def test_it_refuses_what_is_no_text() -> None:
    for given, expected in asked("decode"):
        units = given.get("code_units", [])
        text = given.get("text", struct.pack(f"<{len(units)}H", *units).decode("utf-16-le", "surrogatepass"))
        if expected.get("status") == "not-text":
            with pytest.raises(ValueError, match="not-text"):
                core()["check"](text)
        else:
            core()["check"](text)
    with pytest.raises(ValueError, match="not-text"):
        core()["check"]("a\ud800")

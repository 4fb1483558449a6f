"""Every constant of the reference that could be another has a vector that shows it."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from constants import MODULES, NUMBERS, PARTS, SAME, Constants, every_constant, places_of, questions

QUICK = ("ctwl_protocol.hashing", "GOLDEN 2654435761 #1")
SOME = {QUICK, (NUMBERS, "blocks.overlap 128"), (NUMBERS, "records.slot_tail 2")}


def answered(module: str = "", place: str = "") -> subprocess.CompletedProcess[str]:
    script = str(Path(__file__).with_name("constants.py"))
    told = json.dumps(questions(module))
    return subprocess.run(
        [sys.executable, script, module, place], input=told, capture_output=True, text=True, timeout=120, check=False
    )


def chosen() -> list[Any]:
    slow, alone = pytest.mark.slow, pytest.mark.selftest
    return [
        pytest.param(*each, marks=() if each == QUICK else slow if each in SOME else (slow, alone))
        for each in every_constant()
    ]


@pytest.mark.parametrize(("module", "place"), chosen())
def test_a_changed_constant_shows(module: str, place: str) -> None:
    done = answered(module, place)
    assert done.returncode or done.stdout  # a reference that its own checks stop is seen too


@pytest.mark.slow
def test_the_sound_reference_shows_nothing() -> None:
    done = answered()
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_what_is_left_out_is_there() -> None:
    every = {}
    for module in MODULES:
        every[module] = [f"{module.rpartition('.')[2]} {place}" for place in places_of(module)]
    for pattern in SAME:
        assert any(re.fullmatch(pattern, place) for places in every.values() for place in places), pattern
    for module, names in PARTS.items():
        for name in names.split("|"):
            assert any(place.split()[1].startswith(name) for place in every[module]), name


def test_the_places_of_constants_outlive_new_names() -> None:
    assert ("ctwl_protocol.hashing", "fmix32 2246822507 #1") in every_constant()
    old, new = Constants(), Constants("f 2 #1")
    old.visit(ast.parse("def f(a):\n    b = 1 + a\n    return b * 2"))
    changed = new.visit(ast.parse("def f(x):\n    y = 1 + x\n    return y * 2"))
    assert old.places == new.places == ["f 1 #1", "f 2 #1"]
    assert ast.unparse(changed).endswith("return y * 3")

"""The suite sees every fault: cases that a sound implementation passes fail, and the verdict follows."""

import builtins
import shlex
import sys
from fnmatch import fnmatchcase
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from broken import replace
from constants import MODULES
from fault import Fault
from faults import FAULTS
from search_faults import units

from ctwl_conformance import FAMILIES, load
from ctwl_conformance.adapter import Limits
from ctwl_conformance.run.bench import Bench
from ctwl_conformance.run.cases import all_cases
from ctwl_conformance.run.results import Result
from ctwl_conformance.run.verdicts import verdicts

QUICK = {"accepts-duplicate-keys", "crashes"}
SOME = {
    "alphabetic-for-letters",
    "skips-everything",
    "warm-proxy",
    "wrong-id",
    "no-factor-for-windows",
    "units-in-8-bits",
    "basic-span-ends-at-1",
}
PARTNERS = {"encoder": "decoder", "decoder": "encoder"}
PATTERNS = sorted({pattern for fault in FAULTS.values() for pattern in fault.patterns})


def chosen() -> list[Any]:
    slow, alone = pytest.mark.slow, pytest.mark.selftest
    return [
        pytest.param(fault, id=name, marks=() if name in QUICK else slow if name in SOME else (slow, alone))
        for name, fault in FAULTS.items()
    ]


def bench(name: str, role: str, patience: float = 120) -> Bench:
    """An adapter, and the sound reference as its partner."""

    def serving(*told: str) -> list[str]:
        return [shlex.join([sys.executable, str(Path(__file__).with_name("broken.py")), *told])]

    commands: Any = {role: serving(name, role)}
    if role in PARTNERS:
        commands[PARTNERS[role]] = serving("no fault", PARTNERS[role])
    return Bench(commands, size="quick", limits=Limits(start=120, request=patience))


def asked(cases: Any, pattern: str, until: str) -> list[Result]:
    """The results of the cases of a pattern, up to the first with such a verdict."""
    results = []
    for case in cases:
        if fnmatchcase(case.id, pattern):
            results.append(case.run())
            if results[-1].verdict == until:
                break
    return results


@pytest.mark.parametrize("fault", chosen())
def test_the_suite_sees(fault: Fault) -> None:
    with bench(fault.name, fault.role, 5 if fault.name == "hangs" else 120) as running:
        cases = list(all_cases(running))
        results = [asked(cases, pattern, fault.leads_to) for pattern in fault.patterns]
        told = verdicts(running.subjects, [result for each in results for result in each])
        mine = next(subject.label for subject in running.subjects if fault.role in subject.roles)
    for pattern, each in zip(fault.patterns, results, strict=True):
        assert each and each[-1].verdict == fault.leads_to, pattern
    classes = {name for each in results for name in each[-1].classes}
    found = {v.verdict for v in told if v.implementation == mine and v.conformance_class in classes}
    assert (
        found <= {"not tested"}
        if fault.leads_to == "skipped"
        else "does not conform" in found and "conforms" not in found
    )


def test_every_fault_is_asked_of_vectors_that_there_are() -> None:
    ids = [f"vector/{vector.id}/mine" for vector in load()]
    for pattern in PATTERNS:
        assert not pattern.startswith("vector/") or any(fnmatchcase(name, pattern) for name in ids), pattern


def test_every_family_is_shown_to_fail() -> None:
    """By a fault, or by the constants of a module that are changed."""
    of_constants = {name for names in MODULES.values() for name in names.split()}
    left = [name for name in FAMILIES if not any(pattern.startswith(f"vector/{name}/") for pattern in PATTERNS)]
    told = "no mistake is known that these see: add a Fault, or the family to its module in constants.py"
    assert set(left) <= of_constants, told


def test_what_a_fault_replaces_is_there() -> None:
    for place in {place for fault in FAULTS.values() for place in fault.places}:
        module, _, name = place.partition(":")
        *parents, last = name.split(".")
        assert hasattr(reduce(getattr, parents, import_module(module)), last) or hasattr(builtins, last), place


def test_the_units_with_nothing_left_out_are_those_of_the_reference() -> None:
    from ctwl_conformance.families import FAMILIES as ANSWERS
    from ctwl_decoder.statistics import scores

    sound = scores.position_scores
    try:
        for change in units().values():
            replace(scores, "position_scores", change)
        for vector in load(["units"]):
            assert ANSWERS["units"].answer(vector.input) == vector.expected, vector.id
    finally:
        scores.position_scores = sound

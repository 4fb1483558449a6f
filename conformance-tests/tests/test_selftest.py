"""The self-test sees what is broken; here a few of each kind, ``ctwl-conformance selftest`` runs them all."""

from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import islice

import pytest

from ctwl_conformance import load
from ctwl_conformance.selftest.constants import MODULES, constants
from ctwl_conformance.selftest.faults import FAULTS
from ctwl_conformance.selftest.mutation import Mutation, source
from ctwl_conformance.selftest.search_faults import SEARCH_FAULTS
from ctwl_conformance.selftest.selftest import Finding, _answered, check_faults

SOME = ("accepts-duplicate-keys", "crashes", "skips-everything", "warm-proxy", "wrong-id")
NAMED = (
    "no-factor-for-windows",
    "no-factor-for-two-tests",
    "no-factor-for-layouts",
    "span-0-to-1",
    "slot-from-context",
)
"""What passed as a decoder before the suite asked for windows, records and places, and under a second profile."""


def test_every_fault_has_a_place_in_the_source_as_it_is() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 10
    for fault in FAULTS:
        mutation = fault.mutation()
        if mutation is not None and fault.change is not None:
            assert source(mutation.module)[mutation.start : mutation.end] == fault.change[1]


def test_every_search_fault_is_asked_of_vectors_that_there_are() -> None:
    ids = [f"vector/{vector.id}/mine" for vector in load()]
    for fault in SEARCH_FAULTS:
        assert fault.by_each and fault.seen_by
        for pattern in fault.seen_by:
            assert any(fnmatchcase(name, pattern) for name in ids), (fault.name, pattern)


def test_a_wrong_answer_and_a_crash_are_seen() -> None:
    found = list(check_faults([f for f in FAULTS if f.name in ("accepts-duplicate-keys", "crashes")]))
    assert [(finding.name, finding.good) for finding in found] == [
        ("no fault", True),
        ("accepts-duplicate-keys", True),
        ("crashes", True),
    ]


def test_a_fault_must_lead_to_its_own_verdict() -> None:
    seen = Finding(name="a", comment="", seen_by="vector/a", verdict="does not conform", due="does not conform")
    assert seen.good
    for verdict in ("conforms", "not tested", None):
        assert not seen.model_copy(update={"verdict": verdict}).good
    assert not seen.model_copy(update={"seen_by": None}).good
    assert Finding(name="a constant", comment="", seen_by="vector/a").good


@pytest.mark.slow
def test_some_faults_are_seen() -> None:
    findings = {finding.name: finding for finding in check_faults([f for f in FAULTS if f.name in SOME])}
    assert findings.keys() == {"no fault", *SOME}
    assert all(finding.good for finding in findings.values())
    assert findings["skips-everything"].verdict == "not tested"
    assert findings["warm-proxy"].verdict == findings["crashes"].verdict == "does not conform"


@pytest.mark.slow
def test_wrong_factors_of_the_search_are_seen() -> None:
    findings = {finding.name: finding for finding in check_faults([f for f in FAULTS if f.name in NAMED])}
    assert findings.keys() == {"no fault", *NAMED}
    assert all(finding.good for finding in findings.values())
    assert {findings[name].verdict for name in NAMED} == {"does not conform"}


def test_constants_are_found_and_changed_in_place() -> None:
    found = list(constants())
    assert {mutation.module for mutation in found} == MODULES.keys()
    for mutation in found:
        text = source(mutation.module)
        compile(text[: mutation.start] + mutation.new + text[mutation.end :], mutation.module, "exec")
    hashing = [str(mutation) for mutation in found if mutation.module == "ctwl_protocol.hashing"]
    for old in ("0x9E3779B1", "0x85EBCA6B", "0xC2B2AE35", "13", "16", 'b"ctwl-h1/colour"'):
        assert any(f": {old} -> " in line for line in hashing)


def test_what_is_left_out_has_a_place_in_the_source_as_it_is() -> None:
    for module, known in MODULES.items():
        for piece, why in known.equivalent.items():
            assert piece in source(module), (module, piece)
            assert why


def test_a_constant_is_seen() -> None:
    golden = next(mutation for mutation in constants() if mutation.line.startswith("GOLDEN = "))
    assert (_answered(golden).seen_by or "").startswith("permutation/")


@pytest.mark.slow
def test_some_constants_are_seen_and_the_sound_reference_is_not() -> None:
    assert _answered(None).seen_by is None
    hashing = [mutation for mutation in constants() if mutation.module == "ctwl_protocol.hashing"]
    for mutation in islice(hashing, 0, None, 6):
        assert _answered(mutation).good, mutation


def test_a_source_that_has_moved_on_is_told() -> None:
    with pytest.raises(ValueError, match="0 times, not once"):
        Mutation.of("ctwl_protocol.hashing", "0xDEADBEEF", "1")

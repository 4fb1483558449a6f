"""Whole runs: the toy provider and the reference, and adapters that are not what they should be."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from scripted import command, run

from ctwl_conformance import FAMILIES
from ctwl_conformance.command import main
from ctwl_conformance.run import results
from ctwl_conformance.run.cases import Case, Outcome
from ctwl_conformance.run.classes import CLASSES, classes_of
from ctwl_conformance.run.results import Report
from ctwl_conformance.run.runner import _alternating
from ctwl_conformance.run.texts import FAMILIES as TEXTS
from ctwl_conformance.run.texts import setting
from ctwl_conformance.run.verdicts import verdicts
from ctwl_protocol.profile import TOYS

US = f"{shlex.quote(sys.executable)} -m ctwl_conformance adapter"
TOY, DECODER, CLIENT = f"{US} toy", f"{US} decoder", f"{US} registry-client"

ODD = command("""
def answer(request):
    if request["input"].get("bytes") == "c0c0":
        sys.exit("\\x1b[31mout of cheese <&>")
    reply(request, ok={"status": "non-canonical"})
serve(answer, name="<b>odd</b> one")
""")
"""An adapter that answers documents alone, and those wrong."""

ONE_PROFILE = command("""
from ctwl_conformance import load
ANSWERS = {json.dumps(vector.input): vector.expected for vector in load(["read-one-code"])}
def answer(request):
    if "profile" in request["input"]:
        sys.exit("asked under the other profile")
    reply(request, ok=ANSWERS[json.dumps(request["input"])])
serve(answer, name="one", profiles=["org.ctwl.toy.1"], families=["read-one-code"])
""")
"""A reader of the first toy profile alone."""

HOSTILE = """
def answer(request):
    match request["op"]:
        case "encode": reply(request, ok={"text": ""})
        case "vector": reply(request, ok={"p_value": 10**400})
        case _: reply(request, error={"status": "not-text", "message": "no"})
serve(answer, roles=["encoder", "decoder"], profiles=["org.ctwl.toy.1"], families=FAMILIES)
"""

LEFT_OUT = """
vector/decode[-/]* vector/read-one-code/* vector/proof/* vector/secret-file/* vector/locked-* vector/record-doubts/*
vector/null/* vector/toy-tokenizer/* vector/tokenizer/* tagged/* relay/* excerpt/* characters/*
round-trip/org.ctwl.toy.2/* human/org.ctwl.toy.2/*
"""
SLOW = "slow: left out of the tests"
UNTESTED = {"basic-reader": "not tested", "full-reader": "not tested", "light-reader": "not tested"}


def of(report: Report, label: str) -> dict[str, str]:
    return {v.conformance_class: v.verdict for v in report.verdicts if v.implementation == label}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Report, Path]:
    """All but the slowest families, which :mod:`test_vectors` answers without an adapter, and the fewest texts."""
    folder = tmp_path_factory.mktemp("sound")
    (folder / "slow").write_text("\n".join(f"{pattern} {SLOW}" for pattern in LEFT_OUT.split()))
    given = ["--encoder", TOY, "--decoder", DECODER, "--registry-client", CLIENT, "--jobs", "2"]
    with pytest.MonkeyPatch.context() as patch:
        for texts in (setting(TOYS[0]).texts, setting(TOYS[0]).humans):
            patch.setitem(texts, "quick", 4)
        return *run(folder, *given, "--skip", str(folder / "slow")), folder


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Report, Path]:
    folder = tmp_path_factory.mktemp("odd")
    return *run(folder, "--decoder", ODD), folder


def test_the_reference_conforms(sound: tuple[int, Report, Path]) -> None:
    status, report, _ = sound
    assert status == 0
    assert report.good
    assert of(report, "ctwl-registry") == {"registry-client": "conforms"}
    assert of(report, "toy") == {"encoder": "not tested"}
    assert of(report, "ctwl-decoder") == UNTESTED | {"profile-loader": "conforms"}
    assert all(why.startswith(SLOW) for verdict in report.verdicts for why in verdict.why)
    assert {result.verdict for result in report.results} == {"passed", "skipped"}
    assert {result.reason for result in report.results if result.verdict == "skipped"} == {SLOW}
    ids = [result.id for result in report.results]
    assert len(set(ids)) == len(ids)


def test_a_run_that_takes_too_long_ends_with_a_report(tmp_path: Path) -> None:
    """What was not asked is left out, and the report says why."""
    status, report = run(tmp_path, "--decoder", ODD, "--deadline", "0.001")
    assert status == 0
    assert of(report, "b-odd-b-one") == UNTESTED | {"profile-loader": "not tested"}
    reasons = {(result.verdict, result.reason) for result in report.results}
    assert reasons == {("skipped", "the run had taken 0.001 seconds, its deadline")}


@pytest.mark.slow
def test_the_reference_conforms_in_all(tmp_path: Path) -> None:
    status, report = run(tmp_path, "--encoder", TOY, "--decoder", DECODER, "--registry-client", CLIENT)
    assert status == 0
    assert {verdict.verdict for verdict in report.verdicts} == {"conforms"}
    assert {result.verdict for result in report.results} == {"passed"}


def test_several_patterns_choose_the_cases_of_all(tmp_path: Path) -> None:
    _, report = run(tmp_path, "--decoder", DECODER, "--only", "vector/mixing/*", "--only", "vector/slot/*")
    assert {result.family for result in report.results} == {"mixing", "slot"}


def test_a_reader_is_asked_under_the_profiles_that_it_names(tmp_path: Path) -> None:
    status, report = run(tmp_path, "--decoder", ONE_PROFILE, "--only", "vector/read-one-code/*")
    assert status == 0 and of(report, "one")["basic-reader"] == "not tested"
    assert {result.verdict for result in report.results} == {"passed", "skipped"}
    skipped = {result.reason for result in report.results if result.verdict == "skipped"}
    assert skipped == {"it does not declare the profile org.ctwl.toy.2"}


def test_rates_come_with_their_number_and_interval(sound: tuple[int, Report, Path]) -> None:
    found = {result.family: result.statistics for result in sound[1].results if result.statistics}
    assert found.keys() == {"round-trip", "human"}
    trip = found["round-trip"]
    assert trip is not None and trip.trials == 4 and trip.rate == trip.successes / 4
    assert trip.interval_95[0] <= trip.rate <= trip.interval_95[1]
    assert 0 < trip.excluded < 0.99


def test_a_proxy_runtime_is_measured(sound: tuple[int, Report, Path]) -> None:
    measured = [result for result in sound[1].results if result.kind == "numeric"]
    assert [(found.id, found.profile) for found in measured] == [(f"numeric/{toy}/ctwl-decoder", toy) for toy in TOYS]
    assert all(found.classes == ["basic-reader", "full-reader", "profile-loader"] for found in measured)
    assert {(found.verdict, found.section) for found in measured} == {("passed", "13")}
    assert all(found.measure is not None and found.measure.value == found.measure.limit == 0 for found in measured)
    assert "mean total variation 0, at most 0" in (sound[2] / "junit.xml").read_text()
    assert "mean total variation 0, at most 0" in (sound[2] / "report.html").read_text()


def test_the_report_has_the_published_shape(sound: tuple[int, Report, Path], odd: tuple[int, Report, Path]) -> None:
    schema = json.loads((Path(__file__).parents[1] / "schemas" / "report.schema.json").read_text())
    for _, _, folder in (sound, odd):
        report = json.loads((folder / "report.json").read_text())
        some = {(result["kind"], result["verdict"]): result for result in report["results"]}
        jsonschema.validate(report | {"results": list(some.values())}, schema)


def test_junit_counts_as_the_report_does(sound: tuple[int, Report, Path], odd: tuple[int, Report, Path]) -> None:
    for _, report, folder in (sound, odd):
        document = ElementTree.parse(folder / "junit.xml").getroot()
        assert len(list(document.iter("testcase"))) == len(report.results) + len(report.verdicts)
        told = {"failure": "does not conform", "error": "", "skipped": "not tested"}
        for tag, verdict in (("failure", "failed"), ("error", "errored"), ("skipped", "skipped")):
            verdicts = sum(v.verdict == told[tag] for v in report.verdicts)
            assert len(list(document.iter(tag))) == sum(r.verdict == verdict for r in report.results) + verdicts


def test_the_page_has_the_matrix_and_no_scripts(sound: tuple[int, Report, Path], odd: tuple[int, Report, Path]) -> None:
    page = (sound[2] / "report.html").read_text()
    assert "encoders by decoders" in page and "round-trip 4/4" in " ".join(page.split())
    page = (odd[2] / "report.html").read_text()
    assert "<script" not in page and "http://" not in page and "https://" not in page
    assert "<b>odd</b>" not in page and "?[31mout of cheese &lt;&amp;&gt;" in page


def test_a_crash_is_an_error_and_a_wrong_answer_a_failure(odd: tuple[int, Report, Path]) -> None:
    status, report, _ = odd
    assert status == 1
    errored = [result for result in report.results if result.verdict == "errored"]
    assert len(errored) == 1 and errored[0].error == "crashed"
    assert errored[0].stderr == "?[31mout of cheese <&>"
    vectors = [result for result in report.results if result.family == "canonical"]
    assert {result.verdict for result in vectors} == {"passed", "failed", "errored"}
    assert all("; asked {" in result.reason for result in vectors if result.verdict == "failed")
    others = {result.verdict for result in report.results if result.kind == "exact" and result.family != "canonical"}
    assert others == {"skipped"}
    assert of(report, "b-odd-b-one") == UNTESTED | {"profile-loader": "does not conform"}


MINE = """
from ctwl_conformance.adapter import *
from ctwl_protocol import CTWLError

class Mine(Implementation):
    def start(self):
        return Started(name="mine", version="1", roles=["{role}"], profiles=["org.ctwl.toy.1"], families=[])

    def {op}(self, request):
        {answer}

serve(Mine())
"""
OVERLAPPING = "[Span(start=0, end=9, code=7, p_value=1e-9), Span(start=8, end=12, code=7, p_value=1e-9)]"
CONTRADICTS = f"return Decoded(detected=True, code=7, p_value=1e-9, spans={OVERLAPPING}, record=None)"


@pytest.mark.parametrize(
    ("role", "op", "answer", "verdict"),
    [
        ("decoder", "decode", "os._exit(3)", "errored"),
        pytest.param("decoder", "decode", CONTRADICTS, "failed", marks=pytest.mark.slow),
        pytest.param("encoder", "encode", "raise CTWLError('no')", "failed", marks=pytest.mark.slow),
    ],
)
def test_a_fault_of_its_own_does_not_speak_against_its_partner(
    role: str, op: str, answer: str, verdict: str, tmp_path: Path
) -> None:
    partner = ["--encoder", TOY] if role == "decoder" else ["--decoder", DECODER]
    mine = command(MINE.format(role=role, op=op, answer=answer))
    status, report = run(tmp_path, f"--{role}", mine, *partner, "--only", "round-trip/*")
    (case,) = report.results
    assert status == 1 and case.verdict == verdict and case.at_fault == "mine"
    assert "does not conform" in of(report, "mine").values()
    (sound,) = (each.label for each in report.implementations if each.label != "mine")
    assert of(report, sound)["encoder" if role == "decoder" else "basic-reader"] == "not tested"


@pytest.mark.slow
def test_xfail_is_strict(tmp_path: Path, capsys: pytest.CaptureFixture[str], odd: tuple[int, Report, Path]) -> None:
    failed = [result.id for result in odd[1].results if result.verdict == "failed"]
    crashed = next(result.id for result in odd[1].results if result.verdict == "errored")
    known, left = tmp_path / "known", tmp_path / "left"
    known.write_text("# what we know\n" + "\n".join(f"{each} to be mended" for each in failed))
    left.write_text(f"{crashed}  it crashes\n")
    given = ["--decoder", ODD, "--skip", str(left), "--xfail", str(known)]
    status, report = run(tmp_path / "out", *given)
    assert status == 0
    assert {result.id for result in report.results if result.verdict == "xfailed"} == set(failed)
    assert of(report, "b-odd-b-one")["profile-loader"] == "does not conform"  # an announced failure is one all the same
    passed = next(result.id for result in odd[1].results if result.verdict == "passed" and result.kind == "exact")
    known.write_text(known.read_text() + f"\n{passed} is said to fail")
    status, report = run(tmp_path / "out", *given)
    assert status == 1
    assert [result.id for result in report.results if result.verdict == "failed"] == [passed]
    known.write_text("vector/no-such-case to be mended")
    assert main(["run", "--quick", "--out", str(tmp_path / "out"), *given]) == 2
    assert "no case is called vector/no-such-case" in capsys.readouterr().err
    known.write_text(passed)
    assert main(["run", "--quick", "--out", str(tmp_path / "out"), *given]) == 2
    assert "has no reason" in capsys.readouterr().err


def test_what_does_not_start_fails_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    encoder = command(HOSTILE.replace("FAMILIES", "[]"))
    status, report = run(tmp_path, "--decoder", "/no/such/decoder", "--encoder", encoder)
    assert status == 1
    found = {(result.family, result.verdict) for result in report.results if result.kind == "start"}
    assert found == {("start", "errored"), ("start", "passed")}
    assert {v.verdict for v in report.verdicts if v.conformance_class != "encoder"} == {"does not conform"}
    assert of(report, "mine") == {"encoder": "not tested"}
    assert "mine, encoder: not tested: no case of round-trip was run and passed" in capsys.readouterr().out


def test_why_it_did_not_start_is_said_for_any_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "left").write_text("vector/units/* in work\n")
    for options in (["--only", "vector/units/*"], ["--skip", str(tmp_path / "left")]):
        status, report = run(tmp_path, "--decoder", "/no/such/decoder", *options)
        assert status == 1 and [result.family for result in report.results] == ["start"]
        assert "/no/such/decoder" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("role", "told", "why"),
    [
        ("registry-client", "profiles=[]", "given as registry-client, but claims only decoder"),
        ("encoder", "roles=['encoder']", "no profile to write under"),
        ("decoder", "families=['mixng']", "an unknown family: mixng"),
    ],
)
def test_one_that_says_something_wrong_of_itself_fails(role: str, told: str, why: str, tmp_path: Path) -> None:
    status, report = run(tmp_path, f"--{role}", command(f"serve(print, {told})"), "--only", "start/*")
    (result,) = report.results
    assert status == 1 and result.verdict == "failed" and why in result.reason


def test_cases_of_different_implementations_alternate() -> None:
    made = [
        Case(result("passed", *labels).model_copy(update={"id": str(i)}), Outcome)
        for i, labels in enumerate(["a", "a", "a", "b", "ab", "b"])
    ]
    assert [case.id for case in _alternating(made)] == ["0", "3", "4", "1", "5", "2"]


def test_who_leaves_out_what_a_class_does_not_ask_for_conforms() -> None:
    """A basic reader names the families of its class alone; of other classes it is not tested, and nothing fails."""
    rules = CLASSES["basic-reader"]
    named = [vector(family, "passed") for family in rules.required]
    others = {family for other in CLASSES.values() if other.role == "decoder" for family in other.required}
    left = [vector(family, "skipped") for family in ("numeric", *sorted(others - set(rules.required)))]
    subjects = [given("d", "decoder")]
    found = {v.conformance_class: v for v in verdicts(subjects, [*named, *left])}
    assert {name: v.verdict for name, v in found.items()} == {
        "basic-reader": "conforms", "full-reader": "not tested", "light-reader": "not tested",
        "profile-loader": "not tested",
    }  # fmt: skip
    assert found["full-reader"].why and not found["basic-reader"].why
    for failing in ("units", "decode", "numeric"):
        worse = {v.conformance_class: v.verdict for v in verdicts(subjects, [*named, *left, vector(failing, "failed")])}
        assert (worse["basic-reader"] == "does not conform") == (failing != "decode")
        assert worse["full-reader"] == "does not conform"
        assert worse["light-reader"] == "not tested"


def test_every_family_is_evidence_for_a_class() -> None:
    named = {family for rules in CLASSES.values() for family in rules.families}
    assert named == {*FAMILIES, *(text.name for text in TEXTS), "human", "asked", "numeric", "start"}


def result(verdict: Any, *labels: str, family: str = "round-trip", **more: Any) -> results.Result:
    told = {
        "id": "/".join((family, *labels)), "kind": "statistical", "family": family, "section": "10", "comment": "",
        "verdict": verdict, "implementations": labels, "classes": ["encoder", "basic-reader", "full-reader"],
    }  # fmt: skip
    return results.Result.model_validate(told | more)


def vector(family: str, verdict: Any) -> results.Result:
    reason = "" if verdict == "passed" else f"it does not declare the family {family}"
    classes = classes_of(family, ["decoder"])
    return result(verdict, "d", family=family, kind="exact", reason=reason, classes=classes)


def given(label: str, role: str) -> Any:
    """As much of a subject as a verdict looks at."""
    return SimpleNamespace(label=label, roles=[role])


@pytest.mark.parametrize(
    ("found", "blamed"),
    [
        ([("failed", "e", "d")], {"e", "d"}),
        ([("failed", "e", "d"), ("failed", "d")], {"d"}),
        ([("failed", "e", "d"), ("failed", "e", "d2"), ("passed", "e2", "d"), ("passed", "e2", "d2")], {"e"}),
        ([("failed", "e", "d"), ("failed", "e2", "d"), ("passed", "e", "d2"), ("passed", "e2", "d2")], {"d"}),
        ([("failed", "e", "d"), ("passed", "e", "d2"), ("passed", "e2", "d"), ("passed", "e2", "d2")], {"e", "d"}),
    ],
)
def test_who_is_blamed_for_a_round_trip(found: list[tuple[str, ...]], blamed: set[str]) -> None:
    made = [result(verdict, *labels, family="round-trip" if len(labels) > 1 else "human") for verdict, *labels in found]
    labels = {label for _, *names in found for label in names}
    subjects = [given(label, "encoder" if label[0] == "e" else "decoder") for label in sorted(labels)]
    assert {v.implementation for v in verdicts(subjects, made) if v.verdict == "does not conform"} == blamed


def test_what_only_a_broken_partner_could_show_is_missing() -> None:
    """An excused failure is no pass: without another partner the verdict stays open."""
    found = [
        result("passed", "d", family="human"), result("passed", "e2", "d"), result("failed", "e", "d", family="tagged"),
        result("failed", "e", family="start"),
    ]  # fmt: skip
    subjects = [given("d", "decoder")]

    def full(results: list[Any]) -> Any:
        return next(v for v in verdicts(subjects, results) if v.conformance_class == "full-reader")

    assert full(found).verdict == "not tested"
    assert any("tagged/e/d" in why for why in full(found).why)
    assert not any("tagged" in why for why in full([*found, result("passed", "e2", "d", family="tagged")]).why)
    both = [result("failed", "d", "d")]  # one implementation on both sides
    assert full(both).verdict == "does not conform"


def test_what_one_partner_leaves_out_another_may_show() -> None:
    """A basic reader reads no records, so it shows nothing of an encoder's; a full reader does."""
    families = ("round-trip", "tagged")
    basic = [result("passed", "e", "d"), result("skipped", "e", "d", family="tagged")]
    full = [result("passed", "e", "d2", family=family) for family in families]
    subjects = [given("e", "encoder")]
    assert [v.verdict for v in verdicts(subjects, basic)] == ["not tested"]
    assert [v.verdict for v in verdicts(subjects, [*basic, *full])] == ["conforms"]


def test_no_answer_takes_the_report_along(tmp_path: Path) -> None:
    """No text at all, numbers that no float holds, characters that no XML has, one command on both sides."""
    (tmp_path / "slow").write_text("human/* left out\n")
    both = command(HOSTILE.replace("FAMILIES", r"""["nope\ufffe\u001b[2J", "null"]"""))
    given = ["--encoder", both, "--decoder", both, "--skip", str(tmp_path / "slow")]
    status, report = run(tmp_path / "out", *given)
    assert status == 1
    assert {verdict.verdict for verdict in report.verdicts} == {"does not conform"}
    assert not [found for found in report.results if "fault of the suite" in found.reason]
    assert all((tmp_path / "out" / name).exists() for name in ("report.json", "junit.xml", "report.html"))
    assert "\x1b" not in (tmp_path / "out" / "report.json").read_text(encoding="utf-8")


HANGING = """
def answer(request):
    open("asked", "w").write(str(os.getpid()))
    time.sleep(600)
serve(answer)
"""
SUITE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background would ignore it
from ctwl_conformance.command import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is no signal there")
def test_ctrl_c_waits_for_nobody(tmp_path: Path) -> None:
    suite = [sys.executable, "-c", SUITE, "run", "--out", "report", "--decoder", command(HANGING), "--jobs", "2"]
    running = subprocess.Popen(suite, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    asked, deadline = tmp_path / "asked", time.monotonic() + 120
    try:
        while running.poll() is None and time.monotonic() < deadline and not (asked.exists() and asked.read_text()):
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=120)  # the adapter would take ten minutes
    finally:
        running.kill()
    assert running.returncode == 2
    assert said == "ctwl-conformance: interrupted\n"
    with pytest.raises(ProcessLookupError):
        os.kill(int(asked.read_text()), 0)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("run --out new", "--decoder"),
        ("run --out new --decoder ''", "argument --decoder"),
        ('run --out new --decoder "a \'b"', "argument --decoder"),
        ("run --out new --decoder x --jobs 0", "argument --jobs"),
        ("run --out new --decoder x --seed -1", "argument --seed"),
        ("run --out new --decoder x --seed 9999999", "argument --seed"),
        ("run --out new --decoder x --time-limit nan", "argument --time-limit"),
        ("run --out new --decoder x --start-limit 0", "argument --start-limit"),
        ("adapter detector --url http://127.0.0.1:1/ --provider 5000", "from 0 to 1023"),
        ("adapter detector --url http://127.0.0.1:1/ --provider 5 --keep-days 500", "from 0 to 366"),
        ("adapter detector --url http://127.0.0.1:1/ --provider 5 --found other", "as UTF-8"),
        ("adapter detector --url http://127.0.0.1:1/ --provider 5 --token /no/such/file", "cannot read /no/such/file"),
        ("adapter http --url http://[::1", "no address"),
        ("adapter encoder --strategy nonsense", "--strategy is one of"),
        pytest.param("adapter encoder --strength 99", "share", marks=pytest.mark.slow),  # it loads torch
    ],
)
def test_what_was_given_wrong_is_said_in_a_line(
    line: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("other").write_bytes(b"\xff\xfe")
    try:
        status = main(shlex.split(line))
    except SystemExit as stopped:
        status = int(stopped.code or 0)
    said = capsys.readouterr().err
    assert status == 2 and says in said and "Traceback" not in said and not Path("new").exists()

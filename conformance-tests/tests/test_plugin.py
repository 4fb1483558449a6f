"""The pytest plug-in, in a pytest of its own."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest
from scripted import command

import ctwl_conformance.run.cases  # noqa: F401 - a pytest inside this one must not be the first to load what is compiled

pytest_plugins = ["pytester"]

SCRIPT = """
def answer(request):
    reply(request, **{"ok": {"status": "non-canonical"}} if request["op"] == "vector" else {"skip": "not yet"})
serve(answer, name="odd", profiles=["org.example.1"])
"""


def options() -> list[str]:
    given = ["--ctwl-decoder", command(SCRIPT), "-p", "no:cacheprovider"]
    return given if entry_points(group="pytest11", name="ctwl") else ["-p", "ctwl_conformance.plugin", *given]


def test_each_case_is_a_test_beside_others(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_mine(): pass")
    done = pytester.runpytest_inprocess(
        *options(), "-v", "-k", "mine or (start/ and not at-the) or vector/canonical/an or human/"
    )
    outcomes = done.parseoutcomes()
    assert outcomes["passed"] >= 3 and outcomes["failed"] >= 1 and outcomes["skipped"] == 1
    text = done.stdout.str()
    assert 'expected {"encoded"' in text and "(spec 4.1: " in text
    assert "Traceback" not in text and "cases.py" not in text
    assert done.ret == pytest.ExitCode.TESTS_FAILED


def test_what_is_known_beforehand(pytester: pytest.Pytester) -> None:
    known = pytester.path / "known"
    known.write_text("vector/* to be mended\n")
    done = pytester.runpytest_inprocess(*options(), "-k", "vector/canonical/a-map", "--ctwl-xfail", str(known))
    assert done.parseoutcomes()["xfailed"] >= 1
    known.write_text("vector/none to be mended\n")
    done = pytester.runpytest_inprocess(*options(), "--ctwl-xfail", str(known))
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "no case is called vector/none" in done.stderr.str()


def test_a_seed_is_bounded(pytester: pytest.Pytester) -> None:
    done = pytester.runpytest_inprocess(*options(), "--ctwl-seed", str((1 << 20) + 1))
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "--ctwl-seed is 1048577; it must lie between 0 and 1048576" in done.stderr.str()


def test_without_its_options_the_plug_in_does_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_mine(): pass")
    given = [option for option in options() if option.startswith(("-p", "no:", "ctwl_"))]
    assert pytester.runpytest_inprocess(*given).parseoutcomes() == {"passed": 1}

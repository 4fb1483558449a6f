"""The report as JUnit XML, which every CI reads."""

from __future__ import annotations

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from .results import ClassVerdict, Report, Result


def render(report: Report) -> str:
    """One suite for each family, one test case for each result; and a suite of the verdicts."""
    document = JUnitXml("ctwl-conformance")
    suites: dict[str, TestSuite] = {}
    for result in report.results:
        suite = suites.setdefault(result.family, TestSuite(result.family))
        suite.add_testcase(_case(result))
    suites["verdicts"] = TestSuite("verdicts")
    for verdict in report.verdicts:
        suites["verdicts"].add_testcase(_verdict(verdict))
    for suite in suites.values():
        suite.timestamp = report.date
        document.add_testsuite(suite)
    document.update_statistics()  # type: ignore[no-untyped-call]
    return str(document.tostring().decode("utf-8"))  # type: ignore[no-untyped-call]


def _verdict(found: ClassVerdict) -> TestCase:
    case = TestCase(
        f"{found.conformance_class}/{found.implementation}", classname=f"verdicts.{found.conformance_class}"
    )
    why = "; ".join(found.why)
    match found.verdict:
        case "does not conform":
            case.result = [Failure(why, found.verdict)]
        case "not tested":
            case.result = [Skipped(f"{found.verdict}: {why}")]
    case.system_out = found.verdict
    return case


def _case(result: Result) -> TestCase:
    case = TestCase(result.id, classname=f"{result.kind}.{result.family}", time=result.seconds)
    note = f"spec {result.section}: {result.comment}"
    match result.verdict:
        case "failed":
            case.result = [Failure(result.reason, "wrong-answer")]
        case "errored":
            case.result = [Error(result.reason, result.error)]
        case "skipped":
            case.result = [Skipped(result.reason)]
        case "xfailed":
            case.result = [Skipped(f"expected failure: {result.reason}", "xfail")]
    if told := result.statistics or result.measure:
        note += f"; {told}"
    case.system_out = note
    if result.stderr:
        case.system_err = result.stderr
    return case

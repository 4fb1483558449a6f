"""The pytest plug-in: every case is a test, for the CI of an implementation.

pytest --ctwl-decoder "node my-decoder.js" --ctwl-encoder "ctwl-conformance adapter toy"
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .run.classes import ROLES

if TYPE_CHECKING:
    from .run.bench import Bench
    from .run.cases import Case
    from .run.exceptions import Exceptions
    from .run.results import Result

_BENCH: pytest.StashKey[Bench] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of ``ctwl-conformance run`` that a test run needs."""
    group = parser.getgroup("ctwl", "CTWL conformance")
    for role, what in ROLES.items():
        group.addoption(f"--ctwl-{role}", action="append", default=[], metavar="CMD", help=f"adapter of {what}")
    group.addoption("--ctwl-size", choices=["quick", "standard", "thorough"], default="quick", help="how many texts")
    group.addoption("--ctwl-seed", type=int, default=1, help="of records, samples and edits")
    group.addoption(
        "--ctwl-skip", type=Path, metavar="FILE", help="cases to leave out: lines of a pattern and a reason"
    )
    group.addoption("--ctwl-xfail", type=Path, metavar="FILE", help="cases that must fail: a pattern and a reason")
    group.addoption("--ctwl-time-limit", type=float, default=120.0, metavar="S", help="seconds for a request")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the cases after the collected tests, before other plug-ins deselect any."""
    given: dict[Any, list[str]] = {role: config.getoption(f"ctwl_{role.replace('-', '_')}") for role in ROLES}
    if not any(given.values()):
        return
    from ctwl_protocol import CTWLError

    from .adapter import Limits
    from .run import bench as benches
    from .run.cases import all_cases
    from .run.exceptions import Exceptions
    from .run.texts import SEEDS

    if (seed := config.getoption("ctwl_seed")) not in SEEDS:
        raise pytest.UsageError(f"ctwl: --ctwl-seed is {seed}; it must lie between 0 and {SEEDS[-1]}")
    try:
        exceptions = Exceptions.of(config.getoption("ctwl_skip"), config.getoption("ctwl_xfail"))
        bench = benches.Bench(
            given,
            size=config.getoption("ctwl_size"),
            seed=seed,
            limits=Limits(request=config.getoption("ctwl_time_limit")),
        )
        config.stash[_BENCH] = bench
        cases = list(all_cases(bench))
        if bench.all_started:
            exceptions.check(case.id for case in cases)
    except CTWLError as error:
        raise pytest.UsageError(f"ctwl: {error}") from error
    items += [CaseItem.of(session, case, exceptions) for case in cases]


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """End the adapters."""
    if bench := config.stash.get(_BENCH, None):
        bench.close()


class WrongAnswer(Exception):
    """A case did not pass. Pytest shows it without a traceback."""


class CaseItem(pytest.Item):
    """One case."""

    case: Case
    exceptions: Exceptions

    @classmethod
    def of(cls, session: pytest.Session, case: Case, exceptions: Exceptions) -> CaseItem:
        """The test of a case."""
        item: CaseItem = cls.from_parent(session, name=case.id, nodeid=f"ctwl::{case.id}")
        item.case, item.exceptions = case, exceptions
        return item

    def runtest(self) -> None:
        """Run the case. Its result is the outcome of this test."""
        result = self.case.run(self.exceptions)
        self.user_properties += _properties(result)
        match result.verdict:
            case "skipped":
                pytest.skip(result.reason)
            case "xfailed":
                pytest.xfail(result.reason)
            case "failed" | "errored":
                raise WrongAnswer("\n".join(part for part in (_told(result), result.stderr) if part))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What was wrong, without a traceback of the suite."""
        if isinstance(excinfo.value, WrongAnswer):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where pytest says that the test is."""
        return Path("ctwl"), None, self.case.id


def _told(result: Result) -> str:
    return f"{result.verdict}: {result.reason} (spec {result.section}: {result.comment})"


def _properties(result: Result) -> Iterator[tuple[str, str]]:
    yield "spec", result.section
    if result.statistics:
        yield "successes", f"{result.statistics.successes} of {result.statistics.trials}"
    if result.measure:
        yield result.measure.name, f"{result.measure.value:.3g}"

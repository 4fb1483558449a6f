"""Run all cases, a few at a time, and put the report together."""

from __future__ import annotations

import platform
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from .. import __version__
from . import junit, page
from .bench import Bench
from .cases import Case, all_cases
from .exceptions import Exceptions, ExceptionsMalformed
from .results import Report, Result
from .verdicts import verdicts


def run(
    bench: Bench,
    exceptions: Exceptions,
    *,
    jobs: int = 1,
    only: Sequence[str] = ("*",),
    deadline: float | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Report:
    """Run every case of these implementations.

    Args:
        bench: the implementations.
        exceptions: what is known beforehand.
        jobs: cases that are run side by side.
        only: patterns of case ids, as in a shell; other cases are left out.
        deadline: seconds after which no further case begins; None for no end.
        progress: called with the cases done and their number.

    Raises:
        ExceptionsMalformed: an exception, or ``only``, is about no case. Where an implementation did not start, nobody
            knows which cases it has; the report then says why it did not, whatever ``only`` is.
    """
    began, date = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    cases = list(all_cases(bench))
    if bench.all_started:
        exceptions.check(case.id for case in cases)
    wanted = only if bench.all_started else [*only, "start/*"]
    cases = [case for case in cases if any(fnmatchcase(case.id, each) for each in wanted)]
    if not cases:
        raise ExceptionsMalformed(f"no case is called {' or '.join(only)}; a report has the ids of all cases")
    found = {}

    def judged(case: Case) -> Result:
        if deadline is not None and time.monotonic() - began > deadline:
            return case.left_out(f"the run had taken {deadline:g} seconds, its deadline")
        return case.run(exceptions)

    with ThreadPoolExecutor(jobs) as pool:
        try:
            for result in pool.map(judged, _alternating(cases)):
                found[result.id] = result
                progress(len(found), len(cases))
        except BaseException:  # such as Ctrl-C: do not wait for answers that nobody needs
            bench.abort()
            raise
    results = [found[case.id] for case in cases]
    return Report(
        suite=__version__,
        date=date,
        python=platform.python_version(),
        machine=f"{platform.system()} {platform.machine()}",
        size=bench.size,
        seed=bench.seed,
        seconds=round(time.monotonic() - began, 1),
        implementations=[subject.describe() for subject in bench.subjects],
        verdicts=verdicts(bench.subjects, results),
        results=results,
    )


def _alternating(cases: Sequence[Case]) -> list[Case]:
    """Cases of different implementations take turns: one implementation answers one question at a time."""
    asked: Counter[tuple[str, ...]] = Counter()

    def turn(case: Case) -> int:
        implementations = tuple(case.question.implementations)
        asked[implementations] += 1
        return asked[implementations]

    return sorted(cases, key=turn)


def write(report: Report, folder: Path) -> Sequence[Path]:
    """Write the report as JSON, as JUnit XML and as one HTML page; the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    made: dict[str, Callable[[], str]] = {
        "report.json": lambda: report.model_dump_json(indent=1) + "\n",  # first: the other files can be made of it
        "junit.xml": lambda: junit.render(report),
        "report.html": lambda: page.render(report),
    }
    for name, text in made.items():
        (folder / name).write_text(text(), encoding="utf-8")
    return [folder / name for name in made]

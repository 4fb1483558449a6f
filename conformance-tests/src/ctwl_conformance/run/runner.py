"""Run all cases, a few at a time, and put the report together."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

from .. import __version__
from . import junit, page
from .bench import Bench
from .cases import Case, all_cases
from .exceptions import Exceptions
from .results import Report, Result, machine, now
from .verdicts import verdicts

__all__ = ["run", "write"]


def run(
    bench: Bench,
    exceptions: Exceptions,
    *,
    jobs: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Report:
    """Ask everything that these implementations can be asked.

    Args:
        bench: the implementations.
        exceptions: what is known beforehand.
        jobs: cases that are run side by side.
        progress: called with the steps done and their number.

    Raises:
        ExceptionsMalformed: an exception that is about no case.
    """
    began, date = time.monotonic(), now()
    cases = list(all_cases(bench))
    exceptions.check(case.id for case in cases)
    total, steps = sum(case.steps for case in cases), count(1)
    bench.on_step = lambda: progress(next(steps), total)

    def one(case: Case) -> Result:
        reason = exceptions.skipped(case.id)
        if reason is not None:
            return Result(id=case.id, **case.about(), verdict="skipped", reason=reason)
        return exceptions.applied(case.run(bench))

    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(one, case) for case in cases]
        try:
            results = [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return Report(
        suite=__version__,
        date=date,
        python=platform.python_version(),
        machine=machine(),
        size=bench.size,
        seed=bench.seed,
        seconds=round(time.monotonic() - began, 1),
        implementations=[subject.describe() for subject in bench.subjects],
        verdicts=verdicts(bench.subjects, results),
        results=results,
    )


def write(report: Report, folder: Path) -> Sequence[Path]:
    """Write the report as JSON, as JUnit XML and as one HTML page; the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {
        "report.json": report.model_dump_json(indent=1) + "\n",
        "junit.xml": junit.render(report),
        "report.html": page.render(report),
    }
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in made]

"""Run all cases, a few at a time, and put the report together."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import Condition
from typing import TypeVar

from .. import __version__
from . import junit, page
from .bench import Bench
from .cases import Case, all_cases
from .exceptions import Exceptions
from .results import Report, Result, machine, now
from .verdicts import verdicts

__all__ = ["run", "side_by_side", "write"]

T = TypeVar("T")
U = TypeVar("U")


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

    takes = [case.about()["implementations"] for case in cases]
    results = side_by_side(one, cases, takes, jobs, broken_off=bench.abort)
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


def side_by_side(
    work: Callable[[T], U],
    items: Sequence[T],
    takes: Sequence[Sequence[str]],
    jobs: int,
    *,
    broken_off: Callable[[], None] = lambda: None,
) -> list[U]:
    """The results, in order, of work on several items at a time, none of which take the same thing.

    An implementation answers one question at a time: a worker that waits for it had better ask another.

    Args:
        work: what is done.
        items: with what.
        takes: what each of them takes.
        jobs: how many at a time.
        broken_off: called where the work ends early, as by Ctrl-C, to end what is under way.
    """
    results: dict[int, U] = {}
    waiting, busy, changed = list(range(len(items))), set[str](), Condition()

    def worker() -> None:
        while True:
            with changed:
                changed.wait_for(lambda: not waiting or any(busy.isdisjoint(takes[i]) for i in waiting))
                if not waiting:
                    return
                chosen = next(i for i in waiting if busy.isdisjoint(takes[i]))
                waiting.remove(chosen)
                busy.update(takes[chosen])
            try:
                results[chosen] = work(items[chosen])
            finally:
                with changed:
                    busy.difference_update(takes[chosen])
                    changed.notify_all()

    with ThreadPoolExecutor(jobs) as pool:
        try:
            for future in [pool.submit(worker) for _ in range(jobs)]:
                future.result()
        except BaseException:
            with changed:
                waiting.clear()
                changed.notify_all()
            broken_off()
            raise
    return [results[i] for i in range(len(items))]


def write(report: Report, folder: Path) -> Sequence[Path]:
    """Write the report as JSON, as JUnit XML and as one HTML page; the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    made: dict[str, Callable[[], str]] = {
        "report.json": lambda: report.model_dump_json(indent=1) + "\n",  # first: the others can be made of it
        "junit.xml": lambda: junit.render(report),
        "report.html": lambda: page.render(report),
    }
    for name, text in made.items():
        (folder / name).write_text(text(), encoding="utf-8")
    return [folder / name for name in made]

r"""``ctwl-conformance run``: adapters in, a report out.

an adapter is a command line, such as "node my-decoder.js" or "ctwl-conformance adapter decoder"; ADAPTERS.md says what
it reads and writes. For example, the reference with the toy provider, without weights; it needs ctwl-decoder:

  ctwl-conformance run --out report --encoder "ctwl-conformance adapter toy" \
      --decoder "ctwl-conformance adapter decoder"

exit status: 0 nothing failed; 1 a case failed or gave no answer; 2 an error.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, get_args

from ctwl_protocol.command import help_in, whole_number

from ..adapter import Limits
from ..adapter.driver import command_words
from .classes import ROLES
from .results import Conformance, Report, Verdict
from .texts import SEEDS, SIZES

_LINES, _REASONS, _SAID = 8, 3, 300
"""The summary shows this many of the last lines that an adapter wrote, this many reasons of a verdict, and this many
characters of each. All were chosen by hand; only the summary depends on them."""

_COLOURS: dict[Conformance, str] = {"conforms": "green", "not tested": "yellow", "does not conform": "red"}


def add_commands(commands: Any) -> None:
    """Add the command ``run``."""
    parser = commands.add_parser(
        "run",
        help="drive encoders, decoders, registry clients and detectors, and write a report",
        epilog=help_in(__doc__),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for role, what in ROLES.items():
        parser.add_argument(
            f"--{role}", action="append", type=_command, default=[], metavar="CMD", help=f"{what}; repeat for several"
        )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the report")
    parser.add_argument("--skip", type=Path, metavar="FILE", help="cases to leave out: lines of a pattern and a reason")
    parser.add_argument(
        "--xfail", type=Path, metavar="FILE", help="cases that must fail: lines of a pattern and a reason"
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="PATTERN",
        help="the cases of these ids alone, such as 'vector/units/*'; repeat it (default all)",
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", dest="size", action="store_const", const="quick", help="few texts")
    size.add_argument("--size", choices=SIZES, help="how many texts (default standard)")
    parser.add_argument(
        "--seed", type=whole_number(0, SEEDS[-1]), default=1, help="of records, samples and edits (default 1)"
    )
    parser.add_argument("--jobs", type=whole_number(1, 256), default=1, metavar="N", help="cases at a time (default 1)")
    parser.add_argument("--start-limit", type=_seconds, default=Limits.start, metavar="S",
                        help=f"seconds that an adapter may take to start (default {Limits.start:g})")  # fmt: skip
    parser.add_argument("--time-limit", type=_seconds, default=Limits.request, metavar="S",
                        help=f"seconds for any other request (default {Limits.request:g})")  # fmt: skip
    parser.add_argument("--deadline", type=_seconds, metavar="S",
                        help="seconds after which no further case begins, and the report is written")  # fmt: skip
    parser.set_defaults(run=run_suite)


def _seconds(given: str) -> float:
    """A type of argparse: how long something may take, at most a day."""
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise argparse.ArgumentTypeError(f"{given!r} is no number of seconds from above 0 to 86400")
    return seconds


def _command(given: str) -> str:
    """A type of argparse: a command line."""
    try:
        words = command_words(given)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{given!r} is not a command: {error}") from error
    if not words:
        raise argparse.ArgumentTypeError("a command has at least one word")
    return given


def run_suite(options: argparse.Namespace) -> int:
    """Run the cases, write the report, print the summary."""
    from rich.console import Console
    from rich.progress import Progress, TimeElapsedColumn, TimeRemainingColumn

    from .bench import Bench, Commands
    from .exceptions import Exceptions
    from .runner import run, write

    commands: Commands = {role: getattr(options, role.replace("-", "_")) for role in ROLES}
    if not any(commands.values()):
        print(f"ctwl-conformance: name an adapter: {', '.join(f'--{role}' for role in ROLES)}", file=sys.stderr)
        return 2
    exceptions = Exceptions.of(options.skip, options.xfail)
    options.out.mkdir(parents=True, exist_ok=True)
    limits = Limits(start=options.start_limit, request=options.time_limit)
    console = Console(stderr=True)
    columns = (*Progress.get_default_columns()[:-1], TimeRemainingColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("starting", total=None)
        with Bench(commands, size=options.size or "standard", seed=options.seed, limits=limits) as bench:
            report = run(
                bench,
                exceptions,
                jobs=options.jobs,
                only=options.only or ["*"],
                deadline=options.deadline,
                progress=lambda done, total: bar.update(task, completed=done, total=total, description="running"),
            )
    paths = write(report, options.out)
    _tell(report, Console())
    print(f"report: {', '.join(str(path) for path in paths)}")
    return 0 if report.good else 1


def _tell(report: Report, console: Any) -> None:
    """Print the summary: rates and measures, what went wrong, the verdicts."""
    from rich.table import Table
    from rich.text import Text

    for result in report.results:
        if number := result.statistics or result.measure:
            console.print(Text(f"{result.verdict:8} {result.id}  {number}"), soft_wrap=True)
    for result in report.results:
        if result.verdict in ("failed", "errored"):
            line = f"{result.verdict:8} {result.id} (spec {result.section}, {result.comment}): {result.reason}"
            console.print(Text(line, style="red"), soft_wrap=True)
            for said in result.stderr.strip().splitlines()[-_LINES:]:
                console.print(Text(f"{'':8} | {said[:_SAID]}"), soft_wrap=True)
    table = Table("implementation", "class", "verdict", "cases")
    for verdict in report.verdicts:
        counts = ", ".join(f"{count} {name}" for name, count in verdict.counts.items())
        shown = Text(verdict.verdict, style=_COLOURS[verdict.verdict])
        table.add_row(verdict.implementation, verdict.conformance_class, shown, counts)
    console.print(table)
    for verdict in report.verdicts:
        if verdict.why:
            reasons, left = "; ".join(why[:_SAID] for why in verdict.why[:_REASONS]), len(verdict.why) - _REASONS
            more = f"; and {left} more, see the report" if left > 0 else ""
            line = f"{verdict.implementation}, {verdict.conformance_class}: {verdict.verdict}: {reasons}{more}"
            console.print(Text(line), soft_wrap=True)
    numbers = [(sum(r.verdict == name for r in report.results), name) for name in get_args(Verdict)]
    counted = ", ".join(f"{number} {name}" for number, name in numbers if number)
    console.print(f"{counted}; {len(report.results)} cases in {report.seconds:.0f} s")

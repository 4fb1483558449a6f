"""Run the experiments whose results are missing, draw the figures and write the tables: the whole page by one command.

Each result is its own file, written when its experiment is done; what was written and weighed for it lies in
``kept/``. So a run that was stopped goes on where it was. A result that is there is taken for good: with --again it is
found anew. In all it takes most of a day on two cores. A --quick run shows its page on the terminal.

    python evaluation/everything.py --human TEXT TEXT ... --reference CHECKOUT
    python evaluation/everything.py --quick --results quick      # does all of it run?
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import report
from common import RESULTS
from plots import FOLDER, draw_all
from sections import sections

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Experiment:
    """A command that writes one result.

    Attributes:
        name: of the result; the command's too, where no other is named.
        command: the module.
        options: what it is called with.
        takes: the option whose files it is given.
        quick: whether it has a size for CI.
        texts: whether a number of texts says its size; ``preservation`` needs its own.
    """

    name: str
    command: str = ""
    options: tuple[str, ...] = ()
    takes: str = ""
    quick: bool = False
    texts: bool = True

    def arguments(self, out: Path, files: list[Path], size: list[str]) -> list[str]:
        """The command line."""
        module = HERE / f"{self.command or self.name}.py"
        size = size if self.quick and (self.texts or size == ["--quick"]) else []
        return [sys.executable, str(module), *self.options, *size, "--out", str(out), *map(str, files)]


EXPERIMENTS = (
    Experiment("curves", quick=True),
    Experiment("ablations", quick=True),
    Experiment("entropy", quick=True),
    Experiment("gumbel", quick=True),
    Experiment("lengths", quick=True),
    Experiment("attacks", quick=True),
    Experiment("preservation", quick=True, texts=False),
    Experiment("diversity", quick=True),
    Experiment("approximations", quick=True),
    Experiment("detection", takes="human", quick=True),
    Experiment("reference", takes="reference"),
    Experiment("recovery"),
    Experiment("quality"),
    Experiment("modes"),
    Experiment("asked", quick=True),
    Experiment("records"),
    Experiment("private"),
    Experiment("substitution"),
    Experiment("false_positives", takes="human"),
    Experiment("pasted", "documents", ("--human", "0"), takes="human"),
    Experiment("documents", "documents", ("--pasted", "0"), takes="human"),
    Experiment("numerics"),
    Experiment("lookahead"),
    Experiment("bridge"),
    Experiment("load"),
    Experiment("bench"),
)


def main() -> int:
    """Run, draw, write; the exit status is 1 where an experiment failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--human", nargs="+", type=Path, default=[], help="files of human text, UTF-8")
    parser.add_argument("--reference", nargs=1, type=Path, default=[], help="a checkout of the paper's code")
    parser.add_argument("--only", nargs="+", choices=[e.name for e in EXPERIMENTS], help="these alone")
    parser.add_argument("--again", action="store_true", help="also those whose results are there")
    parser.add_argument("--quick", action="store_true", help="the size for CI, of the experiments that have one")
    parser.add_argument("--texts", type=int, help="so many for each method, for faster machines (default: its own)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where results lie (default: results/)")
    options = parser.parse_args()
    if options.quick and options.results == RESULTS:
        parser.error("results of a --quick run are no results: name another folder with --results")
    size = ["--quick"] if options.quick else ["--texts", str(options.texts)] if options.texts else []
    failed = []
    for experiment in EXPERIMENTS:
        out = options.results / f"{experiment.name}.json"
        if (options.only and experiment.name not in options.only) or (options.quick and not experiment.quick):
            continue
        if out.exists() and not options.again:
            print(f"{experiment.name}: there already")
        elif experiment.takes and not getattr(options, experiment.takes):
            print(f"{experiment.name}: left out, it takes what --{experiment.takes} names (see --help)")
        else:
            print(f"{experiment.name}: running")
            start = time.monotonic()
            files = getattr(options, experiment.takes) if experiment.takes else []
            given = experiment.arguments(out, files, size)
            status = subprocess.run(given, stdout=subprocess.DEVNULL, check=False).returncode
            failed += [experiment.name] * (status != 0)
            ended = f"failed, status {status}" if status else "done"
            print(f"{experiment.name}: {ended}, {(time.monotonic() - start) / 60:.1f} minutes")
    if options.results == RESULTS:
        draw_all(RESULTS, FOLDER)
        report.main([])
    else:
        draw_all(options.results, options.results / "figures")
        print(*sections(options.results), sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

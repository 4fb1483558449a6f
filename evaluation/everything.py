"""Run the experiments whose results are missing, draw the figures and write the tables: the whole page by one command.

Each result is its own file, written when its experiment is done; texts, and what the proxy LM says of them, are kept in
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
from importlib import import_module
from pathlib import Path

import report
from experiment import FILES, RESULTS, Experiment
from plots import draw_all

NAMES = (
    "curves", "ablations", "entropy", "gumbel", "defaults", "dial", "plan", "chat", "beside", "lengths", "light",
    "light_speed", "browser",
    "attacks", "preservation", "diversity", "detection", "reference", "recovery", "quality", "modes",
    "asked", "records", "private", "substitution", "edits", "false_positives", "pasted", "documents", "numerics",
    "lookahead", "bridge", "device", "serving", "load", "bench", "example",
)  # fmt: skip
"""The modules of the experiments; the results have the same names."""


def experiments() -> list[Experiment]:
    """Every experiment."""
    return [import_module(name).main for name in NAMES]


def run(each: Experiment, out: Path, files: list[Path], *, quick: bool) -> bool:
    """Run an experiment in a process of its own; whether it failed."""
    start = time.monotonic()
    command = [sys.executable, str(Path(__file__).with_name(f"{each.name}.py")), *["--quick"] * quick]
    status = subprocess.run([*command, "--out", out, *files], stdout=subprocess.DEVNULL, check=False).returncode
    print(f"{each.name}: exit status {status} after {(time.monotonic() - start) / 60:.1f} minutes", flush=True)
    return status != 0


def main() -> int:
    """Run, draw, write; the exit status is 1 where an experiment failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for kind, files in FILES.items():
        parser.add_argument(f"--{kind}", nargs="+", type=Path, default=[], help=files)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, help="these alone")
    parser.add_argument("--again", action="store_true", help="also those whose results are there")
    parser.add_argument("--quick", action="store_true", help="each at its smallest size")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where results lie (default: results/)")
    options = parser.parse_args()
    if options.quick and options.results == RESULTS:
        parser.error("results of a --quick run are no results: name another folder with --results")
    failed = False
    for each in experiments():
        out, files = options.results / f"{each.name}.json", getattr(options, each.takes) if each.takes else []
        if each.name not in options.only:
            continue
        if out.exists() and not options.again:
            print(f"{each.name}: there already")
        elif each.takes and not files:
            print(f"{each.name}: left out, it takes what --{each.takes} names (see --help)")
        else:
            failed |= run(each, out, files, quick=options.quick)
    draw_all(options.results)
    if options.results == RESULTS:
        report.main([])
    else:
        print(report.filled("results", options.results))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

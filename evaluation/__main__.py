"""Run the experiments whose results are missing, then draw the figures and write the pages.

Each result is its own file, written when its experiment is done; texts, and what the proxy LM says of them, are kept in
``kept/``. So a run that was stopped goes on where it was. A result that is there is taken for good, unless it was read
at another level; with --again it is found anew. In all it takes most of a day on two cores. A --quick run shows its
page on the terminal.

    python -m evaluation --human TEXT TEXT ... --reference CHECKOUT
    python -m evaluation --quick --results quick      # does all of it run?
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from . import report
from .plots import draw_all
from .shared.experiment import FILES, RESULTS, ROOT, Experiment

QUESTIONS = ("reading", "writing", "robustness", "comparison", "speed")
"""The folders of the experiments."""


def experiments() -> list[Experiment]:
    """Every experiment: what a module of these folders calls ``main``."""
    folders = {question: [str(RESULTS.parent / question)] for question in QUESTIONS}
    names = [f"{__package__}.{name}.{each.name}" for name, path in folders.items() for each in iter_modules(path)]
    mains = (getattr(import_module(name), "main", None) for name in names)
    return [main for main in mains if isinstance(main, Experiment)]


def run(each: Experiment, out: Path, files: Sequence[Path], *, quick: bool) -> bool:
    """Run an experiment in a process of its own; whether it failed."""
    start = time.monotonic()
    command = [sys.executable, "-m", each.module, *["--quick"] * quick]
    paths: list[str | Path] = ["--out", out.resolve(), *(file.resolve() for file in files)]
    status = subprocess.run([*command, *paths], stdout=subprocess.DEVNULL, cwd=ROOT, check=False).returncode
    print(f"{each.name}: exit status {status} after {(time.monotonic() - start) / 60:.1f} minutes", flush=True)
    return status != 0


def main() -> int:
    """Run, draw, write; the exit status is 1 where an experiment failed."""
    every = {each.name: each for each in experiments()}
    parser = argparse.ArgumentParser(
        prog="python -m evaluation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for kind, files in FILES.items():
        parser.add_argument(f"--{kind}", nargs="+", type=Path, default=[], help=files)
    parser.add_argument("--only", nargs="+", choices=every, default=list(every), help="these alone")
    parser.add_argument("--again", action="store_true", help="also those whose results are there")
    parser.add_argument("--quick", action="store_true", help="each at its smallest size")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where results lie (default: results/)")
    options = parser.parse_args()
    if options.quick and options.results == RESULTS:
        parser.error("results of a --quick run are no results: name another folder with --results")
    failed = False
    for name in options.only:
        each, out = every[name], options.results / f"{name}.json"
        files = getattr(options, each.takes) if each.takes else []
        there = out.exists() and report.is_at_the_level(name, json.loads(out.read_text(encoding="utf-8")))
        if there and not options.again:
            print(f"{name}: there already")
        elif each.takes and not files:
            print(f"{name}: left out, it takes what --{each.takes} names (see --help)")
        else:
            failed |= run(each, out, files, quick=options.quick)
    if options.results == RESULTS:
        report.main([])
    else:
        draw_all(options.results)
        print(*(report.filled(f"results-{question}", options.results) for question in QUESTIONS), sep="\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

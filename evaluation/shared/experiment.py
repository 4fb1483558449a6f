"""An experiment: a command with options that measures something and writes one result.

A module describes its experiment by decorating a function ``main`` with :func:`experiment`. The function takes the
options and returns what it found; the command line, the date, the settings and the result's file are here.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ctwl_encoder import Strategy
from ctwl_protocol.numbers import NUMBERS
from ctwl_protocol.proxy.model import fast_arithmetic

OFFLINE = "org.ctwl.smollm2-135m.1"

VANILLA = "org.ctwl.smollm2-135m.vanilla.1"
"""The twin without a proxy LM, which reads what Vanilla-Marking wrote (Wang et al. 2024, section 4.2)."""

SAMPLED = tuple(strategy for strategy in Strategy if strategy.keeps_distribution)
"""The strategies that choose how a token is drawn, and add nothing to its logits."""

ROOT = Path(__file__).parents[2]
"""The repository."""

RESULTS = ROOT / "evaluation" / "results"
FILES = {"human": "files of human text, UTF-8", "reference": "a checkout of the paper's code"}
"""What files an experiment may take."""

_PACKAGES = ("ctwl-protocol", "ctwl-encoder", "ctwl-decoder", "torch", "transformers", "tokenizers", "numba", "numpy")

Options = argparse.Namespace
Result = dict[str, Any]


@dataclass(frozen=True)
class Experiment:
    """A command that measures something and writes one result.

    Attributes:
        module: that describes it, such as ``evaluation.reading.models``.
        description: what is asked and how.
        measure: gives what was found. Its entry ``settings``, if there is one, joins the result's settings.
        options: names and defaults of the options.
        quick: what ``--quick`` has in their place, to see in some minutes that all of it runs.
        takes: the kind of files it takes, one of :data:`FILES`; empty if none.
    """

    module: str
    description: str | None
    measure: Callable[[Options], Result]
    options: Mapping[str, Any]
    quick: Mapping[str, Any] = field(default_factory=dict)
    takes: str = ""

    @property
    def name(self) -> str:
        """Of the module in its folder, and of the result."""
        return self.module.rpartition(".")[2]

    def parser(self) -> argparse.ArgumentParser:
        """The command line."""
        parser = argparse.ArgumentParser(
            prog=f"python -m {self.module}",
            description=self.description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        for name, default in self.options.items():
            parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default, help=f"{default}")
        parser.add_argument("--quick", action="store_true", help=f"a small size: {dict(self.quick)}")
        shown = f"write the result to this file, too; the pages show evaluation/results/{self.name}.json"
        parser.add_argument("--out", type=Path, help=shown)
        if self.takes:
            parser.add_argument("files", nargs="+", type=Path, help=FILES[self.takes])
        return parser

    def __call__(self, arguments: Sequence[str] | None = None) -> None:
        """Run the command: print the result as JSON, and write it where asked."""
        options = self.parser().parse_args(arguments)
        if options.quick:
            vars(options).update(self.quick)
        found = self.measure(options)
        settings = _circumstances() | {name: getattr(options, name) for name in self.options}
        settings |= found.pop("settings", {})
        if self.takes:
            settings["files"] = [file.name for file in options.files]
        result = {"experiment": self.name, "settings": settings, **found}
        text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
        print(text, end="")
        if options.out is not None:
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(text, encoding="utf-8")


def experiment(
    *, quick: Mapping[str, Any] | None = None, takes: str = "", **options: Any
) -> Callable[[Callable[[Options], Result]], Experiment]:
    """Make an experiment of a module's function; see :class:`Experiment`."""

    def described(measure: Callable[[Options], Result]) -> Experiment:
        file = Path(measure.__code__.co_filename).resolve().relative_to(ROOT)  # a module that is run is "__main__"
        module = ".".join(file.with_suffix("").parts)
        return Experiment(module, measure.__globals__["__doc__"], measure, options, quick or {}, takes)

    return described


def _circumstances() -> dict[str, Any]:
    """What every result states: the level, the models, the date, the versions and the machine."""
    return {
        "level": NUMBERS.search.level,
        "model": "smollm2",
        "profile": OFFLINE,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": {name: metadata.version(name) for name in _PACKAGES},
        "machine": {
            "python": platform.python_version(),
            "architecture": platform.machine(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "torch_threads": torch.get_num_threads(),
            "arithmetic": fast_arithmetic(torch.device("cpu")),
        },
    }


def tracked(items: Sequence[Any], title: str) -> Iterator[Any]:
    """Iterate with a progress bar and the remaining time on stderr, where that is a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        yield from bar.track(items, description=title)


def interleaved(jobs: Mapping[str, Callable[[], object]], runs: int) -> dict[str, list[float]]:
    """Seconds of each job, the jobs in turn A B A B after a warm-up, so that drift hits all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for run in range(runs + 1):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            if run:
                seconds[name].append(time.perf_counter() - start)
    return seconds

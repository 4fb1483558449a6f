"""``ctwl-conformance selftest``: does the suite see errors?"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add the command ``selftest``."""
    parser = commands.add_parser(
        "selftest",
        help="drive adapters that are broken on purpose, and change the reference's constants one by one",
        epilog="exit status: 0 the suite saw every error; 1 it missed one.",
    )
    parser.add_argument("--only", choices=["faults", "constants"], help="one half alone")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes at a time")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write what was found as JSON")
    parser.set_defaults(run=run_selftest)


def run_selftest(options: argparse.Namespace) -> int:
    """Run both halves and print what they found."""
    from rich.console import Console
    from rich.progress import Progress

    from .constants import constants
    from .faults import FAULTS
    from .selftest import check_constants, check_faults

    found: dict[str, list[Any]] = {}
    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
        if options.only != "constants":
            found["faults"] = list(
                bar.track(check_faults(jobs=options.jobs), total=len(FAULTS) + 1, description="faults")
            )
        if options.only != "faults":
            task = bar.add_task("constants", total=len(list(constants())))
            found["constants"] = list(check_constants(options.jobs, lambda: bar.advance(task)))
    for finding in found.get("faults", []):
        verdict = f", {finding.verdict}" if finding.verdict else ""
        print(
            f"{'seen' if finding.good else 'NOT SEEN':8} {finding.name}: {finding.comment} ({finding.seen_by}{verdict})"
        )
    for finding in found.get("constants", []):
        if not finding.good:
            print(f"NOT SEEN {finding.name}")
    for name, findings in found.items():
        print(f"{sum(finding.good for finding in findings)} of {len(findings)} {name} seen")
    if options.out:
        told = {name: [finding.model_dump() for finding in findings] for name, findings in found.items()}
        options.out.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return 0 if all(finding.good for findings in found.values() for finding in findings) else 1

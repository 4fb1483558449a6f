"""``ctwl-conformance``: check the installed protocol package against the published vectors."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ctwl_protocol import CTWLError

from .adapter.command import add_commands as add_adapters
from .run.command import add_commands as add_run
from .selftest.command import add_commands as add_selftest
from .vectors import check, load, write

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; 0 where every vector agrees, 1 where one does not, 2 for an error."""
    parser = argparse.ArgumentParser(
        prog="ctwl-conformance",
        description="Check the installed ctwl-protocol against the published vectors of the exact families.",
        epilog="exit status: 0 all vectors agree; 1 some do not; 2 an error.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", help="answer every vector and compare")
    generate = commands.add_parser("generate", help="write the vectors anew from the reference")
    generate.add_argument("folder", type=Path)
    add_run(commands)
    add_adapters(commands)
    add_selftest(commands)
    arguments = parser.parse_args(argv)
    try:
        if "run" in arguments:
            status: int = arguments.run(arguments)
            return status
        if arguments.command == "generate":
            write(arguments.folder)
            return 0
        wrong = check()
    except (CTWLError, OSError) as error:
        print(f"ctwl-conformance: {error}", file=sys.stderr)
        return 2
    for vector, answer in wrong:
        print(f"{vector.id} ({vector.comment}; spec {vector.section}): {answer}, expected {vector.expected}")
    total = len(load())
    print(f"{total - len(wrong)} of {total} vectors agree")
    return 1 if wrong else 0

"""``ctwl-conformance``: check the installed protocol package against the published vectors."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ctwl_protocol import CTWLError

from .vectors_command import add_commands as add_vectors

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; 0 where every vector agrees, 1 where one does not, 2 for an error."""
    parser = argparse.ArgumentParser(
        prog="ctwl-conformance",
        description="Check the installed ctwl-protocol against the published vectors of the exact families.",
        epilog="exit status: 0 all vectors agree; 1 some do not; 2 an error.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    add_vectors(commands)
    arguments = parser.parse_args(argv)
    try:
        status: int = arguments.run(arguments)
    except (CTWLError, OSError) as error:
        print(f"ctwl-conformance: {error}", file=sys.stderr)
        return 2
    return status

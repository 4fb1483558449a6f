"""``ctwl-conformance``: vectors and black-box runs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ctwl_protocol import CTWLError
from ctwl_protocol.command import command_parser, run_command

from .adapter.command import add_commands as add_adapters
from .run.command import add_commands as add_run
from .vectors.command import add_commands as add_vectors

_EXTRAS = {"ctwl_decoder": "reference", "ctwl_encoder": "reference", "httpx": "http"}
"""Packages that only some commands need, and the extra that brings each."""


class ExtraMissing(CTWLError):
    """An optional package is needed and not installed."""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the exit status: 0 all is well, 1 something failed, 2 an error."""
    parser = command_parser(
        "ctwl-conformance",
        "Hold implementations of the CTWL protocol to its specification.",
        "exit status: 0 all is well; 1 something failed; 2 an error.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for add_commands in (add_run, add_vectors, add_adapters):
        add_commands(commands)
    arguments = parser.parse_args(argv)
    return run_command("ctwl-conformance", lambda: _run(arguments))


def _run(arguments: argparse.Namespace) -> int:
    try:
        status: int = arguments.run(arguments)
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        told = f"this needs {error.name}; install it with: pip install 'ctwl-conformance[{extra}]'"
        raise ExtraMissing(told) from error
    return status

"""``ctwl-encode compliance``: what a provider owes under the EU's code, from a server's log and a plan."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import Any

from ctwl_encoder.errors import OptionOutOfRange, needing
from ctwl_protocol.command import closed_output_is_fine, command_parser, run_command
from ctwl_protocol.files import read_bounded, write_atomically
from ctwl_protocol.schema import read_json

from ..audit.command import opened, read_logs
from .source import Source

_PROG = "ctwl-encode compliance"
_MOST = 16 << 20

_EPILOG = """\
examples:
  ctwl-encode plan --temperature 0.7 --json > plan.json
  ctwl-encode compliance --log /var/log/ctwl/ctwl.log* --plan plan.json > marking.md
  ctwl-encode compliance --log ctwl.log --plan plan.json --html marking.html

It goes through the measures of the Code of Practice on Transparency of AI-Generated Content: what the figures show, and
what remains open. Each figure has the file and the place in which it stands. It is not legal advice.
exit status: 0 the page was written; 2 an error.
"""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit status."""
    what = "Write what a provider owes under the EU's code, from measured figures, as Markdown or HTML."
    parser = command_parser(_PROG, what, _EPILOG, version="--about")
    parser.add_argument("--log", nargs="+", required=True, metavar="LOG", help="logs of texts")
    parser.add_argument("--plan", required=True, metavar="FILE", help="what ctwl-encode plan --json printed")
    parser.add_argument("--html", metavar="FILE", help="write the page as HTML to this file, instead of Markdown")
    arguments = parser.parse_args(argv)
    return run_command(_PROG, lambda: _run(arguments))


def _run(arguments: argparse.Namespace) -> int:
    with needing("plan", "the command"):
        from .page import as_html, as_markdown
    page = as_markdown(_log(arguments.log), _plan(arguments.plan), _numbers())
    if arguments.html:
        write_atomically(arguments.html, as_html(page).encode())
    else:
        with closed_output_is_fine():
            print(page, end="")
    return 0


def _log(names: Sequence[str]) -> Source:
    """What an audit of logs says.

    Raises:
        OptionOutOfRange: see :func:`ctwl_operations.audit.command.read_logs`.
    """
    if "-" in names:
        raise OptionOutOfRange("name the files of the logs: the page states their digests")
    digests = []
    for name in names:
        with opened(name) as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    return Source(", ".join(names), ", ".join(digests), read_logs(names).as_json(), "ctwl-encode audit --json")


def _plan(name: str) -> Source:
    try:
        data = read_bounded(name, _MOST)
        found: Any = read_json(data)
    except (OSError, ValueError) as error:
        raise OptionOutOfRange(f"cannot read {name}; give what ctwl-encode plan --json prints") from error
    plan = Source(name, hashlib.sha256(data).hexdigest(), found, "ctwl-encode plan --json")
    if not isinstance(plan.value("/rows"), list) or not isinstance(plan.value("/settings/sampling"), dict):
        raise OptionOutOfRange(f"{name} is no plan; give what {plan.reads} prints")
    return plan


def _numbers() -> Source:
    data = (resources.files("ctwl_protocol") / "numbers.json").read_bytes()
    return Source("spec/numbers.json", hashlib.sha256(data).hexdigest(), read_json(data), "the specification")

"""Write the page of the commands, docs/reference/commands.md, from the commands' own help.

python tools/help_page.py
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import mock

import ctwl_conformance.command
import ctwl_decoder.command
import ctwl_encoder.command
import ctwl_engines.llama_cpp.server
import ctwl_protocol.profile.command
import ctwl_protocol.registry.command
import ctwl_services.detector.command

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "commands.md"

Main = Callable[[Sequence[str] | None], object]

COMMANDS: dict[str, tuple[Main, tuple[str, ...]]] = {
    "ctwl-decode": (ctwl_decoder.command.main, ("", *ctwl_decoder.command.ADDITIONS.names)),
    "ctwl-detector": (ctwl_services.detector.command.main, ("",)),
    "ctwl-encode": (ctwl_encoder.command.main, ("", *ctwl_encoder.command.ADDITIONS.names)),
    "ctwl-llama-server": (ctwl_engines.llama_cpp.server.main, ("",)),
    "ctwl-profile": (ctwl_protocol.profile.command.main, ("", "new", "for-user", "show", "commit", "certified")),
    "ctwl-registry": (
        ctwl_protocol.registry.command.main,
        ("", "update", "verify", "show", *ctwl_protocol.registry.command.ADDITIONS.names),
    ),
    "ctwl-conformance": (
        ctwl_conformance.command.main,
        ("", "run", "check", "generate", "sections", "adapter"),
    ),
}
"""Each command: its function, and its subcommands; the empty name is the command itself."""


def help_of(main: Main, subcommand: str) -> str:
    """What a command prints for ``--help``, 100 characters wide, where no variable of ours is set."""
    told = io.StringIO()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CTWL_")}
    with (
        mock.patch.dict(os.environ, {**environment, "COLUMNS": "100", "NO_COLOR": "1"}, clear=True),
        contextlib.redirect_stdout(told),
        contextlib.suppress(SystemExit),
    ):
        main([*subcommand.split(), "--help"])
    return "\n".join(line.rstrip() for line in told.getvalue().strip().splitlines())


def page() -> str:
    """The whole page."""
    parts = [
        "# Commands",
        "What each command prints for `--help`. `tools/help_page.py` writes this page. "
        "[Environment variables](environment.md) has what they read beside their options.",
    ]
    for command, (main, subcommands) in COMMANDS.items():
        for subcommand in subcommands:
            name = f"{command} {subcommand}".strip()
            parts += [f"{'###' if subcommand else '##'} `{name}`", f"```text\n{help_of(main, subcommand)}\n```"]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

"""Write the page of the commands, docs/reference/commands.md, from the commands' own help.

python tools/help_page.py
"""

from __future__ import annotations

import contextlib
import io
import os
import tomllib
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from unittest import mock

from distributions import FOLDERS

import ctwl_decoder.command
import ctwl_encoder.command
import ctwl_protocol.registry.command

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "commands.md"

Main = Callable[[Sequence[str] | None], object]

SUBCOMMANDS = {
    "ctwl-conformance": ("run", "check", "generate", "adapter"),
    "ctwl-decode": ctwl_decoder.command.ADDITIONS.names,
    "ctwl-encode": ctwl_encoder.command.ADDITIONS.names,
    "ctwl-profile": ("new", "for-user", "show", "commit", "certified"),
    "ctwl-registry": ("update", "verify", "show", *ctwl_protocol.registry.command.ADDITIONS.names),
}
"""The subcommands of the commands that have any."""


def commands() -> Iterator[tuple[Main, str, str]]:
    """Each command that a distribution brings: its function, its name and a subcommand, or none."""
    projects = [tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"] for folder in FOLDERS]
    scripts = {name: function for project in projects for name, function in project.get("scripts", {}).items()}
    for name, function in sorted(scripts.items()):
        module, _, attribute = function.partition(":")
        for subcommand in ("", *SUBCOMMANDS.get(name, ())):
            yield getattr(import_module(module), attribute), name, subcommand


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
    for main, command, subcommand in commands():
        name = f"{command} {subcommand}".strip()
        parts += [f"{'###' if subcommand else '##'} `{name}`", f"```text\n{help_of(main, subcommand)}\n```"]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

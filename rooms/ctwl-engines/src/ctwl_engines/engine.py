"""What each engine says of itself, in ``about.py`` of its folder, for pages, tests and ``ctwl-encode plan``."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from ctwl_protocol.environment import Variable

Start: TypeAlias = Callable[[str, Mapping[str, Any], Mapping[str, Any]], str]
"""From the name of a model, the policy and the settings of sampling to the command that starts a server."""


@dataclass(frozen=True)
class Engine:
    """What others know of a serving engine.

    Attributes:
        name: as its makers write it.
        tests: its folder in the tests of this package, and its name in the Makefile: ``make test-NAME``.
        starts: how a server starts with the plug-in, in Markdown.
        command: the first words of the command that starts a server.
        switch: what switches the mark off in the body of a request.
        counters: where its counters are, in Markdown.
        unmarked: how to start a server that marks nothing, in Markdown.
        variables: the environment variables that the plug-in reads, and what holds where one is not set.
        start: writes the whole command; None where ``ctwl-encode plan`` prints none.
    """

    name: str
    tests: str
    starts: str
    command: str
    switch: str
    counters: str
    unmarked: str
    variables: Mapping[Variable, str] = field(default_factory=dict)
    start: Start | None = None


def engines() -> dict[str, Engine]:
    """The engines that there are, by the names of their folders. No engine needs to be installed."""
    folders = [found.name for found in pkgutil.iter_modules([str(Path(__file__).parent)]) if found.ispkg]
    return {folder: import_module(f".{folder}.about", __package__).ENGINE for folder in folders}

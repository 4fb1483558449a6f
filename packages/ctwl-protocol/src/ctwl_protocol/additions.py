"""Commands that other packages add to one of ours, found by entry points: none is imported before it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from .errors import PackageMissing

Main: TypeAlias = Callable[[Sequence[str]], int]
"""A command's function: from its arguments to the exit status."""


@dataclass(frozen=True)
class Addition:
    """A command that one of our packages adds.

    Attributes:
        usage: how it is called, its name first.
        what: what it does.
        package: the distribution that brings it.
    """

    usage: str
    what: str
    package: str

    @property
    def name(self) -> str:
        """The name of the command."""
        return self.usage.partition(" ")[0]


@dataclass(frozen=True)
class Additions:
    """The commands that packages add to a program.

    A package adds one by an entry point in the group of the program, such as ``ctwl_decode.commands``. Its name is the
    command's, and its object a :data:`Main`.

    Attributes:
        program: such as ``ctwl-decode``.
        known: what our own packages add, for the help, and for who lacks a package.
    """

    program: str
    known: Sequence[Addition]

    @property
    def group(self) -> str:
        """The group of its entry points."""
        return f"{self.program.replace('-', '_')}.commands"

    @property
    def names(self) -> list[str]:
        """The names of the known commands."""
        return [each.name for each in self.known]

    def load(self, name: str) -> Main | None:
        """The function of a command, imported now; None where no package adds a command of this name.

        Raises:
            PackageMissing: the package that brings the command is not installed.
        """
        from importlib.metadata import entry_points

        for found in entry_points(group=self.group, name=name):
            main: Main = found.load()
            return main
        for each in self.known:
            if each.name == name:
                raise PackageMissing(
                    f"{self.program} {name} is in another package; install it with: pip install {each.package}"
                )
        return None

    def help(self) -> str:
        """The installed commands, a line each, and a line for each package that would bring more."""
        from importlib.metadata import entry_points

        found = {each.name: each for each in entry_points(group=self.group)}
        lines, missing = [f"other commands ({self.program} COMMAND --help):"], dict[str, list[str]]()
        for each in self.known:
            if each.name in found:
                usage = f"  {self.program} {each.usage}"
                lines.append(f"{usage:53} {each.what}")
            else:
                missing.setdefault(each.package, []).append(each.name)
        for name, other in found.items():
            if name not in self.names:
                lines.append(f"{f'  {self.program} {name}':53} of {other.dist.name if other.dist else other.value}")
        lines += [f"  pip install {package} brings: {', '.join(names)}" for package, names in missing.items()]
        return "\n".join(lines)

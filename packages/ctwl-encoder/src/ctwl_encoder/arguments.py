"""Options as the arguments of a command: from a model of options to the parser, and back."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, TypeVar

from ctwl_protocol.environment import PROFILE
from ctwl_protocol.profile import OFFLINE_MODEL

from .core.strategies import Strategy
from .errors import OptionOutOfRange
from .options import Options, kind_of, typed

if TYPE_CHECKING:
    from argparse import _ActionsContainer

T = TypeVar("T", bound=Options)


def add_options(group: _ActionsContainer, model: type[Options], names: Collection[str]) -> None:
    """Add an option for each of these fields of a model."""
    for name, field in model.model_fields.items():
        if name not in names:
            continue
        flag, help_text, kind = typed(name), str(field.description), kind_of(field)
        if kind is bool:
            flag = flag.replace("--", "--no-", 1) if field.default else flag
            switched = "false" if field.default else "true"
            group.add_argument(flag, dest=name, action="store_const", const=switched, help=help_text)
            continue
        if not field.is_required() and field.default not in (None, {}):
            help_text += f" (default {field.default})"
        metavar = {int: "N", float: "X", str: "FILE", Strategy: "NAME", dict: "NAME=N"}[kind]
        # Alone, --version is how other programs are asked for their own.
        alone: dict[str, Any] = {"nargs": "?", "const": ""} if name == "version" else {}
        group.add_argument(flag, metavar=metavar, help=help_text, **alone)


def add_model_options(parser: argparse.ArgumentParser, profile: str) -> None:
    """Add the options that say which model writes, and under which profile.

    Args:
        parser: of a command.
        profile: what the help says of the profile.
    """
    parser.add_argument(
        "--model", default=OFFLINE_MODEL, help=f"a model folder, a name on the hub, or {OFFLINE_MODEL} (default)"
    )
    parser.add_argument("--profile", default=PROFILE.value(), help=profile)
    parser.add_argument(
        "--proxy", metavar="PATH", help="folder with the proxy LM's files (default: cache, then source)"
    )
    parser.add_argument("--device", default="auto", help="torch device (default: cuda where there is one)")


def asked_options(arguments: argparse.Namespace, model: type[T]) -> T:
    """The options of a model as they were given; a field without an argument has its default.

    Raises:
        OptionOutOfRange, FieldOutOfRange, StrategyUnsuitable: an option that does not fit.
    """
    typed = {name: getattr(arguments, name, None) for name in model.model_fields}
    return model.of_command({name: value for name, value in typed.items() if value is not None})


def check_version(arguments: argparse.Namespace, program: str = "ctwl-encode") -> None:
    """Refuse a ``--version`` that is no number, and say how the program's own is asked for: OptionOutOfRange."""
    if arguments.version is not None and not arguments.version.isdecimal():
        raise OptionOutOfRange(f"--version is the model's version, 0 to 15; for the program's own: {program} --about")

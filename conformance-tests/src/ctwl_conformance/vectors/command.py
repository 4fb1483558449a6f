"""The commands about vectors: check, generate."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ctwl_protocol.profile import published_names

from ..families import FAMILIES
from .files import load, load_numeric
from .numeric import REFERENCE, reweigh
from .reference import check, unanswerable, write

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_commands(commands: Commands) -> None:
    """Add the commands to a parser; each sets ``run``, which takes the arguments and gives the exit status."""
    commands.add_parser("check", help="answer every vector and compare").set_defaults(run=_check)
    generate = commands.add_parser("generate", help="write the expected answers anew from the reference")
    generate.add_argument("folder", type=Path)
    generate.add_argument(
        "--family",
        action="append",
        choices=list(FAMILIES),
        metavar="FAMILY",
        help="answer one family alone, and leave the others as they are; repeat it (default: all, minutes)",
    )
    generate.add_argument(
        "--numeric",
        action="append",
        default=[],
        choices=published_names(),
        metavar="PROFILE",
        help="measure the numeric vectors of a profile anew, whose proxy is installed; repeat it (default: keep them)",
    )
    generate.set_defaults(run=_generate)


def _check(_: argparse.Namespace) -> int:
    wrong, left_out = check(), unanswerable()
    for vector, answer in wrong:
        print(f"{vector.id} ({vector.comment}; spec {vector.section}): {answer}, expected {vector.expected}")
    for family, package in left_out.items():
        print(f"{family}: not asked, the reference's answer needs {package}")
    total = sum(vector.family not in left_out for vector in load())
    print(f"{total - len(wrong)} of {total} vectors agree")
    return 0 if _reweighed() and not wrong else 1


def _reweighed() -> bool:
    """Whether the reference on this machine agrees with the numeric vectors, where it has the proxy."""
    good = True
    for numeric in load_numeric():
        found, most = reweigh(numeric), float(numeric.tolerance * REFERENCE)
        if found is None:
            print(f"numeric, {numeric.profile}: left out, its proxy is not installed")
        else:
            good &= found <= most
            told = f"mean total variation {float(found):.3g}, at most {most:.3g} is asked for"
            print(f"numeric, {numeric.profile}: {told}")
    return good


def _generate(arguments: argparse.Namespace) -> int:
    write(arguments.folder, arguments.numeric, arguments.family or FAMILIES)
    return 0

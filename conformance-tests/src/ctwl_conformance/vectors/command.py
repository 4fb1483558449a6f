"""The commands about vectors: check, generate, sections."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ctwl_protocol.profile import published_names

from ..families import FAMILIES
from .files import load, load_numeric
from .numeric import REFERENCE, Numeric, reweigh
from .reference import check, differences, unanswerable, write
from .sections import table

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
    how = generate.add_mutually_exclusive_group()
    how.add_argument("--check", action="store_true", help="write nothing; name what differs, status 1 if anything")
    how.add_argument(
        "--numeric",
        action="append",
        default=[],
        choices=published_names(),
        metavar="PROFILE",
        help="measure the numeric vectors of a profile anew, whose proxy is installed; repeat it (default: keep them)",
    )
    generate.set_defaults(run=_generate)
    sections = commands.add_parser("sections", help="print which vectors test which section")
    sections.set_defaults(run=_sections)


def _check(_: argparse.Namespace) -> int:
    wrong, left_out = check(), unanswerable()
    for vector, answer in wrong:
        print(f"{vector.id} ({vector.comment}; spec {vector.section}): {answer}, expected {vector.expected}")
    for family, package in left_out.items():
        print(f"{family}: not asked, the reference's answer needs {package}")
    total = sum(vector.family not in left_out for vector in load())
    print(f"{total - len(wrong)} of {total} vectors agree")
    near = _reweighed(load_numeric())
    return 1 if wrong or not near else 0


def _reweighed(files: Iterable[Numeric]) -> bool:
    """Whether the reference on this machine agrees with files of numeric vectors, where it has the proxy."""
    good = True
    for numeric in files:
        found, most = reweigh(numeric), float(numeric.tolerance * REFERENCE)
        if found is None:
            print(f"numeric, {numeric.profile}: left out, its proxy is not installed")
        else:
            good &= found <= most
            told = f"mean total variation {float(found):.3g}, at most {most:.3g} is asked for"
            print(f"numeric, {numeric.profile}: {told}")
    return good


def _generate(arguments: argparse.Namespace) -> int:
    families = arguments.family or FAMILIES
    if not arguments.check:
        write(arguments.folder, arguments.numeric, families)
        return 0
    found = differences(arguments.folder, families)
    if found:
        print("\n".join(found))
        return 1
    print(f"{arguments.folder} holds what the reference writes")
    return 0 if _reweighed(load_numeric(arguments.folder)) else 1


def _sections(_: argparse.Namespace) -> int:
    for section, families, why in table():
        counted = ", ".join(f"{family} {count}" for family, count in families.items())
        print(f"{section:<5} {sum(families.values()):>4}  {counted or why}")
    return 0

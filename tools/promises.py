"""What users may rely on, a line each, in promises.txt: public names, commands, formats, fields of JSON.

    python tools/promises.py           write the list anew; it refuses to drop a line that CHANGELOG.md does not explain

A test holds the list to the code. A line that is gone, or another signature, breaks somebody's program. So the list
gives it up only if the part "Unreleased" of the changelog has its name, in backticks.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, is_typeddict

from distributions import ROOT, SOURCES
from help_page import commands, help_of
from pydantic import BaseModel

from ctwl_decoder import Report

FILE = Path(__file__).with_name("promises.txt")
_MARKS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def signature(function: Any) -> str:
    """The parameters of a function as callers need them: names, order, which are named, which may be left out.

    Private names are left out: Ray adds one of its own to the methods of a class that it has made an actor of.
    """
    told, named = [], False
    for one in inspect.signature(function).parameters.values():
        if one.name.startswith("_"):
            continue
        if one.kind is inspect.Parameter.KEYWORD_ONLY and not named:
            told.append("*")
        named |= one.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_POSITIONAL)
        told.append(_MARKS.get(one.kind, "") + one.name + ("=" if one.default is not one.empty else ""))
    return f"({', '.join(told)})"


def public(name: str, value: Any) -> Iterator[str]:
    """A public object, and of a class what it has of its own."""
    if not isinstance(value, type):
        yield name + (signature(value) if callable(value) else "")
        return
    yield name
    if issubclass(value, enum.Enum):
        yield from (f"{name}.{member}" for member in value.__members__)
    elif issubclass(value, BaseModel):
        yield from (f"{name}.{field}" for field in value.model_fields)
    elif is_typeddict(value):
        yield from (f"{name}.{field}" for field in value.__annotations__)
    elif not issubclass(value, Exception):
        yield name + signature(value)
    ours = [base for base in value.__mro__ if base.__module__.startswith("ctwl_")]
    for each in sorted({each for base in ours for each in vars(base) if not each.startswith(("_", "model_"))}):
        member = getattr(value, each)
        if isinstance(member, (property, cached_property)):
            yield f"{name}.{each}"
        elif inspect.isroutine(member):
            yield f"{name}.{each}{signature(member)}"


def fields(name: str, schema: dict[str, Any]) -> Iterator[str]:
    """The fields of a JSON schema and of its parts."""
    for part, told in {"": schema, **schema.get("$defs", {})}.items():
        yield from (f"{name} {part}.{field}".replace(" .", " ") for field in told.get("properties", {}))


def command(name: str, told: str) -> Iterator[str]:
    """A command with its options and exit statuses, by its help."""
    yield name
    yield from (f"{name} {option}" for option in re.findall(r"^  (?:-\S.*?, )?(--[\w-]+)", told, re.M))
    for statuses in re.findall(r"^exit status: (.*?)(?:\n\n|\Z)", told, re.M | re.S):
        yield from (f"{name} exit status {number}" for number in re.findall(r"(?:^|[;.]\s)(\d) ", statuses))


def promises() -> set[str]:
    """All that there is now."""
    found = set[str]()
    for source in SOURCES:
        module = importlib.import_module(source.name)
        for name in getattr(module, "__all__", ()):
            found |= set(public(f"{source.name}.{name}", getattr(module, name)))
    for main, name, subcommand in commands():
        found |= set(command(f"{name} {subcommand}".strip(), help_of(main, subcommand)))
    found |= set(fields("ctwl-decode --json", Report.model_json_schema()))
    for file in sorted((ROOT / "conformance-tests" / "schemas").glob("*.json")):
        found |= set(fields(file.name, json.loads(file.read_text(encoding="utf-8"))))
    for file in [file for source in SOURCES for file in source.rglob("*.py")]:
        found |= {f"format {each}" for each in re.findall(r'"(ctwl-[a-z-]+/\d+)"', file.read_text(encoding="utf-8"))}
    return found


def kept() -> set[str]:
    """What the list has."""
    return set(FILE.read_text(encoding="utf-8").splitlines())


def unexplained(gone: set[str]) -> list[str]:
    """The lines of these whose name the changelog's part "Unreleased" does not have."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (notes,) = re.findall(r"^## Unreleased\n(.*?)(?=^## |\Z)", changelog, re.M | re.S)
    return sorted(line for line in gone if f"`{line.partition('(')[0]}`" not in notes)


def main() -> int:
    """Entry point; returns the exit status."""
    now = promises()
    if left := unexplained(kept() - now if FILE.exists() else set()):
        told = "\n  ".join(left)
        print(
            f"these are gone, or have another signature, and CHANGELOG.md does not say so:\n  {told}", file=sys.stderr
        )
        return 1
    FILE.write_text("\n".join(sorted(now)) + "\n", encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

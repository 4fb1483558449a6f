"""Vectors as files: one JSON document a family, as Wycheproof has it; written by the reference, read by anyone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from .families import ANSWERS, INPUTS, SECTIONS

__all__ = ["FAMILIES", "Vector", "check", "documents", "load", "write"]

FAMILIES = tuple(ANSWERS)
"""Names of the families."""


@dataclass(frozen=True)
class Vector:
    """One question and its answer.

    Attributes:
        id: stable, ``family-number``.
        section: of the specification.
        comment: what it is about.
    """

    id: str
    section: str
    comment: str
    input: dict[str, Any]
    expected: dict[str, Any]


def documents() -> dict[str, str]:
    """What the files should hold, by file name, from the reference implementation."""
    made = {}
    for family, inputs in INPUTS.items():
        tests = [
            {"id": f"{family}-{i}", "comment": comment, "input": data, "expected": ANSWERS[family](data)}
            for i, (comment, data) in enumerate(inputs, 1)
        ]
        document = {"format": "ctwl-vectors/1", "family": family, "section": SECTIONS[family], "tests": tests}
        made[f"{family}.json"] = json.dumps(document, indent=1, ensure_ascii=True) + "\n"
    return made


def write(folder: Path) -> None:
    """Write the files of all families."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in documents().items():
        (folder / name).write_text(text, encoding="ascii")


def _folder() -> Traversable:
    """The vectors inside the wheel, or beside the sources of an editable installation."""
    inside = resources.files(__package__) / "v1"
    return inside if inside.is_dir() else Path(__file__).parents[2] / "vectors" / "v1"


def load() -> list[Vector]:
    """The published vectors, in order."""
    found = []
    for family in FAMILIES:
        document = json.loads((_folder() / f"{family}.json").read_bytes())
        found += [Vector(section=document["section"], **test) for test in document["tests"]]
    return found


def check() -> list[tuple[Vector, dict[str, Any]]]:
    """The vectors that the installed ``ctwl-protocol`` answers otherwise, with its answers."""
    answers = [(vector, ANSWERS[vector.id.rpartition("-")[0]](vector.input)) for vector in load()]
    return [(vector, answer) for vector, answer in answers if answer != vector.expected]
